//===- TokenizerCommand.cpp - `hocket tokenizer` --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/data/TokenizerCommand.h"

#include "base/Format.h"
#include "base/Quantity.h"
#include "base/TextLines.h"
#include "base/json/JsonLines.h"
#include "runtime/tokenizer/Tokenizer.h"
#include "runtime/tokenizer/text/SourceText.h"
#include "runtime/tools/command_line/CommandLine.h"
#include "runtime/tools/command_line/OptionValues.h"
#include "runtime/tools/command_line/OutputFile.h"
#include "runtime/tools/command_line/ProgressLine.h"
#include "runtime/tools/data/TokenizerTrainCommand.h"

#include <algorithm>
#include <charconv>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

using namespace hocket;
using tokenizer::SourceText;
using tokenizer::Tokenizer;

namespace {

struct EncodeCommand {
  std::string input, tokenizer, output;
  bool lines = false, prompt = false;
};

struct DecodeCommand {
  std::string input, tokenizer, output = "-";
  bool special = false;
};

struct InspectCommandLine {
  std::string tokenizer, text;
  bool json = false;
};

using Named = std::vector<std::pair<std::string, std::string>>;

} // namespace

static CLI::Option *addTokenizerOption(CLI::App &app, std::string &to) {
  return app
      .add_option("--tokenizer", to,
                  "byte, or a file or folder: tokenizer.json, "
                  "tokenizer.model, vocab.json with merges.txt, vocab.txt")
      ->required()
      ->type_name("PATH");
}

//===----------------------------------------------------------------------===//
// encode
//===----------------------------------------------------------------------===//

static void appendNumbers(const std::vector<int32_t> &tokens, char between,
                          std::string &out) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0)
      out += between;
    out += std::to_string(tokens[i]);
  }
  if (!tokens.empty() || between == ' ')
    out += '\n';
}

/// The tokens of one text, part by part.
static std::vector<int32_t> encodeText(const Tokenizer &tokenizer,
                                       std::string_view text,
                                       ProgressLine &line) {
  constexpr size_t partBytes = size_t(1) << 20;
  std::vector<int32_t> tokens;
  std::string_view rest = text;
  auto part = tokenizer::TextPart::First;
  while (!rest.empty()) {
    size_t size = rest.size();
    for (size_t most = partBytes; most < rest.size(); most *= 2)
      if (size_t cut = tokenizer.splitPoint(rest.substr(0, most))) {
        size = cut;
        break;
      }
    tokenizer.encode(rest.substr(0, size), tokens, part);
    part = tokenizer::TextPart::Later;
    rest.remove_prefix(size);
    line.show([&](double seconds) {
      return describeRate(text.size() - rest.size(), text.size(), seconds);
    });
  }
  return tokens;
}

static uint64_t encodeLines(const Tokenizer &tokenizer,
                            const EncodeCommand &command, std::string_view rest,
                            std::string &out) {
  uint64_t count = 0;
  std::vector<int32_t> tokens;
  while (!rest.empty()) {
    std::string_view line = takeLine(rest);
    tokens.clear();
    if (command.prompt)
      tokenizer.encodePrompt(line, tokens);
    else
      tokenizer.encode(line, tokens);
    count += tokens.size();
    appendNumbers(tokens, ' ', out);
  }
  return count;
}

static Status runEncode(const EncodeCommand &command) {
  HOCKET_ASSIGN_OR_RETURN(auto tokenizer,
                          tokenizer::openTokenizer(command.tokenizer));
  HOCKET_ASSIGN_OR_RETURN(SourceText file, SourceText::read(command.input));
  HOCKET_RETURN_IF_ERROR(file.checkUtf8());
  ProgressLine line;
  std::string out;
  uint64_t count = 0;
  if (command.lines) {
    count = encodeLines(*tokenizer, command, file.text, out);
  } else {
    std::vector<int32_t> tokens;
    if (command.prompt)
      tokenizer->encodePrompt(file.text, tokens);
    else
      tokens = encodeText(*tokenizer, file.text, line);
    count = tokens.size();
    appendNumbers(tokens, '\n', out);
  }
  line.clear();
  double seconds = line.seconds();
  HOCKET_RETURN_IF_ERROR(writeOutput(command.output, out));
  reportStream(command.output)
      << command.output + ": " + formatNoun(count, "token") + " of " +
             formatNoun(file.text.size(), "byte") +
             formatText(", %.1f MB/s\n", double(file.text.size()) /
                                             std::max(seconds, 1e-9) / 1e6);
  return okStatus();
}

static void registerEncode(CLI::App &tokenizer, Status &result) {
  auto command = std::make_shared<EncodeCommand>();
  CLI::App *app =
      addCommand(tokenizer, "encode", "Turn a text into token numbers");
  wantPath(app->add_option("file", command->input, "The text, one document"))
      ->required()
      ->type_name("FILE");
  addTokenizerOption(*app, command->tokenizer);
  app->add_option("-o,--output", command->output,
                  "Writes one number per line; - is standard output")
      ->required()
      ->type_name("IDS");
  app->add_flag("--lines", command->lines,
                "Each line is a separate text, and its numbers are one line");
  app->add_flag("--prompt", command->prompt,
                "Recognizes special tokens in the text, and adds those that "
                "belong around a prompt; otherwise they are text");
  app->footer("Example:\n  hocket tokenizer encode book.txt --tokenizer "
              "gpt2/tokenizer.json -o book.ids");
  app->callback([command, &result] { result = runEncode(*command); });
}

//===----------------------------------------------------------------------===//
// decode
//===----------------------------------------------------------------------===//

/// Numbers of tokens, with white space between them.
static StatusOr<std::vector<int32_t>> parseTokens(const SourceText &file,
                                                  uint64_t limit) {
  std::vector<int32_t> tokens;
  constexpr const char *spaces = " \t\r\n";
  std::string_view rest = file.text;
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(spaces), rest.size()));
    if (rest.empty())
      return tokens;
    std::string_view word = rest.substr(0, rest.find_first_of(spaces));
    uint64_t token = 0;
    const char *begin = word.begin(), *end = word.end();
    auto [behind, error] = std::from_chars(begin, end, token);
    if (behind != end || error != std::errc() || token >= limit)
      return file.wrongAt(word, "expected the number of a token, below " +
                                    std::to_string(limit) + ", found " +
                                    tokenizer::inQuotes(word));
    tokens.push_back(int32_t(token));
    rest.remove_prefix(word.size());
  }
}

static Status runDecode(const DecodeCommand &command) {
  HOCKET_ASSIGN_OR_RETURN(auto tokenizer,
                          tokenizer::openTokenizer(command.tokenizer));
  HOCKET_ASSIGN_OR_RETURN(SourceText file, SourceText::read(command.input));
  HOCKET_ASSIGN_OR_RETURN(auto tokens,
                          parseTokens(file, tokenizer->vocabularySize()));
  return writeOutput(
      command.output,
      tokenizer->decode(tokens, command.special
                                    ? tokenizer::SpecialTokens::Shown
                                    : tokenizer::SpecialTokens::Skipped));
}

static void registerDecode(CLI::App &tokenizer, Status &result) {
  auto command = std::make_shared<DecodeCommand>();
  CLI::App *app =
      addCommand(tokenizer, "decode", "Turn token numbers into their text");
  wantPath(app->add_option("ids", command->input,
                           "Numbers of tokens, with white space between them"))
      ->required()
      ->type_name("IDS");
  addTokenizerOption(*app, command->tokenizer);
  app->add_option("-o,--output", command->output,
                  "Writes the text; - is standard output")
      ->type_name("FILE")
      ->capture_default_str();
  app->add_flag("--special", command->special,
                "Also writes special tokens, as in the vocabulary");
  app->footer("Example:\n  hocket tokenizer decode book.ids --tokenizer "
              "gpt2/tokenizer.json -o book.txt");
  app->callback([command, &result] { result = runDecode(*command); });
}

//===----------------------------------------------------------------------===//
// inspect
//===----------------------------------------------------------------------===//

static Named factsOf(const Tokenizer &tokenizer) {
  Named facts = {
      {"kind", tokenizer.name()},
      {"vocabulary", formatGrouped(tokenizer.vocabularySize()) + " tokens"}};
  auto end = tokenizer.endOfDocument();
  facts.emplace_back("end of document",
                     end ? std::to_string(*end) + " " +
                               tokenizer.tokenText(*end).value_or("")
                         : "none");
  for (auto &fact : tokenizer.describe())
    facts.push_back(std::move(fact));
  facts.emplace_back("sha256", tokenizer.digest());
  return facts;
}

/// A token as its vocabulary has it, on one line.
static std::string shownToken(const Tokenizer &tokenizer, int32_t token) {
  return tokenizer::inQuotes(tokenizer.tokenText(token).value_or(""));
}

static void printFacts(const Tokenizer &tokenizer,
                       const std::vector<int32_t> &tokens) {
  std::vector<std::vector<std::string>> rows;
  for (auto &[name, value] : factsOf(tokenizer))
    std::cout << formatText("%-18s %s\n", name.c_str(), value.c_str());
  for (int32_t token : tokens)
    rows.push_back({std::to_string(token), shownToken(tokenizer, token)});
  if (!rows.empty())
    std::cout << "\n" + formatTable({"token", "text"}, rows);
}

static Status runInspect(const InspectCommandLine &command) {
  HOCKET_ASSIGN_OR_RETURN(auto tokenizer,
                          tokenizer::openTokenizer(command.tokenizer));
  std::vector<int32_t> tokens;
  SourceText given{"--text", command.text};
  HOCKET_RETURN_IF_ERROR(given.checkUtf8());
  tokenizer->encode(command.text, tokens);
  if (!command.json) {
    printFacts(*tokenizer, tokens);
    return okStatus();
  }
  nlohmann::ordered_json object;
  object["kind"] = tokenizer->name();
  object["vocabulary_size"] = tokenizer->vocabularySize();
  object["end_of_document"] = nullptr;
  if (auto end = tokenizer->endOfDocument())
    object["end_of_document"] = *end;
  object["sha256"] = tokenizer->digest();
  for (auto &[name, value] : tokenizer->describe())
    object["settings"][name] = value;
  if (!command.text.empty())
    object["tokens"] = tokens;
  std::cout << toJsonText(object) << '\n';
  return okStatus();
}

static void registerInspectTokenizer(CLI::App &tokenizer, Status &result) {
  auto command = std::make_shared<InspectCommandLine>();
  CLI::App *app = addCommand(tokenizer, "inspect",
                             "Describe a tokenizer, and show how it encodes "
                             "a text");
  app->add_option("path", command->tokenizer,
                  "byte, or a file or folder, as --tokenizer takes it")
      ->required()
      ->type_name("PATH");
  wantText(
      app->add_option("--text", command->text, "Shows the tokens of this text"))
      ->type_name("WORDS");
  app->add_flag("--json", command->json, "Print it as JSON");
  app->footer("Example:\n  hocket tokenizer inspect gpt2/tokenizer.json "
              "--text \"Hello world\"");
  app->callback([command, &result] { result = runInspect(*command); });
}

void hocket::registerTokenizer(CLI::App &app, Status &result) {
  CLI::App *tokenizer =
      addCommand(app, "tokenizer", "Train or use a tokenizer");
  tokenizer->require_subcommand(1);
  registerTokenizerTrain(*tokenizer, result);
  registerEncode(*tokenizer, result);
  registerDecode(*tokenizer, result);
  registerInspectTokenizer(*tokenizer, result);
}
