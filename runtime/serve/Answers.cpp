//===- Answers.cpp - What answers with texts have alike -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/Answers.h"

#include "base/Format.h"
#include "base/json/JsonDefect.h"
#include "base/json/JsonLines.h"
#include "runtime/inference/Stops.h"

#include <ctime>

using namespace hocket;
using namespace hocket::serve;
using namespace hocket::inference;
using nlohmann::ordered_json;
using tokenizer::SpecialTokens;

std::string serve::bytesOf(const tokenizer::Tokenizer &tokenizer,
                           int32_t token) {
  std::string text = tokenizer.decode({&token, 1}, SpecialTokens::Shown);
  bool isWord =
      tokenizer.tokenText(token).value_or("").starts_with("\xe2\x96\x81");
  return isWord && !text.starts_with(' ') ? " " + text : text;
}

static bool isWholeText(std::string_view text) {
  return findInvalidUtf8(text) == text.size() &&
         text.find("\xef\xbf\xbd") == text.npos;
}

std::string serve::pieceOf(const tokenizer::Tokenizer &tokenizer,
                           int32_t token) {
  std::string text = bytesOf(tokenizer, token);
  if (isWholeText(text))
    return text;
  std::string own = tokenizer.tokenText(token).value_or("");
  if (!own.empty() && isWholeText(own))
    return own;
  std::string bytes = "bytes:";
  for (char c : text)
    bytes += formatText("\\x%02x", unsigned(uint8_t(c)));
  return bytes;
}

std::string serve::writtenText(const Question &question,
                               const GeneratedText &text,
                               const tokenizer::Tokenizer &tokenizer) {
  return textBeforeStop(tokenizer, question.request.prompt.back(), text.tokens,
                        question.stops);
}

const char *serve::reasonOf(Finish finish) {
  return finish == Finish::Ended ? "stop" : "length";
}

ordered_json serve::answerHead(const std::string &prefix,
                               const std::string &object,
                               const ServedModel &model, uint64_t number) {
  return {{"id", prefix + formatText("%llu", wide(number))},
          {"object", object},
          {"created", std::time(nullptr)},
          {"model", model.name}};
}

ordered_json serve::usageOf(const Completion &completion, uint64_t written) {
  uint64_t prompts = 0;
  for (size_t i = 0; i < completion.questions.size(); i += completion.choices)
    prompts += completion.questions[i].request.prompt.size();
  return {{"prompt_tokens", prompts},
          {"completion_tokens", written},
          {"total_tokens", prompts + written}};
}

ordered_json serve::withChoices(ordered_json head, ordered_json choices) {
  head["choices"] = std::move(choices);
  return head;
}

AnswerStream::~AnswerStream() = default;

static std::string dataOf(const ordered_json &value) {
  return "data: " + toJsonText(value) + "\n\n";
}

std::string AnswerStream::part(ordered_json choice) const {
  return dataOf(withChoices(head, ordered_json::array({std::move(choice)})));
}

std::string AnswerStream::add(const Event &event) {
  if (event.text)
    written += event.text->tokens.size();
  return say(event);
}

std::string AnswerStream::end() const {
  std::string result;
  if (completion.tellsUsage) {
    ordered_json last = withChoices(head, ordered_json::array());
    last["usage"] = usageOf(completion, written);
    result = dataOf(last);
  }
  return result + "data: [DONE]\n\n";
}
