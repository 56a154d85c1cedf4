//===- Answers.h - What answers with texts have alike -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_SERVE_ANSWERS_H
#define HOCKET_RUNTIME_SERVE_ANSWERS_H

#include "runtime/serve/Questions.h"

#include <nlohmann/json.hpp>
#include <string>

namespace hocket::serve {

/// The bytes of a token by itself, special ones too.
std::string bytesOf(const tokenizer::Tokenizer &tokenizer, int32_t token);

/// A token as a text of its own. Half a character is written as the vocabulary
/// has it or, where that is no text either, as OpenAI does: "bytes:\xe2\x96".
std::string pieceOf(const tokenizer::Tokenizer &tokenizer, int32_t token);

/// What was written for a question, up to a stop string.
std::string writtenText(const Question &question,
                        const inference::GeneratedText &text,
                        const tokenizer::Tokenizer &tokenizer);

/// OpenAI's "finish_reason".
const char *reasonOf(inference::Finish finish);

/// The members that an answer begins with; its id is `prefix` and the request's
/// number.
nlohmann::ordered_json answerHead(const std::string &prefix,
                                  const std::string &object,
                                  const ServedModel &model, uint64_t number);

/// OpenAI's "usage", of a prompt that all its choices share.
nlohmann::ordered_json usageOf(const Completion &completion, uint64_t written);

/// An answer with `choices` behind its head: all of it but the usage.
nlohmann::ordered_json withChoices(nlohmann::ordered_json head,
                                   nlohmann::ordered_json choices);

/// Turns events into what a stream says of them, in the order they come.
class AnswerStream {
public:
  virtual ~AnswerStream();

  /// `data:` parts of an event stream, or "" where nothing can be said yet.
  std::string add(const Event &event);
  /// What stands behind the last event.
  std::string end() const;

protected:
  /// `completion` outlives the stream; `head` begins each part.
  AnswerStream(const Completion &completion, nlohmann::ordered_json head)
      : completion(completion), head(std::move(head)) {}

  virtual std::string say(const Event &event) = 0;
  std::string part(nlohmann::ordered_json choice) const;

  const Completion &completion;

private:
  const nlohmann::ordered_json head;
  uint64_t written = 0;
};

} // namespace hocket::serve

#endif // HOCKET_RUNTIME_SERVE_ANSWERS_H
