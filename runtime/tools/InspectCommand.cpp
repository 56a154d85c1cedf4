//===- InspectCommand.cpp - `hocket inspect` ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/InspectCommand.h"

#include "base/Format.h"
#include "base/json/JsonLines.h"
#include "runtime/program/file/ProgramFile.h"
#include "runtime/tools/command_line/CommandLine.h"
#include "runtime/tools/command_line/OutputFile.h"
#include "runtime/tools/reports/PageReport.h"
#include "runtime/tools/reports/ProgramReport.h"
#include "runtime/tools/reports/RooflineReport.h"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

using namespace hocket;

namespace {
struct InspectArguments {
  std::string path, page;
  DeviceArguments device;
  PlanPricer pricer;
  bool json = false, listing = false, roofline = false;
};
} // namespace

/// Where nobody says what a roofline is for.
static constexpr const char *usualSystem = "h200";

static StatusOr<std::string> rooflineReport(const InspectArguments &arguments,
                                            const program::Program &program) {
  DeviceArguments chosen = arguments.device;
  if (chosen.cluster.empty() && chosen.system.empty())
    chosen.system = usualSystem;
  HOCKET_ASSIGN_OR_RETURN(DeviceCosts device,
                          chooseDevice(chosen, program, nullptr));
  const std::string &target = program.provenance().target();
  if (target != "cuda")
    return invalidArgument(
        arguments.path + " is for " + target +
        ", and --roofline for programs that were compiled with --target cuda; "
        "`hocket trace` predicts steps on processors that `hocket calibrate` "
        "has measured");
  if (!device.kernels)
    return invalidArgument(
        "system '" + device.described->described().name() +
        "' does not say what multiprocessors and kernels it has "
        "(device.multiprocessors, kernels), which --roofline needs");
  HOCKET_ASSIGN_OR_RETURN(Roofline roofline,
                          makeRoofline(program, *device.kernels));
  return arguments.json
             ? toJsonText(rooflineJson(roofline, *device.kernels), 2) + "\n"
             : rooflineText(roofline, *device.kernels);
}

static Status run(const InspectArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(program::Program program,
                          readProgram(arguments.path));
  if (!arguments.device.system.empty() && arguments.page.empty() &&
      !arguments.roofline)
    return invalidArgument("--system is for --roofline or --html");
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
  if (arguments.roofline) {
    HOCKET_ASSIGN_OR_RETURN(std::string report,
                            rooflineReport(arguments, program));
    std::cout << report;
  } else if (arguments.json)
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
                    "Also list every instruction");
  command->add_flag("--json", arguments->json,
                    "Everything as JSON, instructions included");
  CLI::Option *html =
      command
          ->add_option("--html", arguments->page,
                       "Write one page for a browser here: the schedule, "
                       "memory over time, shardings, collectives, kernels")
          ->type_name("FILE");
  html->excludes("--json")->excludes("--program");
  command
      ->add_flag("--roofline", arguments->roofline,
                 "For a program for GPUs: the predicted time of each kernel "
                 "of a step, what limits it, and the step's tokens/s and "
                 "MFU. Nothing is run. Also with --json")
      ->excludes("--program")
      ->excludes(html);
  addDeviceOptions(*command, arguments->device);
  command
      ->add_option("--system", arguments->device.system,
                   "The device of --roofline and --html, as in --cluster but "
                   "without a number. Default of --roofline: h200")
      ->type_name("SYSTEM")
      ->excludes("--cluster")
      ->group("Device options");
  command->footer(
      "The page needs no network. It predicts times as `hocket trace` does, "
      "whose help\nexplains the device options. For a GPU program on a "
      "described "
      "system it also has\nthe roofline.\n\nThe longest time limits a kernel: "
      "compute (its FLOPs), memory (its bytes), latency\n(too few blocks or "
      "bytes "
      "in flight to keep either busy, or a short kernel) or a link.\n"
      "`docs/planning.md` says how to read it and what it leaves "
      "out.\n\nExample:\n  hocket inspect nano.hkx\n  hocket "
      "inspect nano.hkx --json | jq '.memory'\n  hocket inspect nano.hkx "
      "--html nano.html\n  hocket inspect gpt3.hkx --html gpt3.html --cluster "
      "h100:1024\n  hocket inspect gpt2.hkx --roofline --system h100\n  hocket "
      "inspect gpt2.hkx --roofline --json | jq '.roles[0].kernels[0]'");
  command->callback([arguments, &result] { result = run(*arguments); });
}
