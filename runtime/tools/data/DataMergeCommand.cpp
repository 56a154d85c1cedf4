//===- DataMergeCommand.cpp - `hocket data merge` -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/Format.h"
#include "base/Quantity.h"
#include "runtime/data/Merge.h"
#include "runtime/tools/command_line/CommandLine.h"
#include "runtime/tools/command_line/OptionValues.h"
#include "runtime/tools/command_line/ProgressLine.h"
#include "runtime/tools/data/DataCommand.h"

#include <iostream>
#include <memory>

using namespace hocket;
using namespace hocket::data;

namespace {
struct MergeCommand {
  std::vector<std::string> prefixes;
  std::string output;
};
} // namespace

static Status runMerge(const MergeCommand &command) {
  ProgressLine line;
  auto result = mergeDatasets(command.prefixes, command.output,
                              [&](uint64_t done, uint64_t all) {
                                line.show([&](double seconds) {
                                  return describeRate(done, all, seconds);
                                });
                              });
  line.clear();
  HOCKET_RETURN_IF_ERROR(result.status());
  std::cout << command.output +
                   ".{bin,idx}: " + formatNoun(result->documents, "document") +
                   ", " + formatNoun(result->tokens, "token") + ", " +
                   formatBytes(result->bytes) + "\n";
  return okStatus();
}

void hocket::registerDataMerge(CLI::App &data, Status &result) {
  auto command = std::make_shared<MergeCommand>();
  CLI::App *app = addCommand(data, "merge", "Merge token files into one pair");
  app->add_option("PREFIX", command->prefixes, "Token files, in their order")
      ->required();
  wantPath(app->add_option("-o,--output", command->output,
                           "Writes PREFIX.bin and PREFIX.idx"))
      ->required()
      ->type_name("PREFIX");
  app->footer(
      "Example:\n  hocket data merge data/part1 data/part2 -o data/all");
  app->callback([command, &result] { result = runMerge(*command); });
}
