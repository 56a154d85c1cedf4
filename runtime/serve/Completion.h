//===- Completion.h - Requests for text, and what answers them  -*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Two ways to ask for text, read from JSON into questions for the engine, and
/// the JSON of what has come of them:
///
///   OpenAI's `POST /v1/completions`, with the sampling fields that vLLM adds
///   (top_k, min_p, repetition_penalty, ignore_eos);
///   Megatron-LM's `PUT /api`.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_SERVE_COMPLETION_H
#define HOCKET_RUNTIME_SERVE_COMPLETION_H

#include "runtime/serve/Engine.h"

#include <nlohmann/json_fwd.hpp>

namespace hocket::serve {

/// The model that is served.
struct ServedModel {
  std::string name;
  std::shared_ptr<const program::Program> program;
  std::shared_ptr<const tokenizer::Tokenizer> tokenizer;
  int64_t created = 0; ///< Seconds since 1970.

  /// What a prompt's text is to the model: at least one token, or an error.
  StatusOr<std::vector<int32_t>> tokensOf(const std::string &text) const;
};

/// What a request asks for: of each prompt `choices` texts, one after another.
struct Completion {
  std::vector<Question> questions;
  uint64_t choices = 1;
  bool streams = false;
  bool echoes = false;      ///< The prompt stands before what is written.
  bool hasLogProbs = false; ///< Of each token.
};

/// InvalidArgument, naming the field; NotFound for another model's name.
StatusOr<Completion> parseCompletion(std::string_view body,
                                     const ServedModel &model);

/// The whole answer; `texts` are those of the questions, `number` is the
/// request's.
nlohmann::ordered_json
completionJson(const Completion &completion,
               const std::vector<inference::GeneratedText> &texts,
               const ServedModel &model, uint64_t number);

/// Turns events into what a stream says of them, in the order they come.
class CompletionStream {
public:
  /// All outlive the stream.
  CompletionStream(const Completion &completion, const ServedModel &model,
                   uint64_t number);
  ~CompletionStream();

  /// One `data:` part of an event stream, or "" where nothing can be said yet.
  std::string add(const Event &event);
  static std::string end() { return "data: [DONE]\n\n"; }

private:
  struct Text;
  std::string part(size_t index, const std::string &text, const char *finish);

  const Completion &completion;
  const ServedModel &model;
  const uint64_t number;
  std::vector<std::unique_ptr<Text>> texts;
};

/// Megatron's. `tokens_to_generate` 0 asks about the prompts alone.
StatusOr<Completion> parseMegatron(std::string_view body,
                                   const ServedModel &model);
nlohmann::ordered_json
megatronJson(const Completion &completion,
             const std::vector<inference::GeneratedText> &texts,
             const ServedModel &model);

/// {"prompt": TEXT} and {"tokens": [...]}.
StatusOr<nlohmann::ordered_json> tokenizeJson(std::string_view body,
                                              const ServedModel &model);
StatusOr<nlohmann::ordered_json> detokenizeJson(std::string_view body,
                                                const ServedModel &model);

} // namespace hocket::serve

#endif // HOCKET_RUNTIME_SERVE_COMPLETION_H
