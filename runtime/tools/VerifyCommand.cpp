//===- VerifyCommand.cpp - `hocket verify` --------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/VerifyCommand.h"

#include "base/Format.h"
#include "base/Quantity.h"
#include "base/json/JsonLines.h"
#include "runtime/program/check/ProgramCheck.h"
#include "runtime/program/file/ProgramFile.h"
#include "runtime/tools/command_line/CommandLine.h"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

using namespace hocket;

namespace {
struct VerifyArguments {
  std::string path;
  bool json = false;
};
} // namespace

/// Soundness says nothing of machine code.
static constexpr char nativeCaveat[] =
    "sound (the program; its native code can still do whatever you can, and "
    "is not checked)";

static bool hasNativeCode(const program::Program &program) {
  for (const program::KernelModule &module : program.modules())
    for (const auto &variant : module.variants())
      if (variant.format() != "cuda-c++")
        return true;
  return false;
}

static void printResult(const VerifyArguments &arguments,
                        const std::vector<std::string> &reasons, bool native) {
  if (arguments.json) {
    nlohmann::ordered_json object;
    object["file"] = arguments.path;
    object["sound"] = reasons.empty();
    object["reasons"] = reasons;
    object["native_code_unchecked"] = native;
    std::cout << toJsonText(object) << "\n";
    return;
  }
  for (const std::string &reason : reasons)
    std::cout << reason << "\n";
  if (reasons.empty())
    std::cout << arguments.path << ": " << (native ? nativeCaveat : "sound")
              << "\n";
}

static Status run(const VerifyArguments &arguments) {
  std::vector<std::string> reasons;
  auto program = readProgramUnchecked(arguments.path);
  if (program.ok())
    for (const ProgramFault &fault : findProgramFaults(*program))
      reasons.push_back(fault.text());
  else if (program.status().code() == StatusCode::DataLoss)
    reasons = {program.status().message()};
  else
    return program.status();
  printResult(arguments, reasons, program.ok() && hasNativeCode(*program));
  if (reasons.empty())
    return okStatus();
  return failedPrecondition(arguments.path + ": not sound, " +
                            formatNoun(reasons.size(), "reason"));
}

void hocket::registerVerify(CLI::App &app, Status &result) {
  auto arguments = std::make_shared<VerifyArguments>();
  CLI::App *command =
      addCommand(app, "verify",
                 "Check that an executable is sound. Exit status 0, or 1 "
                 "with reasons");
  command->add_option("FILE", arguments->path, "An executable (.hkx)")
      ->required();
  command->add_flag("--json", arguments->json, "Print the result as JSON");
  command->footer(
      "An executable holds native code. Sound means that the program obeys "
      "every rule of docs/spec.md. It does not mean that its native code "
      "does what it says, or that it is safe to run: that depends on who "
      "compiled it.\n"
      "\n"
      "Example:\n"
      "  hocket verify nano.hkx");
  command->callback([arguments, &result] { result = run(*arguments); });
}
