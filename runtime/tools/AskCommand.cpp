//===- AskCommand.cpp - hocket ask ----------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/AskCommand.h"

#include "base/json/JsonLines.h"
#include "base/json/JsonObject.h"
#include "runtime/serve/HttpClient.h"
#include "runtime/tools/WritingOptions.h"
#include "runtime/tools/command_line/KeyFile.h"
#include "runtime/tools/command_line/LineEditor.h"
#include "runtime/tools/command_line/OptionValues.h"

#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

using namespace hocket;
using namespace hocket::serve;
using nlohmann::json;
using nlohmann::ordered_json;

namespace {

struct AskArguments : WritingOptions {
  std::string url, keyFile;
  std::optional<std::string> prompt;
};

/// Prints a prompt and, behind it, the text of an event stream as it comes,
/// whatever its pieces are.
class StreamPrinter {
public:
  explicit StreamPrinter(std::string prompt) : prompt(std::move(prompt)) {}

  void add(std::string_view piece) {
    pending += piece;
    for (size_t end; (end = pending.find('\n')) != pending.npos;) {
      print(pending.substr(0, end));
      pending.erase(0, end + 1);
    }
  }

  Status finish() const {
    if (!error.empty())
      return unavailable("the server ended: " + error);
    return isWhole ? okStatus() : dataLoss("what the server wrote has no end");
  }

private:
  void print(std::string_view line) {
    constexpr std::string_view name = "data: ";
    if (!line.starts_with(name))
      return;
    line.remove_prefix(name.size());
    if (line == "[DONE]") {
      isWhole = true;
      return;
    }
    json part;
    if (readJsonObject(line, part))
      return;
    std::cout << std::exchange(prompt, "");
    if (part.contains("error")) {
      error = part["error"].dump();
      return;
    }
    for (const json &choice : part.value("choices", json::array()))
      if (choice.is_object() && choice.contains("text") &&
          choice["text"].is_string())
        std::cout << choice["text"].get<std::string>() << std::flush;
  }

  std::string prompt, pending, error;
  bool isWhole = false;
};

} // namespace

static std::string requestOf(const AskArguments &arguments,
                             const std::string &prompt) {
  inference::SamplingOptions sampling = arguments.chosenSampling();
  ordered_json request = {{"prompt", prompt},
                          {"max_tokens", arguments.tokens},
                          {"temperature", sampling.temperature},
                          {"top_k", sampling.topK},
                          {"top_p", sampling.topP},
                          {"min_p", sampling.minP},
                          {"repetition_penalty", sampling.repetitionPenalty},
                          {"seed", sampling.seed},
                          {"ignore_eos", arguments.ignoreEnd},
                          {"stream", true}};
  if (!arguments.stops.empty())
    request["stop"] = arguments.stops;
  return toJsonText(request);
}

/// What is wrong, as the server says it.
static Status refusalOf(const HttpAnswer &answer) {
  json body;
  bool isObject = !readJsonObject(answer.body, body);
  std::string message = "status " + std::to_string(answer.status);
  if (isObject && body.contains("error") && body["error"].is_object() &&
      body["error"].contains("message") && body["error"]["message"].is_string())
    message = body["error"]["message"].get<std::string>();
  message = "the server refuses: " + message;
  return answer.status >= 500 || answer.status == 429
             ? unavailable(message)
             : invalidArgument(message);
}

static Status ask(const HttpAddress &address, const AskArguments &arguments,
                  const std::string &key, const std::string &prompt,
                  const std::string &shown = "") {
  StreamPrinter printer(shown);
  HOCKET_ASSIGN_OR_RETURN(
      HttpAnswer answer,
      post(address, "/v1/completions", requestOf(arguments, prompt), key,
           [&](std::string_view piece) { printer.add(piece); }));
  if (answer.status != 200)
    return refusalOf(answer);
  return printer.finish();
}

static Status run(const AskArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(HttpAddress address,
                          HttpAddress::parse(arguments.url));
  std::string key;
  if (!arguments.keyFile.empty()) {
    HOCKET_ASSIGN_OR_RETURN(key, readKey(arguments.keyFile));
  }
  if (arguments.prompt) {
    HOCKET_RETURN_IF_ERROR(
        ask(address, arguments, key, *arguments.prompt, *arguments.prompt));
    std::cout << std::endl;
    return okStatus();
  }
  if (!isConversation())
    return invalidArgument(
        "nothing to go on from: give --prompt PROMPT, or ask "
        "from a terminal");
  while (auto line = readLine("> ", [] { return false; })) {
    if (line->empty())
      continue;
    Status status = ask(address, arguments, key, *line);
    std::cout << std::endl;
    if (!status.ok())
      std::cerr << status.message() << std::endl;
  }
  std::cout << std::endl;
  return okStatus();
}

void hocket::registerAsk(CLI::App &app, Status &result) {
  auto arguments = std::make_shared<AskArguments>();
  CLI::App *command = addCommand(app, "ask", "Generate text through a server");
  command
      ->add_option("URL", arguments->url,
                   "Where `hocket serve`, or another server with OpenAI's "
                   "/v1/completions, listens: http://HOST:PORT")
      ->required();
  wantText(command->add_option("--prompt", arguments->prompt,
                               "The text to continue; without it, at a "
                               "terminal, each line that you type"))
      ->type_name("PROMPT");
  wantPath(command->add_option("--key-file", arguments->keyFile,
                               "A file whose first line is the server's key"))
      ->type_name("FILE");
  addWritingOptions(*command, *arguments);
  command->footer(
      "Example:\n  hocket ask http://127.0.0.1:8000 --prompt \"Once "
      "upon a time\" --tokens 100");
  command->callback([arguments, &result] { result = run(*arguments); });
}
