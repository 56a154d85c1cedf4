//===- DataCommand.cpp - `hocket data prepare` ----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/data/DataCommand.h"

#include "base/Format.h"
#include "base/Quantity.h"
#include "base/json/JsonLines.h"
#include "runtime/data/text/Prepare.h"
#include "runtime/data/text/TaskFiles.h"
#include "runtime/tools/command_line/CommandLine.h"
#include "runtime/tools/command_line/OptionValues.h"
#include "runtime/tools/command_line/ProgressLine.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

using namespace hocket;
using namespace hocket::data;

namespace {

/// What the command line says.
struct PrepareCommand {
  PrepareOptions options;
  bool json = false;
  bool splitsSentences = false;
  bool keepsNewlines = false;
};

} // namespace

/// One pair of files, in a line.
static void printFiles(const PrepareResult &result, const PreparedFiles &files,
                       double seconds, const PrepareCommand &command) {
  if (command.json) {
    nlohmann::ordered_json object;
    object["prefix"] = files.prefix;
    object["documents"] = result.documents;
    object["sequences"] = files.sequences;
    object["tokens"] = files.tokens;
    if (result.endOfConversation) {
      object["learned"] = result.learned;
      object["cut"] = result.cut;
      object["end_of_conversation"] = *result.endOfConversation;
    }
    if (command.options.images.perSequence > 0) {
      object["images"] = result.images;
      object["image_uses"] = result.imageUses;
    }
    if (!result.classes.empty()) {
      nlohmann::ordered_json classes;
      for (size_t i = 0; i < result.classes.size(); ++i)
        classes[result.classes[i]] = result.ofClass[i];
      object["classes"] = classes;
      object["unlabelled"] = result.unlabelled;
    }
    object["bytes"] = result.bytes;
    object["bad_lines"] = result.badLines;
    object["vocabulary_size"] = result.vocabularySize;
    object["tokenizer_sha256"] = result.tokenizerDigest;
    object["seconds"] = seconds;
    std::cout << toJsonText(object) << '\n';
    return;
  }
  if (!result.classes.empty()) {
    std::cout << files.prefix + ".{bin,idx,classes}: " +
                     formatNoun(result.documents, "document") + ", " +
                     formatNoun(files.tokens, "token") + "; of class";
    for (size_t i = 0; i < result.classes.size(); ++i)
      std::cout << (i ? ", " : " ") << result.classes[i] << ' '
                << formatGrouped(result.ofClass[i]);
    std::cout << '\n';
    return;
  }
  if (result.endOfConversation) {
    bool hasImages = command.options.images.perSequence > 0;
    std::cout << files.prefix +
                     (hasImages ? ".{bin,idx,mask,images}: "
                                : ".{bin,idx,mask}: ") +
                     formatNoun(result.documents, "conversation") +
                     (hasImages ? " with " + formatNoun(result.images, "image")
                                : "") +
                     " in " + formatNoun(files.sequences, "sequence") + " of " +
                     formatGrouped(command.options.packedLength) + " tokens, " +
                     formatGrouped(result.learned) +
                     " of them answers; each ends with token " +
                     std::to_string(*result.endOfConversation) + "\n";
    return;
  }
  std::cout << files.prefix +
                   ".{bin,idx}: " + formatNoun(result.documents, "document") +
                   (command.splitsSentences
                        ? " in " + formatNoun(files.sequences, "sentence")
                        : "") +
                   ", " + formatNoun(files.tokens, "token") +
                   formatText(", %.1f MB/s\n", double(result.bytes) /
                                                   std::max(seconds, 1e-9) /
                                                   1e6);
}

static void warnOfBadLines(const PrepareResult &result) {
  if (result.unlabelled)
    std::cerr << "warning: " << formatNoun(result.unlabelled, "document")
              << (result.unlabelled == 1 ? " has" : " have")
              << " no agreed class (\"-\") and "
              << (result.unlabelled == 1 ? "is" : "are") << " left out\n";
  for (const std::string &wrong : result.firstBadLines)
    std::cerr << "warning: " << wrong << '\n';
  if (result.badLines)
    std::cerr << "warning: " << formatNoun(result.badLines, "bad line")
              << (result.badLines == 1 ? " is" : " are")
              << " left out of the token files\n";
}

static std::string describe(const PrepareProgress &progress, double seconds) {
  return describeRate(
      progress.bytes, progress.totalBytes, seconds,
      formatText("  %s %s  %s tokens",
                 formatCount(double(progress.documents)).c_str(),
                 progress.documents == 1 ? "document" : "documents",
                 formatCount(double(progress.tokens)).c_str()));
}

/// What has no meaning for labelled texts.
static Status checkTask(const PrepareCommand &command) {
  const PrepareOptions &options = command.options;
  bool isPlain =
      !options.conversations && !options.appendEndOfDocument &&
      !command.splitsSentences && options.packedLength == 0 &&
      options.chatTemplate.empty() && options.images.perSequence == 0 &&
      options.jsonKeys.size() == 1 && options.jsonKeys.front() == "text";
  return isPlain
             ? okStatus()
             : invalidArgument("--task says what its files hold, and takes "
                               "none of --json-keys, --append-eod, --chat, "
                               "--chat-template, --images-per-sequence, --pack "
                               "and --split-sentences");
}

static Status runPrepare(PrepareCommand &command) {
  PrepareOptions &options = command.options;
  if (!options.task.empty()) {
    HOCKET_RETURN_IF_ERROR(checkTask(command));
    auto result = prepareTask(options);
    HOCKET_RETURN_IF_ERROR(result.status());
    warnOfBadLines(*result);
    printFiles(*result, result->files.front(), 0, command);
    return okStatus();
  }
  if (!options.conversations &&
      (!options.chatTemplate.empty() || options.packedLength > 0))
    return invalidArgument("--chat-template and --pack are about "
                           "conversations; say --chat too");
  if (!options.conversations && options.images.perSequence > 0)
    return invalidArgument("--images-per-sequence is about conversations; say "
                           "--chat too");
  if (options.conversations && options.jsonKeys.front() == "text" &&
      options.jsonKeys.size() == 1)
    options.jsonKeys = {"messages"};
  if (command.splitsSentences)
    command.options.sentences = command.keepsNewlines ? SentenceSplit::WithSpace
                                                      : SentenceSplit::Trimmed;
  ProgressLine line;
  auto result = prepare(command.options, [&](const PrepareProgress &progress) {
    line.show([&](double seconds) { return describe(progress, seconds); });
  });
  line.clear();
  HOCKET_RETURN_IF_ERROR(result.status());
  warnOfBadLines(*result);
  if (result->cut)
    std::cerr << "warning: " << formatNoun(result->cut, "conversation")
              << (result->cut == 1 ? " is" : " are") << " longer than "
              << command.options.packedLength << " tokens and cut there\n";
  for (const PreparedFiles &files : result->files)
    printFiles(*result, files, line.seconds(), command);
  return okStatus();
}

/// Of conversations about images.
static void addImageOptions(CLI::App &app, ImagePreparation &images) {
  constexpr uint64_t mostImages = 1 << 20, mostPixels = 16384;
  const char *switchedOn = "--images-per-sequence";
  wantWhole(app.add_option(switchedOn, images.perSequence,
                           "Conversations of --chat may be about images (PNG, "
                           "JPEG), at most N in a sequence: the run's "
                           "training.images_per_sequence. Writes "
                           "PREFIX_<key>_document.images too"),
            1, mostImages)
      ->type_name("N");
  wantWhole(app.add_option("--image-size", images.imageSize,
                           "Pixels of a side, to which images are resized and "
                           "cropped (default: that of config.json in "
                           "--tokenizer)"),
            1, mostPixels)
      ->needs(switchedOn)
      ->type_name("N");
  wantWhole(app.add_option("--patch-size", images.patchSize,
                           "Pixels of a side of a patch; each patch of an "
                           "image is a token (default: likewise)"),
            1, mostPixels)
      ->needs(switchedOn)
      ->type_name("N");
  wantOneOf(app.add_option("--image-features", images.features,
                           "full: an image has one token more, of the tower's "
                           "class (default: likewise, or default)"),
            {"default", "full"})
      ->needs(switchedOn)
      ->type_name("KIND");
  wantSomeText(app.add_option("--image-token", images.token,
                              "The special token that stands for an image"))
      ->needs(switchedOn)
      ->type_name("TOKEN")
      ->capture_default_str();
  wantPath(app.add_option("--image-folder", images.folder,
                          "Where relative paths of images begin (default: the "
                          "folder of the file that names them)"))
      ->needs(switchedOn)
      ->type_name("FOLDER");
}

void hocket::registerDataPrepare(CLI::App &data, Status &result) {
  auto command = std::make_shared<PrepareCommand>();
  PrepareOptions &options = command->options;
  CLI::App *app =
      addCommand(data, "prepare", "Turn text and JSON lines into token files");
  app->add_option("input", options.inputs,
                  "Text files, one document each; .jsonl, .ndjson and .json "
                  "hold one JSON object per line, one document each. A "
                  "further .gz, .xz or .zst says how a file is compressed")
      ->required()
      ->type_name("INPUT");
  wantPath(app->add_option("-o,--output", options.prefix,
                           "Writes PREFIX_<key>_document.bin and .idx, or "
                           "_sentence with --split-sentences"))
      ->required()
      ->type_name("PREFIX");
  app->add_option("--tokenizer", options.tokenizer,
                  "byte, or the tokenizer of a file or folder: tokenizer.json, "
                  "tokenizer.model, vocab.json with merges.txt, vocab.txt")
      ->type_name("PATH")
      ->capture_default_str();
  app->add_option("--json-keys,--json-key", options.jsonKeys,
                  "The keys of a JSON line that hold text, separated by "
                  "commas; each gives a pair of files")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("KEY")
      ->default_str("text");
  app->add_flag("--append-eod", options.appendEndOfDocument,
                "End each document with the end-of-document token");
  app->add_flag("--chat", options.conversations,
                "Each line holds a conversation under \"messages\", which "
                "the model's chat template turns into text. Only answers are "
                "learned, and conversations are packed into sequences");
  app->add_option("--chat-template", options.chatTemplate,
                  "The template, a .jinja file (default: chat_template.jinja "
                  "or tokenizer_config.json of --tokenizer)")
      ->type_name("FILE");
  wantWhole(app->add_option("--pack", options.packedLength,
                            "Tokens of a sequence of conversations: the "
                            "run's training.sequence_length"))
      ->type_name("N");
  addImageOptions(*app, options.images);
  app->add_flag("--split-sentences", command->splitsSentences,
                "Make each sentence a sequence of its document, by rules for "
                "abbreviations, numbers, quotes and full stops of any script");
  app->add_flag("--keep-newlines", command->keepsNewlines,
                "Keep the line feeds and spaces after each sentence")
      ->needs("--split-sentences");
  wantOneOf(app->add_option("--task", options.task,
                            "The inputs are labelled texts as they are "
                            "distributed: tables of MNLI or QQP (.tsv), or "
                            "folders of RACE's passages. Writes "
                            "PREFIX_<task>_document.classes too"),
            taskNames())
      ->type_name("TASK");
  wantWhole(app->add_option("--max-bad-lines", options.maxBadLines,
                            "Skip up to N lines that are not a JSON object "
                            "with the key, or no row of the task's table; one "
                            "more is an error"))
      ->capture_default_str();
  constexpr uint64_t mostThreads = 1024;
  wantWhole(app->add_option("--threads", options.threads,
                            "Threads; 0 uses all cores that are allowed"),
            0, mostThreads)
      ->capture_default_str();
  app->add_flag("--json", command->json, "Print the result as JSON");
  app->footer(
      "Example:\n  hocket data prepare books.txt news.jsonl -o "
      "data/mix --tokenizer byte --append-eod\n  hocket data prepare "
      "news.jsonl -o data/news --tokenizer gpt2/tokenizer.json\n  hocket "
      "data prepare talks.jsonl -o data/talks --tokenizer Qwen3-0.6B "
      "--chat --pack 4096\n  hocket data prepare seen.jsonl -o data/seen "
      "--tokenizer llava-7b --chat --pack 2048 --images-per-sequence "
      "2\n  hocket data prepare train.tsv -o data/train "
      "--tokenizer bert/vocab.txt --task mnli");
  app->callback([command, &result] { result = runPrepare(*command); });
}
