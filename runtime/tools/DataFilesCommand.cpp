//===- DataFilesCommand.cpp - `hocket data merge` and `inspect` -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/Format.h"
#include "runtime/base/JsonLines.h"
#include "runtime/base/Quantity.h"
#include "runtime/data/CorpusSummary.h"
#include "runtime/data/Merge.h"
#include "runtime/tools/CommandLine.h"
#include "runtime/tools/DataCommand.h"
#include "runtime/tools/OptionValues.h"
#include "runtime/tools/ProgressLine.h"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

using namespace hocket;
using namespace hocket::data;

//===----------------------------------------------------------------------===//
// Merge
//===----------------------------------------------------------------------===//

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
  CLI::App *app = addCommand(data, "merge", "Put token files into one pair");
  app->add_option("PREFIX", command->prefixes,
                  "Token files, in the order in which they are to follow")
      ->required();
  wantPath(app->add_option("-o,--output", command->output,
                           "Writes PREFIX.bin and PREFIX.idx"))
      ->required()
      ->type_name("PREFIX");
  app->footer(
      "Example:\n  hocket data merge data/part1 data/part2 -o data/all");
  app->callback([command, &result] { result = runMerge(*command); });
}

//===----------------------------------------------------------------------===//
// Inspect
//===----------------------------------------------------------------------===//

namespace {
struct InspectDataCommand {
  std::vector<std::string> prefixes;
  bool json = false;
};
} // namespace

static double meanLength(const CorpusSummary &corpus) {
  return corpus.documents ? double(corpus.tokens) / double(corpus.documents)
                          : 0.0;
}

static void printJson(const CorpusSummary &corpus) {
  nlohmann::ordered_json object;
  object["prefix"] = corpus.prefix;
  object["token_type"] = tokenTypeName(corpus.type);
  object["documents"] = corpus.documents;
  object["empty_documents"] = corpus.buckets[0].documents;
  object["sequences"] = corpus.sequences;
  object["tokens"] = corpus.tokens;
  object["shortest"] = corpus.shortest;
  object["mean"] = meanLength(corpus);
  object["median"] = corpus.median;
  object["p90"] = corpus.p90;
  object["p99"] = corpus.p99;
  object["longest"] = corpus.longest;
  std::cout << toJsonText(object) << '\n';
}

/// "0", "1", "2 to 3", "4 to 7", ...
static std::string bucketName(size_t bucket) {
  if (bucket < 2)
    return std::to_string(bucket);
  uint64_t least = uint64_t(1) << (bucket - 1);
  return formatGrouped(least) + " to " + formatGrouped(least * 2 - 1);
}

static std::string share(uint64_t part, uint64_t all) {
  return formatText("%.1f %%", 100.0 * double(part) / double(all ? all : 1));
}

static std::string describeCorpus(const CorpusSummary &corpus) {
  std::string text = corpus.prefix +
                     ".{bin,idx}: " + formatNoun(corpus.documents, "document") +
                     " in " + formatNoun(corpus.sequences, "sequence") + ", " +
                     formatNoun(corpus.tokens, "token") + " of type " +
                     tokenTypeName(corpus.type) + "\n";
  if (corpus.documents == 0)
    return text;
  text += formatTable(
      {"tokens of a document", ">shortest", ">median", ">mean", ">90 %",
       ">99 %", ">longest"},
      {{"", formatGrouped(corpus.shortest), formatGrouped(corpus.median),
        formatText("%.1f", meanLength(corpus)), formatGrouped(corpus.p90),
        formatGrouped(corpus.p99), formatGrouped(corpus.longest)}});
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < corpus.buckets.size(); ++i)
    if (const LengthBucket &bucket = corpus.buckets[i]; bucket.documents)
      rows.push_back({bucketName(i), formatGrouped(bucket.documents),
                      share(bucket.documents, corpus.documents),
                      formatGrouped(bucket.tokens),
                      share(bucket.tokens, corpus.tokens)});
  return text + formatTable({"tokens of a document", ">documents", ">share",
                             ">tokens", ">share"},
                            rows);
}

static Status runInspect(const InspectDataCommand &command) {
  std::vector<CorpusSummary> corpora;
  for (const std::string &given : command.prefixes) {
    HOCKET_ASSIGN_OR_RETURN(std::string prefix, resolvePrefix(given));
    HOCKET_ASSIGN_OR_RETURN(CorpusSummary corpus, summarizeCorpus(prefix));
    corpora.push_back(std::move(corpus));
  }
  for (const CorpusSummary &corpus : corpora)
    if (command.json)
      printJson(corpus);
    else
      std::cout << describeCorpus(corpus);
  return okStatus();
}

void hocket::registerDataInspect(CLI::App &data, Status &result) {
  auto command = std::make_shared<InspectDataCommand>();
  CLI::App *app = addCommand(data, "inspect", "Say what token files hold");
  app->add_option("PREFIX", command->prefixes,
                  "Token files made by `hocket data prepare` or Megatron-LM")
      ->required();
  app->add_flag("--json", command->json, "A JSON object a line");
  app->footer("Example:\n  hocket data inspect data/books data/news");
  app->callback([command, &result] { result = runInspect(*command); });
}
