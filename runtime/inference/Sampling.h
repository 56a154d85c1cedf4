//===- Sampling.h - From logits to a token ----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The steps, their order and their names are those of Hugging Face's
/// generate(): repetition penalty, temperature, top-k, top-p, min-p, draw.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_INFERENCE_SAMPLING_H
#define HOCKET_RUNTIME_INFERENCE_SAMPLING_H

#include "base/Status.h"

#include <cstdint>
#include <span>
#include <vector>

namespace hocket::inference {

struct SamplingOptions {
  /// Logits are divided by it; 0: the likeliest token, of as likely ones the
  /// lowest.
  double temperature = 1;
  uint64_t topK = 0; ///< Of the k likeliest tokens; 0: of all.
  /// Of the fewest likeliest tokens whose probabilities reach p (Holtzman et
  /// al., 2020); 1: of all.
  double topP = 1;
  /// Of tokens at least so likely as this times the likeliest; 0: of all.
  double minP = 0;
  /// Logits of tokens that have occurred are divided by it, or multiplied where
  /// they are negative (Keskar et al., 2019); 1: not.
  double repetitionPenalty = 1;
  uint64_t seed = 1234;
};

/// InvalidArgument, with the option's name, for a number out of its range.
Status checkSampling(const SamplingOptions &options);

/// Random numbers that depend on their seed and place alone: the `index`th of
/// sequence `stream`, in [0, 1).
double randomAt(uint64_t seed, uint64_t stream, uint64_t index);

/// The probability of each token under `options`, given what has occurred; 0
/// for those that are cut off. `logits` are finite.
std::vector<double> probabilitiesOf(std::span<const float> logits,
                                    std::span<const int32_t> occurred,
                                    const SamplingOptions &options);

/// The token that `random`, in [0, 1), draws. DataLoss if a logit is no number.
StatusOr<int32_t> sampleToken(std::span<const float> logits,
                              std::span<const int32_t> occurred,
                              const SamplingOptions &options, double random);

} // namespace hocket::inference

#endif // HOCKET_RUNTIME_INFERENCE_SAMPLING_H
