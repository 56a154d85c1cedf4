//===- InspectCommand.cpp - `hocket inspect` ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/InspectCommand.h"

#include "runtime/base/Format.h"
#include "runtime/base/JsonLines.h"
#include "runtime/program/ProgramFile.h"
#include "runtime/tools/CommandLine.h"
#include "runtime/tools/OutputFile.h"
#include "runtime/tools/PageReport.h"
#include "runtime/tools/ProgramReport.h"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

using namespace hocket;

namespace {
struct InspectArguments {
  std::string path, page;
  DeviceArguments device;
  PlanPricer pricer;
  bool json = false, listing = false;
};
} // namespace

static Status run(const InspectArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(program::Program program,
                          readProgram(arguments.path));
  if (!arguments.page.empty()) {
    HOCKET_ASSIGN_OR_RETURN(
        DeviceCosts device,
        chooseDevice(arguments.device, program, arguments.pricer));
    HOCKET_ASSIGN_OR_RETURN(std::string page, programPage(program, device));
    HOCKET_RETURN_IF_ERROR(writeOutput(arguments.page, page));
    reportStream(arguments.page)
        << arguments.page << ": " << formatBytes(page.size())
        << ", open it in a browser\n";
    return okStatus();
  }
  if (arguments.json)
    std::cout << toJsonText(programJson(program), 2) << "\n";
  else
    std::cout << programText(program, arguments.listing);
  std::cout.flush();
  return okStatus();
}

void hocket::registerInspect(CLI::App &app, Status &result, PlanPricer pricer) {
  auto arguments = std::make_shared<InspectArguments>();
  arguments->pricer = std::move(pricer);
  CLI::App *command =
      addCommand(app, "inspect", "Show what an executable holds");
  command->add_option("FILE", arguments->path, "An executable (.hkx)")
      ->required();
  command->add_flag("--program", arguments->listing,
                    "List every instruction too");
  command->add_flag("--json", arguments->json,
                    "Everything as JSON, instructions included");
  CLI::Option *html =
      command
          ->add_option("--html", arguments->page,
                       "Write one page for a browser here: the schedule, "
                       "memory over time, shardings, collectives, kernels")
          ->type_name("FILE");
  html->excludes("--json")->excludes("--program");
  addDeviceOptions(*command, arguments->device);
  command->footer(
      "The page needs no network. Its times are predicted as by `hocket "
      "trace`, which\nexplains the options of the device.\n\nExample:\n  "
      "hocket inspect nano.hkx\n  hocket inspect nano.hkx --json | jq "
      "'.memory'\n  hocket inspect nano.hkx --html nano.html\n  hocket inspect "
      "gpt3.hkx --html "
      "gpt3.html --cluster h100:1024");
  command->callback([arguments, &result] { result = run(*arguments); });
}
