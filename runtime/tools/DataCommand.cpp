//===- DataCommand.cpp - `hocket data prepare` ----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/DataCommand.h"

#include "runtime/base/Format.h"
#include "runtime/base/JsonLines.h"
#include "runtime/base/Quantity.h"
#include "runtime/data/Prepare.h"
#include "runtime/tools/CommandLine.h"
#include "runtime/tools/OptionValues.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace hocket;
using namespace hocket::data;

namespace {

/// What the command line says.
struct PrepareCommand {
  PrepareOptions options;
  bool json = false;
};

/// Shows how far the work is: a line that is rewritten on a terminal, a line
/// every ten seconds elsewhere.
class ProgressLine {
public:
  ProgressLine() : terminal(isatty(STDERR_FILENO)) {}

  void show(const PrepareProgress &progress) {
    double now = seconds(), interval = terminal ? 0.2 : 10.0;
    if (now - shownAt < interval)
      return;
    shownAt = now;
    std::cerr << (terminal ? "\r\033[K" : "") << describe(progress, now)
              << (terminal ? "" : "\n") << std::flush;
    shown = true;
  }

  /// Removes the line from a terminal.
  void clear() {
    if (terminal && shown)
      std::cerr << "\r\033[K" << std::flush;
  }

  /// Since the beginning.
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

private:
  using Clock = std::chrono::steady_clock;

  static std::string describe(const PrepareProgress &progress, double now) {
    double rate = double(progress.bytes) / std::max(now, 1e-9);
    double left = double(progress.totalBytes - progress.bytes) / rate;
    return formatText("%5.1f %%  %.1f MB/s  %s %s  %s tokens  %s left",
                      100.0 * double(progress.bytes) /
                          double(std::max<uint64_t>(progress.totalBytes, 1)),
                      rate / 1e6,
                      formatCount(double(progress.documents)).c_str(),
                      progress.documents == 1 ? "document" : "documents",
                      formatCount(double(progress.tokens)).c_str(),
                      formatDuration(left).c_str());
  }

  const Clock::time_point start = Clock::now();
  const bool terminal;
  bool shown = false;
  double shownAt = 0;
};

} // namespace

static void printResult(const PrepareResult &result, double seconds,
                        bool json) {
  if (json) {
    nlohmann::ordered_json object;
    object["prefix"] = result.prefix;
    object["documents"] = result.documents;
    object["tokens"] = result.tokens;
    object["bytes"] = result.bytes;
    object["seconds"] = seconds;
    std::cout << toJsonText(object) << '\n';
    return;
  }
  std::cout << result.prefix +
                   ".{bin,idx}: " + formatNoun(result.documents, "document") +
                   ", " + formatNoun(result.tokens, "token") +
                   formatText(", %.1f MB/s\n", double(result.bytes) /
                                                   std::max(seconds, 1e-9) /
                                                   1e6);
}

static Status runPrepare(const PrepareCommand &command) {
  ProgressLine line;
  auto result = prepare(command.options, [&](const PrepareProgress &progress) {
    line.show(progress);
  });
  line.clear();
  HOCKET_RETURN_IF_ERROR(result.status());
  printResult(*result, line.seconds(), command.json);
  return okStatus();
}

void hocket::registerDataPrepare(CLI::App &data, Status &result) {
  auto command = std::make_shared<PrepareCommand>();
  PrepareOptions &options = command->options;
  CLI::App *app =
      addCommand(data, "prepare", "Turn text and JSON lines into token files");
  app->add_option("input", options.inputs,
                  "Text files, one document each; .jsonl, .ndjson and .json "
                  "hold a JSON object a line, one document each")
      ->required()
      ->type_name("INPUT");
  wantPath(app->add_option("-o,--output", options.prefix,
                           "Writes PREFIX_<key>_document.bin and .idx"))
      ->required()
      ->type_name("PREFIX");
  app->add_option("--tokenizer", options.tokenizer, "The tokenizer: byte")
      ->type_name("NAME")
      ->capture_default_str();
  app->add_option("--json-key", options.jsonKey,
                  "The key of a JSON line that holds the text")
      ->type_name("KEY")
      ->capture_default_str();
  app->add_flag("--append-eod", options.appendEndOfDocument,
                "End each document with the end-of-document token");
  constexpr uint64_t mostThreads = 1024;
  wantWhole(app->add_option("--threads", options.threads,
                            "Threads; 0 uses all cores that are allowed"),
            0, mostThreads)
      ->capture_default_str();
  app->add_flag("--json", command->json, "Print the result as JSON");
  app->footer("Example:\n  hocket data prepare books.txt news.jsonl -o "
              "data/mix --tokenizer byte --append-eod");
  app->callback([command, &result] { result = runPrepare(*command); });
}
