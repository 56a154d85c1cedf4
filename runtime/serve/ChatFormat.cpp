//===- ChatFormat.cpp - Conversations as prompts --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/ChatFormat.h"

#include "runtime/serve/Messages.h"

#include <algorithm>
#include <nlohmann/json.hpp>

using namespace hocket;
using namespace hocket::serve;
using nlohmann::json;

StatusOr<ChatFormat> ChatFormat::open(const std::string &folder,
                                      const std::string &path,
                                      const tokenizer::Tokenizer &tokenizer) {
  HOCKET_ASSIGN_OR_RETURN(chat::ChatTemplate form,
                          chat::openChatTemplate(folder, path));
  if (!tokenizer.findsSpecialTokens() && tokenizer.name() != "byte")
    return invalidArgument(
        folder + ": a " + tokenizer.name() +
        " tokenizer finds no special tokens in what a chat template makes; use "
        "the model's tokenizer.json");
  return ChatFormat(std::move(form));
}

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

/// Variables of a template, which are no lists or objects.
static StatusOr<chat::Members> readVariables(const json &object) {
  const std::string name = "'chat_template_kwargs'";
  chat::Members variables;
  constexpr size_t most = 64; // A template looks through them.
  if (!object.is_object() || object.size() > most)
    return invalidArgument(name + " is an object of at most " +
                           std::to_string(most) + " variables");
  for (const auto &[key, value] : object.items()) {
    if (key == "messages" || key == "add_generation_prompt" || key == "tools" ||
        key == "documents")
      return invalidArgument(name + " cannot have '" + key + "'");
    if (value.is_string())
      variables.emplace_back(key, chat::Value(value.get<std::string>()));
    else if (value.is_boolean())
      variables.emplace_back(key, chat::Value(value.get<bool>()));
    else if (value.is_number_integer())
      variables.emplace_back(key, chat::Value(value.get<int64_t>()));
    else if (value.is_number())
      variables.emplace_back(key, chat::Value(value.get<double>()));
    else
      return invalidArgument(name + ": '" + key +
                             "' is a text, a number, true or false");
  }
  return variables;
}

StatusOr<ChatOptions> serve::readChatOptions(RequestFields &fields) {
  ChatOptions options;
  HOCKET_RETURN_IF_ERROR(fields.require("messages"));
  options.messages = fields.find("messages");
  HOCKET_RETURN_IF_ERROR(
      fields.read("add_generation_prompt", options.addsPrompt));
  HOCKET_RETURN_IF_ERROR(
      fields.read("continue_final_message", options.continues));
  // Who says nothing of the first wants it no longer.
  if (options.continues && !fields.find("add_generation_prompt"))
    options.addsPrompt = false;
  if (options.continues && options.addsPrompt)
    return invalidArgument("'continue_final_message' and "
                           "'add_generation_prompt' cannot both be true");
  if (fields.find("add_special_tokens")) {
    bool adds = false;
    HOCKET_RETURN_IF_ERROR(fields.read("add_special_tokens", adds));
    options.addsSpecial = adds;
  }
  if (const json *more = fields.find("chat_template_kwargs")) {
    HOCKET_ASSIGN_OR_RETURN(options.more, readVariables(*more));
  }
  HOCKET_RETURN_IF_ERROR(fields.expect("tools", json::array()));
  HOCKET_RETURN_IF_ERROR(fields.expect("tool_choice", "none"));
  return options;
}

//===----------------------------------------------------------------------===//
// Prompts
//===----------------------------------------------------------------------===//

/// What the template says, without the path of its file.
static Status refusalOf(const chat::ChatTemplate &form, const Status &status) {
  std::string message = status.message();
  if (message.starts_with(form.path()))
    message.replace(0, form.path().size(), "the chat template");
  return Status(status.code(), std::move(message));
}

/// Behind the text that is to be continued. Some templates strip its space.
static constexpr const char *continueTag = "\x02"
                                           "continue"
                                           "\x03 ";

/// What stands before the tag.
static StatusOr<std::string> beforeTag(std::string text) {
  std::string_view tag = continueTag;
  size_t at = text.rfind(tag.substr(0, tag.size() - 1));
  if (at == text.npos)
    return invalidArgument("'continue_final_message': the chat template does "
                           "not print the last message as it is");
  bool keepsSpace = std::string_view(text).substr(at).starts_with(tag);
  text.resize(at);
  if (!keepsSpace)
    text.resize(text.find_last_not_of(" \t\r\n") + 1);
  return text;
}

Status serve::setPrompt(const ChatOptions &options, const ServedModel &model,
                        Question &question) {
  if (!model.chat)
    return invalidArgument(model.whyNoChat);
  const ChatFormat &format = *model.chat;
  HOCKET_ASSIGN_OR_RETURN(Messages messages,
                          readMessages(*options.messages, model,
                                       options.continues ? continueTag : ""));
  StatusOr<chat::Rendered> rendered =
      format.form().render(messages.value, options.addsPrompt, options.more);
  if (!rendered.ok())
    return refusalOf(format.form(), rendered.status());
  std::string text = std::move(rendered->text);
  if (options.continues) {
    HOCKET_ASSIGN_OR_RETURN(text, beforeTag(std::move(text)));
  }
  bool addsSpecial =
      options.addsSpecial.value_or(format.form().wantsSpecialTokens(
          text, model.program->training().has_images()));
  inference::GenerateRequest &request = question.request;
  request.prompt =
      inference::promptOf(*model.program, *model.tokenizer, text,
                          addsSpecial ? inference::PromptForm::Plain
                                      : inference::PromptForm::Markup);
  if (request.prompt.empty())
    return invalidArgument("the chat template makes no token of 'messages'");
  HOCKET_RETURN_IF_ERROR(
      inference::expandImages(*model.program, messages.images.size(),
                              request.prompt)
          .withContext("what the chat template makes of 'messages'"));
  request.images = std::move(messages.images);
  return okStatus();
}
