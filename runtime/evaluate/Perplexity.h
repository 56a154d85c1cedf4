//===- Perplexity.h - How well a text is predicted --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_EVALUATE_PERPLEXITY_H
#define HOCKET_RUNTIME_EVALUATE_PERPLEXITY_H

#include "runtime/inference/Score.h"

#include <span>

namespace hocket::evaluate {

using inference::ScoreRequest;
using inference::Scores;

/// Every token of a text but the first, once. A window of `window` tokens sees
/// no further back than its own beginning; the next one begins `stride` tokens
/// later and is asked about those that no window before it was. So each token
/// but those of the first window has at least `window - stride` before it.
/// 1 <= stride <= window; fewer than two tokens make no request.
std::vector<ScoreRequest> slidingWindows(std::span<const int32_t> tokens,
                                         size_t window, size_t stride);

/// Sums over all that was asked about.
struct Likelihood {
  uint64_t tokens = 0;
  double logProbability = 0; ///< Natural.

  void add(const Scores &scores);

  double loss() const; ///< Mean negative log-likelihood; NaN of none.
  double perplexity() const;
  /// For each of `words` words: exp of the whole loss over them. Megatron-LM
  /// has the first word, like the first token, count for nothing; so has this.
  double wordPerplexity(uint64_t words) const;
};

Likelihood sumOf(const std::vector<Scores> &answers);

} // namespace hocket::evaluate

#endif // HOCKET_RUNTIME_EVALUATE_PERPLEXITY_H
