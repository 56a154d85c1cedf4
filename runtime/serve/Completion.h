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

#include "runtime/serve/Answers.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::serve {

/// InvalidArgument, naming the field; NotFound for another model's name.
StatusOr<Completion> parseCompletion(std::string_view body,
                                     const ServedModel &model);

/// The whole answer; `texts` are those of the questions, `number` is the
/// request's.
nlohmann::ordered_json
completionJson(const Completion &completion,
               const std::vector<inference::GeneratedText> &texts,
               const ServedModel &model, uint64_t number);

/// The same as a stream.
class CompletionStream final : public AnswerStream {
public:
  /// All outlive the stream.
  CompletionStream(const Completion &completion, const ServedModel &model,
                   uint64_t number);
  ~CompletionStream() override;

private:
  struct Text;
  std::string say(const Event &event) override;
  std::string partOf(size_t index, const std::string &text, const char *finish);

  const ServedModel &model;
  std::vector<std::unique_ptr<Text>> texts;
};

/// Megatron's. `tokens_to_generate` 0 asks about the prompts alone.
StatusOr<Completion> parseMegatron(std::string_view body,
                                   const ServedModel &model);
nlohmann::ordered_json
megatronJson(const Completion &completion,
             const std::vector<inference::GeneratedText> &texts,
             const ServedModel &model);

/// {"prompt": TEXT}, or "messages" as a chat has them; and {"tokens": [...]}.
StatusOr<nlohmann::ordered_json> tokenizeJson(std::string_view body,
                                              const ServedModel &model);
StatusOr<nlohmann::ordered_json> detokenizeJson(std::string_view body,
                                                const ServedModel &model);

} // namespace hocket::serve

#endif // HOCKET_RUNTIME_SERVE_COMPLETION_H
