//===- DataInspectCommand.cpp - `hocket data inspect` ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/Quantity.h"
#include "base/json/JsonLines.h"
#include "runtime/data/samples/BlendedDataset.h"
#include "runtime/tools/command_line/CommandLine.h"
#include "runtime/tools/command_line/OptionValues.h"
#include "runtime/tools/command_line/OutputFile.h"
#include "runtime/tools/data/CorpusReport.h"
#include "runtime/tools/data/DataCommand.h"

#include <charconv>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

using namespace hocket;
using namespace hocket::data;

namespace {
struct InspectDataCommand {
  std::vector<std::string> words;
  std::string page;
  bool json = false;
};
} // namespace

static bool isNumber(const std::string &word) {
  double value = 0;
  const char *end = word.data() + word.size();
  return std::from_chars(word.data(), end, value).ptr == end;
}

/// Whether the words are a blend and not a list of prefixes.
static bool isBlend(const std::vector<std::string> &words) {
  if (words.size() == 1)
    return words.front().starts_with('@');
  for (size_t i = 0; i < words.size(); i += 2)
    if (!isNumber(words[i]))
      return false;
  return true;
}

static StatusOr<std::vector<ReportedCorpus>>
summarize(const std::vector<std::string> &words) {
  std::vector<ReportedCorpus> corpora;
  auto add = [&](const std::string &given, std::optional<double> weight) {
    auto prefix = resolvePrefix(given);
    HOCKET_RETURN_IF_ERROR(prefix.status());
    auto corpus = summarizeCorpus(*prefix);
    HOCKET_RETURN_IF_ERROR(corpus.status());
    corpora.push_back({std::move(*corpus), weight});
    return okStatus();
  };
  if (!isBlend(words)) {
    for (const std::string &word : words)
      HOCKET_RETURN_IF_ERROR(add(word, std::nullopt));
    return corpora;
  }
  HOCKET_ASSIGN_OR_RETURN(std::vector<BlendPart> parts, parseBlend(words));
  for (const BlendPart &part : parts)
    HOCKET_RETURN_IF_ERROR(add(part.prefix, parts.size() > 1
                                                ? std::optional(part.weight)
                                                : std::nullopt));
  return corpora;
}

static Status runInspect(const InspectDataCommand &command) {
  HOCKET_RETURN_IF_ERROR(checkOutput(command.page, OutputKind::Text));
  HOCKET_ASSIGN_OR_RETURN(std::vector<ReportedCorpus> corpora,
                          summarize(command.words));
  std::ostream &out = reportStream(command.page);
  if (command.json)
    for (const ReportedCorpus &corpus : corpora)
      out << toJsonText(corpusJson(corpus)) << '\n';
  else
    out << corporaText(corpora);
  if (command.page.empty())
    return okStatus();
  std::string page = corporaPage(corpora);
  HOCKET_RETURN_IF_ERROR(writeOutput(command.page, page));
  out << command.page << ": " << formatBytes(page.size()) << '\n';
  return okStatus();
}

void hocket::registerDataInspect(CLI::App &data, Status &result) {
  auto command = std::make_shared<InspectDataCommand>();
  CLI::App *app = addCommand(data, "inspect", "Show what token files hold");
  app->add_option("PREFIX", command->words,
                  "Token files made by `hocket data prepare` or Megatron-LM, "
                  "or a blend of them as `hocket train --data` takes it")
      ->required();
  CLI::Option *json =
      app->add_flag("--json", command->json, "One JSON object per line");
  app->add_option("--html,--page", command->page,
                  "Write one page for a browser here too: the share of each "
                  "file, and how long documents are")
      ->type_name("FILE")
      ->excludes(json);
  app->footer(
      "Example:\n  hocket data inspect data/books data/news\n  hocket data "
      "inspect 0.7 data/books 0.3 data/news --html data.html");
  app->callback([command, &result] { result = runInspect(*command); });
}
