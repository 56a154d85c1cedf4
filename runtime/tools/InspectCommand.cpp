//===- InspectCommand.cpp - `hocket inspect` ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/InspectCommand.h"

#include "runtime/base/JsonLines.h"
#include "runtime/program/ProgramFile.h"
#include "runtime/tools/ProgramReport.h"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

using namespace hocket;

namespace {
struct InspectArguments {
  std::string path;
  bool json = false, listing = false;
};
} // namespace

static Status run(const InspectArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(program::Program program,
                          readProgram(arguments.path));
  if (arguments.json)
    std::cout << toJsonText(programJson(program), 2) << "\n";
  else
    std::cout << programText(program, arguments.listing);
  std::cout.flush();
  return okStatus();
}

void hocket::registerInspect(CLI::App &app, Status &result) {
  auto arguments = std::make_shared<InspectArguments>();
  CLI::App *command =
      app.add_subcommand("inspect", "Show what an executable holds");
  command->add_option("FILE", arguments->path, "An executable (.hkx)")
      ->required();
  command->add_flag("--program", arguments->listing,
                    "List every instruction too");
  command->add_flag("--json", arguments->json,
                    "Everything as JSON, instructions included");
  command->footer("Example:\n  hocket inspect nano.hkx\n  hocket inspect "
                  "nano.hkx --json | jq '.memory'");
  command->callback([arguments, &result] { result = run(*arguments); });
}
