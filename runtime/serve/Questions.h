//===- Questions.h - What requests for texts have alike ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_SERVE_QUESTIONS_H
#define HOCKET_RUNTIME_SERVE_QUESTIONS_H

#include "runtime/inference/GenerationConfig.h"
#include "runtime/serve/Engine.h"
#include "runtime/serve/RequestFields.h"

#include <memory>
#include <string>
#include <vector>

namespace hocket::serve {

class ChatFormat;

/// The model that is served.
struct ServedModel {
  std::string name;
  std::shared_ptr<const program::Program> program;
  std::shared_ptr<const tokenizer::Tokenizer> tokenizer;
  int64_t created = 0;            ///< Seconds since 1970.
  std::vector<int32_t> ends = {}; ///< Where its texts end (EndTokens.h).
  /// What requests do not say of how to write (GenerationConfig.h).
  inference::WritingChoices defaults = {};
  uint64_t mostTexts = 1024; ///< That are asked for at a time.
  /// Of its conversations; null where there is none, and then why.
  std::shared_ptr<const ChatFormat> chat = {};
  std::string whyNoChat = {};

  /// What a prompt's text is to the model: at least one token, or an error.
  StatusOr<std::vector<int32_t>> tokensOf(const std::string &text) const;
};

/// What a request asks for: of each prompt `choices` texts, one after another.
struct Completion {
  std::vector<Question> questions;
  uint64_t choices = 1;
  bool streams = false;
  bool tellsUsage = false;  ///< At the end of a stream.
  bool echoes = false;      ///< The prompt stands before what is written.
  bool hasLogProbs = false; ///< Of each token.
};

/// Prompts of a request, texts of a prompt.
inline constexpr uint64_t mostQuestions = 1024;
/// Tokens that a field may ask for: beyond this a request is a mistake.
inline constexpr uint64_t mostTokens = mostQuestions << 10;
/// Of the likeliest tokens at a place.
inline constexpr uint64_t mostLikeliest = 20;

uint64_t randomSeed();

/// Reads the fields that OpenAI's requests have alike, but for "max_tokens" and
/// "logprobs": how to write, how many texts, where they end, whether as a
/// stream. InvalidArgument, naming the field; NotFound for another model's
/// name.
Status readWriting(RequestFields &fields, Completion &completion,
                   Question &question, const ServedModel &model);

/// Adds `completion.choices` questions like `question`, whose prompt it has.
/// InvalidArgument if the model cannot take it, or `countName`, the field that
/// says how many tokens to write, asks for more than there is room for. Where
/// no field says it and the name is empty, texts end with the room.
Status addQuestions(Completion &completion, Question question,
                    const ServedModel &model, const std::string &countName);

/// InvalidArgument where prompts times choices are too many for any server,
/// ResourceExhausted where they are for this one.
Status checkCount(const Completion &completion, size_t prompts,
                  const ServedModel &model);

} // namespace hocket::serve

#endif // HOCKET_RUNTIME_SERVE_QUESTIONS_H
