//===- AskCommand.cpp - hocket ask ----------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/AskCommand.h"

#include "base/Base64.h"
#include "base/File.h"
#include "base/json/JsonLines.h"
#include "base/json/JsonObject.h"
#include "runtime/data/images/Image.h"
#include "runtime/serve/HttpClient.h"
#include "runtime/tools/WritingOptions.h"
#include "runtime/tools/command_line/KeyFile.h"
#include "runtime/tools/command_line/LineEditor.h"
#include "runtime/tools/command_line/OptionValues.h"

#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

using namespace hocket;
using namespace hocket::serve;
using nlohmann::json;
using nlohmann::ordered_json;

namespace {

struct AskArguments : WritingOptions {
  std::string url, keyFile, system;
  std::optional<std::string> prompt;
  bool chat = false;
  std::vector<std::string> images; ///< Of the first message.
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

  /// What was printed behind the prompt.
  const std::string &text() const { return said; }

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
      for (const char *path : {"/text", "/delta/content"})
        if (json::json_pointer at(path); choice.is_object() &&
                                         choice.contains(at) &&
                                         choice[at].is_string()) {
          said += choice[at].get<std::string>();
          std::cout << choice[at].get<std::string>() << std::flush;
        }
  }

  std::string prompt, pending, error, said;
  bool isWhole = false;
};

} // namespace

/// `asked` is what is asked, "prompt" or "messages".
static std::string requestOf(const AskArguments &arguments,
                             ordered_json asked) {
  inference::WritingChoices choices = arguments.choices();
  ordered_json request = std::move(asked);
  // Of completions a server would write 16 tokens.
  request.update({{"max_tokens", choices.tokens.value_or(usualTokens)},
                  {"seed", arguments.seed},
                  {"ignore_eos", arguments.ignoreEnd},
                  {"stream", true}});
  // The rest is the server's to say.
  auto add = [&](const char *name, const auto &choice) {
    if (choice)
      request[name] = *choice;
  };
  add("temperature", choices.temperature);
  add("top_k", choices.topK);
  add("top_p", choices.topP);
  add("min_p", choices.minP);
  add("repetition_penalty", choices.repetitionPenalty);
  add("stop", choices.stops);
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

namespace {

/// A server, and how it is asked.
class Asker {
public:
  Asker(HttpAddress address, const AskArguments &arguments, std::string key)
      : address(std::move(address)), arguments(arguments), key(std::move(key)) {
  }

  /// Prints what the server writes behind `shown`, and returns it.
  StatusOr<std::string> ask(const std::string &path, ordered_json asked,
                            const std::string &shown = "") {
    StreamPrinter printer(shown);
    HOCKET_ASSIGN_OR_RETURN(
        HttpAnswer answer,
        post(address, path, requestOf(arguments, std::move(asked)), key,
             [&](std::string_view piece) { printer.add(piece); }));
    if (answer.status != 200)
      return refusalOf(answer);
    HOCKET_RETURN_IF_ERROR(printer.finish());
    return printer.text();
  }

private:
  const HttpAddress address;
  const AskArguments &arguments;
  const std::string key;
};

/// What was said so far. Each answer is to all of it.
class Conversation {
public:
  static StatusOr<Conversation> begin(const AskArguments &arguments) {
    Conversation conversation;
    if (!arguments.system.empty())
      conversation.add("system", arguments.system);
    for (const std::string &file : arguments.images) {
      HOCKET_ASSIGN_OR_RETURN(std::string url, urlOf(file));
      conversation.images.push_back(
          {{"type", "image_url"}, {"image_url", {{"url", std::move(url)}}}});
    }
    return conversation;
  }

  /// Says `text`, behind the images if there are any left to show. What is
  /// refused was not said.
  Status say(const std::string &text, Asker &asker) {
    Conversation next = *this;
    ordered_json parts = std::exchange(next.images, ordered_json::array());
    if (parts.empty()) {
      next.add("user", text);
    } else {
      parts.push_back({{"type", "text"}, {"text", text}});
      next.add("user", std::move(parts));
    }
    HOCKET_ASSIGN_OR_RETURN(
        std::string answer,
        asker.ask("/v1/chat/completions", {{"messages", next.messages}}));
    next.add("assistant", answer);
    *this = std::move(next);
    return okStatus();
  }

private:
  void add(const char *role, ordered_json content) {
    messages.push_back({{"role", role}, {"content", std::move(content)}});
  }

  /// The file itself, as a server takes it that fetches nothing.
  static StatusOr<std::string> urlOf(const std::string &file) {
    HOCKET_ASSIGN_OR_RETURN(std::string bytes,
                            readFile(file, data::ImageLimits().fileBytes));
    const char *kind = bytes.starts_with("\x89PNG")        ? "png"
                       : bytes.starts_with("\xff\xd8\xff") ? "jpeg"
                                                           : nullptr;
    if (!kind)
      return invalidArgument(file + ": expected a PNG or JPEG file");
    return std::string("data:image/") + kind + ";base64," + encodeBase64(bytes);
  }

  ordered_json messages = ordered_json::array();
  ordered_json images = ordered_json::array(); ///< Not shown yet.
};

} // namespace

/// Has `say` answer each line that is typed.
static void
answerLines(const std::function<Status(const std::string &line)> &say) {
  while (auto line = readLine("> ", [] { return false; })) {
    if (line->empty())
      continue;
    Status status = say(*line);
    std::cout << std::endl;
    if (!status.ok())
      std::cerr << status.message() << std::endl;
  }
  std::cout << std::endl;
}

static Status run(const AskArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(HttpAddress address,
                          HttpAddress::parse(arguments.url));
  std::string key;
  if (!arguments.keyFile.empty()) {
    HOCKET_ASSIGN_OR_RETURN(key, readKey(arguments.keyFile));
  }
  HOCKET_ASSIGN_OR_RETURN(Conversation conversation,
                          Conversation::begin(arguments));
  Asker asker(std::move(address), arguments, std::move(key));
  auto say = [&](const std::string &text) -> Status {
    if (arguments.chat)
      return conversation.say(text, asker);
    // Of a single prompt all of its text is shown.
    return asker
        .ask("/v1/completions", {{"prompt", text}},
             arguments.prompt.value_or(""))
        .status();
  };
  if (arguments.prompt) {
    HOCKET_RETURN_IF_ERROR(say(*arguments.prompt));
    std::cout << std::endl;
    return okStatus();
  }
  if (!isConversation())
    return invalidArgument(
        "nothing to go on from: give --prompt PROMPT, or ask "
        "from a terminal");
  answerLines(say);
  return okStatus();
}

static void addChat(CLI::App &command, AskArguments &arguments) {
  CLI::Option *chat = command.add_flag(
      "--chat", arguments.chat,
      "Talk to the model, by /v1/chat/completions: what you type is a message, "
      "and each answer is to the whole conversation");
  wantSomeText(command.add_option("--system", arguments.system,
                                  "The message that a conversation begins "
                                  "with, of the role \"system\""))
      ->type_name("MESSAGE")
      ->needs(chat);
  wantPath(command.add_option("--image", arguments.images,
                              "An image (PNG or JPEG) that the first message "
                              "is about; may be given several times"))
      ->type_name("FILE")
      ->needs(chat)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void hocket::registerAsk(CLI::App &app, Status &result) {
  auto arguments = std::make_shared<AskArguments>();
  CLI::App *command = addCommand(app, "ask", "Generate text through a server");
  command
      ->add_option("URL", arguments->url,
                   "Where `hocket serve`, or another server with OpenAI's "
                   "API, listens: http://HOST:PORT")
      ->required();
  wantText(command->add_option("--prompt", arguments->prompt,
                               "The text to continue; without it, at a "
                               "terminal, each line that you type"))
      ->type_name("PROMPT");
  addChat(*command, *arguments);
  wantPath(command->add_option("--key-file", arguments->keyFile,
                               "A file whose first line is the server's key"))
      ->type_name("FILE");
  addWritingOptions(*command, *arguments, std::to_string(usualTokens));
  command->footer(
      "Example:\n"
      "  hocket ask http://127.0.0.1:8000 --prompt \"Once upon a time\" "
      "--tokens 100\n"
      "  hocket ask http://127.0.0.1:8000 --chat --image cat.jpg --prompt "
      "\"What is it?\"");
  command->callback([arguments, &result] { result = run(*arguments); });
}
