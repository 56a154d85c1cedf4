//===- Lambada.h - The last word of a passage -------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_EVALUATE_LAMBADA_H
#define HOCKET_RUNTIME_EVALUATE_LAMBADA_H

#include "runtime/inference/Score.h"
#include "runtime/tokenizer/Tokenizer.h"

#include <string>

namespace hocket::evaluate {

/// What counts as the last word (Paperno et al., 2016), as Megatron-LM has it.
enum class LastWord {
  Token, ///< The last token of the text, whatever it is part of.
  Whole, ///< The last word, with a space before it, all of its tokens.
};

/// The passages of a file of JSON lines, each with a "text". InvalidArgument,
/// with file and line, for anything else.
StatusOr<std::vector<std::string>> readPassages(const std::string &path);

/// A request for the last word of each passage. Of one longer than `longest`
/// the beginning is cut off, and `shortened` counts it.
StatusOr<std::vector<inference::ScoreRequest>>
lambadaRequests(const std::vector<std::string> &passages, LastWord last,
                const tokenizer::Tokenizer &tokenizer, size_t longest,
                uint64_t &shortened);

struct LambadaFigures {
  uint64_t passages = 0;
  uint64_t right = 0; ///< Every token of the last word is the likeliest.
  uint64_t tokens = 0;
  double logProbability = 0; ///< Of all last words.

  double accuracy() const { return double(right) / double(passages); }
  double perplexity() const; ///< By last word.
};

LambadaFigures judgeLambada(const std::vector<inference::Scores> &answers);

} // namespace hocket::evaluate

#endif // HOCKET_RUNTIME_EVALUATE_LAMBADA_H
