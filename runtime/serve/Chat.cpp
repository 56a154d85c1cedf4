//===- Chat.cpp - Requests for answers ------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/Chat.h"

#include "runtime/inference/TextStream.h"
#include "runtime/serve/ChatFormat.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

using namespace hocket;
using namespace hocket::serve;
using namespace hocket::inference;
using nlohmann::json;
using nlohmann::ordered_json;

//===----------------------------------------------------------------------===//
// What is asked
//===----------------------------------------------------------------------===//

/// The field that says how many tokens to write; empty where there is none.
static StatusOr<std::string> readLength(RequestFields &fields,
                                        GenerateRequest &request) {
  std::string found;
  for (const char *name : {"max_tokens", "max_completion_tokens"}) {
    uint64_t tokens = 0;
    HOCKET_RETURN_IF_ERROR(fields.read(name, tokens, 0, mostTokens));
    if (!fields.find(name))
      continue;
    if (!found.empty() && tokens != request.tokens)
      return invalidArgument("'max_tokens' and 'max_completion_tokens' are not "
                             "the same");
    found = name;
    request.tokens = tokens;
  }
  return found;
}

static Status readLogProbs(RequestFields &fields, Completion &completion,
                           GenerateRequest &request) {
  HOCKET_RETURN_IF_ERROR(fields.read("logprobs", completion.hasLogProbs));
  HOCKET_RETURN_IF_ERROR(
      fields.read("top_logprobs", request.likeliest, 0, mostLikeliest));
  if (request.likeliest > 0 && !completion.hasLogProbs)
    return invalidArgument("'top_logprobs' wants 'logprobs' to be true");
  return okStatus();
}

StatusOr<Completion> serve::parseChat(std::string_view body,
                                      const ServedModel &model) {
  HOCKET_ASSIGN_OR_RETURN(RequestFields fields, RequestFields::parse(body));
  Completion completion;
  Question question;
  GenerateRequest &request = question.request;
  HOCKET_RETURN_IF_ERROR(readWriting(fields, completion, question, model));
  HOCKET_ASSIGN_OR_RETURN(std::string countName, readLength(fields, request));
  HOCKET_RETURN_IF_ERROR(readLogProbs(fields, completion, request));
  HOCKET_RETURN_IF_ERROR(fields.expect("response_format", {{"type", "text"}}));
  HOCKET_RETURN_IF_ERROR(checkCount(completion, 1, model));
  HOCKET_ASSIGN_OR_RETURN(ChatOptions options, readChatOptions(fields));
  // Before images are decoded.
  HOCKET_RETURN_IF_ERROR(fields.checkNoneLeft());
  HOCKET_RETURN_IF_ERROR(setPrompt(options, model, question));
  if (countName.empty())
    request.tokens =
        model.defaults.tokens.value_or(std::numeric_limits<uint64_t>::max());
  HOCKET_RETURN_IF_ERROR(
      addQuestions(completion, std::move(question), model, countName));
  return completion;
}

//===----------------------------------------------------------------------===//
// What is answered
//===----------------------------------------------------------------------===//

static ordered_json headOf(const ServedModel &model, uint64_t number,
                           const char *object) {
  return answerHead("chatcmpl-", object, model, number);
}

/// What is said of a token, with its bytes: not every token is a text.
static ordered_json sayOf(const TokenChoice &choice,
                          const tokenizer::Tokenizer &tokenizer) {
  ordered_json bytes = ordered_json::array();
  for (char c : bytesOf(tokenizer, choice.token))
    bytes.push_back(uint8_t(c));
  return {{"token", pieceOf(tokenizer, choice.token)},
          {"logprob", choice.logProbability},
          {"bytes", std::move(bytes)}};
}

static ordered_json logProbOf(const TokenChoice &token,
                              const std::vector<TokenChoice> &likeliest,
                              const tokenizer::Tokenizer &tokenizer) {
  ordered_json result = sayOf(token, tokenizer);
  ordered_json tops = ordered_json::array();
  for (const TokenChoice &choice : likeliest)
    tops.push_back(sayOf(choice, tokenizer));
  result["top_logprobs"] = std::move(tops);
  return result;
}

static ordered_json logProbsOf(const GeneratedText &text,
                               const tokenizer::Tokenizer &tokenizer) {
  ordered_json content = ordered_json::array();
  for (size_t i = 0; i < text.tokens.size(); ++i)
    content.push_back(logProbOf({text.tokens[i], text.logProbabilities[i]},
                                i < text.likeliest.size()
                                    ? text.likeliest[i]
                                    : std::vector<TokenChoice>(),
                                tokenizer));
  return {{"content", std::move(content)}};
}

ordered_json serve::chatJson(const Completion &completion,
                             const std::vector<GeneratedText> &texts,
                             const ServedModel &model, uint64_t number) {
  ordered_json choices = ordered_json::array();
  uint64_t written = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    written += texts[i].tokens.size();
    ordered_json message = {
        {"role", "assistant"},
        {"content",
         writtenText(completion.questions[i], texts[i], *model.tokenizer)}};
    choices.push_back({{"index", i},
                       {"message", std::move(message)},
                       {"logprobs", completion.hasLogProbs
                                        ? logProbsOf(texts[i], *model.tokenizer)
                                        : ordered_json(nullptr)},
                       {"finish_reason", reasonOf(texts[i].finish)}});
  }
  ordered_json result =
      withChoices(headOf(model, number, "chat.completion"), std::move(choices));
  result["usage"] = usageOf(completion, written);
  return result;
}

/// Parts of one text that streams.
struct ChatStream::Text {
  Text(const Question &question, const tokenizer::Tokenizer &tokenizer)
      : text(tokenizer, question.request.prompt.back(), question.stops) {}
  TextStream text;
  ordered_json logProbs = ordered_json::array(); ///< Since the last part.
};

ChatStream::ChatStream(const Completion &completion, const ServedModel &model,
                       uint64_t number)
    : AnswerStream(completion, headOf(model, number, "chat.completion.chunk")),
      model(model), texts(completion.questions.size()) {}

ChatStream::~ChatStream() = default;

std::string ChatStream::partOf(size_t index, ordered_json delta,
                               const char *finish) {
  ordered_json logProbs = nullptr;
  if (!texts[index]->logProbs.empty())
    logProbs["content"] =
        std::exchange(texts[index]->logProbs, ordered_json::array());
  return part({{"index", index},
               {"delta", std::move(delta)},
               {"logprobs", std::move(logProbs)},
               {"finish_reason",
                finish ? ordered_json(finish) : ordered_json(nullptr)}});
}

std::string ChatStream::say(const Event &event) {
  std::string said;
  auto &text = texts[event.index];
  if (!text) {
    text = std::make_unique<Text>(completion.questions[event.index],
                                  *model.tokenizer);
    said =
        partOf(event.index, {{"role", "assistant"}, {"content", ""}}, nullptr);
  }
  auto deltaOf = [](std::string more) {
    ordered_json delta = ordered_json::object();
    if (!more.empty())
      delta["content"] = std::move(more);
    return delta;
  };
  if (event.text)
    return said + partOf(event.index, deltaOf(text->text.finish()),
                         reasonOf(event.text->finish));
  if (completion.hasLogProbs)
    text->logProbs.push_back(
        logProbOf(event.token, event.token.likeliest, *model.tokenizer));
  std::string more = text->text.add(event.token.token);
  return more.empty()
             ? said
             : said + partOf(event.index, deltaOf(std::move(more)), nullptr);
}
