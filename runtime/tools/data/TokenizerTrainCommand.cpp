//===- TokenizerTrainCommand.cpp - `hocket tokenizer train` ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/data/TokenizerTrainCommand.h"

#include "base/File.h"
#include "base/Format.h"
#include "base/Quantity.h"
#include "base/json/JsonLines.h"
#include "runtime/data/text/CountWords.h"
#include "runtime/tokenizer/EndOfDocument.h"
#include "runtime/tokenizer/text/Vocabulary.h"
#include "runtime/tools/command_line/CommandLine.h"
#include "runtime/tools/command_line/OptionValues.h"
#include "runtime/tools/command_line/ProgressLine.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

using namespace hocket;

namespace {
struct TrainCommandLine {
  data::CountOptions corpus;
  tokenizer::TrainOptions options;
  std::string folder;
  bool json = false;
};
} // namespace

/// Special tokens end up in files, and one of them ends documents.
static Status checkSpecial(const std::vector<std::string> &special) {
  for (auto at = special.begin(); at != special.end(); ++at) {
    if (at->size() < 2)
      return invalidArgument("expected special tokens of two bytes or more, "
                             "found '" +
                             *at + "'");
    if (std::find(special.begin(), at, *at) != at)
      return invalidArgument("the special token " + *at + " is given twice");
  }
  return okStatus();
}

/// All of them are complete beside their names before the first takes its.
static Status writeFiles(const std::string &folder,
                         const tokenizer::TokenizerFiles &files) {
  HOCKET_RETURN_IF_ERROR(makeDirectories(folder));
  const std::pair<const char *, const std::string *> all[] = {
      {"vocab.json", &files.vocabularyJson},
      {"merges.txt", &files.mergesText},
      {"tokenizer.json", &files.tokenizerJson}};
  std::vector<AtomicFile> open;
  for (auto [name, bytes] : all) {
    HOCKET_ASSIGN_OR_RETURN(AtomicFile file,
                            AtomicFile::create(folder + "/" + name));
    HOCKET_RETURN_IF_ERROR(file.append(*bytes));
    open.push_back(std::move(file));
  }
  for (AtomicFile &file : open)
    HOCKET_RETURN_IF_ERROR(file.commit());
  return okStatus();
}

static void printTrained(const TrainCommandLine &command, uint64_t tokens,
                         uint64_t merges, double seconds) {
  if (command.json) {
    nlohmann::ordered_json object;
    object["folder"] = command.folder;
    object["vocabulary_size"] = tokens;
    object["merges"] = merges;
    object["seconds"] = seconds;
    std::cout << toJsonText(object) << '\n';
    return;
  }
  std::cout << command.folder + "/{tokenizer.json,vocab.json,merges.txt}: " +
                   formatGrouped(tokens) + " tokens, " + formatGrouped(merges) +
                   " merges, in " + formatDuration(seconds) + "\n";
  if (tokens < command.options.vocabularySize)
    std::cout << "No other pair occurs " +
                     formatNoun(command.options.leastFrequency, "time") +
                     ": a larger corpus gives more tokens.\n";
}

static Status runTrain(TrainCommandLine &command) {
  HOCKET_RETURN_IF_ERROR(checkSpecial(command.options.special));
  ProgressLine reading;
  auto words =
      data::countWords(command.corpus, [&](uint64_t bytes, uint64_t total) {
        reading.show([&](double seconds) {
          return "reading " + describeRate(bytes, total, seconds);
        });
      });
  reading.clear();
  HOCKET_RETURN_IF_ERROR(words.status());
  ProgressLine merging;
  auto trained =
      tokenizer::trainBytePairs(*words, command.options, [&](uint64_t tokens) {
        merging.show([&](double seconds) {
          double rate = double(tokens) / std::max(seconds, 1e-9);
          double left = double(command.options.vocabularySize - tokens) / rate;
          return formatText(
              "merging  %s of %s tokens  %.0f a second  %s left",
              formatGrouped(tokens).c_str(),
              formatGrouped(command.options.vocabularySize).c_str(), rate,
              formatDuration(left).c_str());
        });
      });
  merging.clear();
  HOCKET_RETURN_IF_ERROR(trained.status());
  HOCKET_RETURN_IF_ERROR(writeFiles(
      command.folder, tokenizer::filesOf(*trained, command.corpus.pattern)));
  printTrained(command, trained->tokens.size() + trained->special.size(),
               trained->merges.size(), reading.seconds());
  return okStatus();
}

void hocket::registerTokenizerTrain(CLI::App &tokenizer, Status &result) {
  auto command = std::make_shared<TrainCommandLine>();
  command->options.special = {std::string(tokenizer::documentEnds[0])};
  CLI::App *app =
      addCommand(tokenizer, "train", "Train a byte-level BPE on a corpus");
  app->add_option("corpus", command->corpus.inputs,
                  "Text files, one document each; .jsonl, .ndjson and .json "
                  "hold one JSON object per line, one document each")
      ->required()
      ->type_name("CORPUS");
  wantWhole(app->add_option("--vocab-size", command->options.vocabularySize,
                            "Number of tokens, the 256 bytes included"),
            257, tokenizer::mostTokens)
      ->required();
  wantPath(app->add_option("-o,--output", command->folder,
                           "Writes tokenizer.json, vocab.json and merges.txt "
                           "to this folder"))
      ->required()
      ->type_name("DIR");
  addChoice<tokenizer::WordPattern>(
      *app, "--words", command->corpus.pattern,
      {{"gpt2", tokenizer::WordPattern::Gpt2},
       {"llama3", tokenizer::WordPattern::Llama3},
       {"qwen2", tokenizer::WordPattern::Qwen2}},
      "The model whose regular expression splits text into words");
  app->add_option("--special", command->options.special,
                  "Special tokens; <|endoftext|> ends documents")
      ->type_name("TOKEN")
      ->capture_default_str();
  wantWhole(app->add_option("--min-frequency", command->options.leastFrequency,
                            "The least number of times that a pair must "
                            "occur to become a token"),
            1)
      ->capture_default_str();
  app->add_option("--json-key", command->corpus.jsonKey,
                  "The key of a JSON line that holds the text")
      ->type_name("KEY")
      ->capture_default_str();
  constexpr uint64_t mostThreads = 1024;
  wantWhole(app->add_option("--threads", command->corpus.threads,
                            "Threads; 0 uses all cores that are allowed"),
            0, mostThreads)
      ->capture_default_str();
  app->add_flag("--json", command->json, "Print the result as JSON");
  app->footer("Example:\n  hocket tokenizer train books.txt news.jsonl "
              "--vocab-size 8192 -o my-tokenizer");
  app->callback([command, &result] { result = runTrain(*command); });
}
