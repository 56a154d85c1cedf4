//===- GenerationConfig.h - How a model's files have it write ---*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_INFERENCE_GENERATIONCONFIG_H
#define HOCKET_RUNTIME_INFERENCE_GENERATIONCONFIG_H

#include "runtime/inference/Sampling.h"

#include <optional>
#include <string>
#include <vector>

namespace hocket::inference {

/// How to write, as far as somebody has said it.
struct WritingChoices {
  std::optional<double> temperature; ///< As those of SamplingOptions.
  std::optional<uint64_t> topK;
  std::optional<double> topP, minP, repetitionPenalty;
  std::optional<uint64_t> tokens;                ///< The most for a prompt.
  std::optional<std::vector<std::string>> stops; ///< Texts to end before.

  /// `options`, but for what was said.
  SamplingOptions over(SamplingOptions options) const;

  /// These, and where they say nothing those of `others`.
  WritingChoices orElse(const WritingChoices &others) const;
};

/// What a model's generation_config.json says of how to write, which
/// `generate` of transformers takes for what its caller has not said. Where
/// texts end is in EndTokens.h.
struct GenerationConfig {
  std::string path; ///< Of the file; empty if there is none.
  /// "temperature", "top_k", "top_p", "min_p", "repetition_penalty",
  /// "max_new_tokens" and "stop_strings"; "do_sample": false is temperature 0.
  WritingChoices choices;
  /// What else changes a text there, by name, in the file's alphabetical order.
  std::vector<std::string> unused;

  /// What to tell a user who has said `given`: which defaults count, and what
  /// is not used. A line each, or none.
  std::vector<std::string> notes(const WritingChoices &given) const;
};

/// Of the folder in which `tokenizerPath` is, or which it is. InvalidArgument,
/// with the place in the file, for a value that nobody can write with.
StatusOr<GenerationConfig>
readGenerationConfig(const std::string &tokenizerPath);

} // namespace hocket::inference

#endif // HOCKET_RUNTIME_INFERENCE_GENERATIONCONFIG_H
