//===- VerifyCommand.cpp - `hocket verify` --------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/VerifyCommand.h"

#include "runtime/base/Format.h"
#include "runtime/base/JsonLines.h"
#include "runtime/base/Quantity.h"
#include "runtime/program/ProgramCheck.h"
#include "runtime/program/ProgramFile.h"

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

static void printResult(const VerifyArguments &arguments,
                        const std::vector<std::string> &reasons) {
  if (arguments.json) {
    nlohmann::ordered_json object;
    object["file"] = arguments.path;
    object["sound"] = reasons.empty();
    object["reasons"] = reasons;
    std::cout << toJsonText(object) << "\n";
    return;
  }
  for (const std::string &reason : reasons)
    std::cout << reason << "\n";
  if (reasons.empty())
    std::cout << arguments.path << ": sound\n";
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
  printResult(arguments, reasons);
  if (reasons.empty())
    return okStatus();
  return failedPrecondition(arguments.path + ": not sound, " +
                            formatNoun(reasons.size(), "reason"));
}

void hocket::registerVerify(CLI::App &app, Status &result) {
  auto arguments = std::make_shared<VerifyArguments>();
  CLI::App *command = app.add_subcommand(
      "verify", "Is this executable sound? Exit status 0, or 1 with reasons");
  command->add_option("FILE", arguments->path, "An executable (.hkx)")
      ->required();
  command->add_flag("--json", arguments->json, "Print the result as JSON");
  command->footer("Example:\n  hocket verify nano.hkx");
  command->callback([arguments, &result] { result = run(*arguments); });
}
