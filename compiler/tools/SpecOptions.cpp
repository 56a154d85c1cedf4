//===- SpecOptions.cpp - Options of commands that take a spec -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/SpecOptions.h"

#include "runtime/tools/command_line/OptionValues.h"

#include <map>

using namespace hocket;

void hocket::addOverrides(CLI::App &command,
                          std::vector<std::string> &overrides) {
  command
      .add_option("--set", overrides,
                  "Overrides a field of the spec, e.g. training.steps=100; "
                  "may be repeated")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
}

/// What help calls the value of an option of the plan.
static std::string valueName(const std::string &option) {
  static const std::map<std::string, std::string> names = {
      {"--mesh", "AXES"},
      {"--schedule", "NAME|FILE"},
      {"--cp-strategy", "allgather|ring|alltoall"},
      {"--shardings", "FILE"},
      {"--recompute", "none|selective|full|auto"},
      {"--recompute-modules", "NAMES"},
      {"--recompute-method", "uniform|block"},
      {"--memory", "BYTES"}};
  auto name = names.find(option);
  return name == names.end() ? "N" : name->second;
}

void hocket::addRows(CLI::App &command, spec::LoadOptions &options) {
  CLI::Option *rows = command.add_option_function<std::string>(
      "--rows",
      [&options](const std::string &rows) {
        options.overrides.push_back("training.micro_batch_size=" + rows);
      },
      "How many texts are computed at once, on each data-parallel rank "
      "(default: training.micro_batch_size)");
  wantWhole(rows, 1, 1 << 20)->type_name("N");
}

void hocket::addSpecOptions(CLI::App &command, spec::LoadOptions &options) {
  addOverrides(command, options.overrides);
  command
      .add_option("--plan", options.planPath,
                  "A plan instead of the spec's own: a file (textproto), or "
                  "the short form\ntp=2,pp=4,v=2,zero=1. compile also takes "
                  "auto: a search for --cluster")
      ->type_name("PLAN")
      ->group(planOptions);
  for (const spec::PlanFlagInfo &flag : spec::planFlags()) {
    std::string name = flag.option;
    auto note = [&options, name](const std::string &value) {
      options.flags.given.push_back({name, value});
    };
    CLI::Option *option =
        flag.takesValue
            ? command.add_option_function<std::string>(name, note, flag.help)
                  ->type_name(valueName(name))
            : command.add_flag_callback(
                  name, [note] { note("true"); }, flag.help);
    option->group(planOptions);
  }
}
