//===- SentenceMapping.h - Samples of whole sentences -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which sentences a sample of an encoder is made of. It is Megatron-LM's
/// mapping for BERT, number for number, so that a run here sees the same
/// samples in the same order as a run there with the same seed: a document's
/// sentences are taken in order until a sample has its target length, which is
/// the longest, or, one time in so many, a random one; no sample spans two
/// documents. Samples of all epochs are shuffled together.
///
/// Worked example: a document of sentences of 4, 5, 3 and 6 tokens, samples of
/// two sentences at least and a target of 8 tokens gives the samples [0, 2) and
/// [2, 4). One of sentences of 4, 5 and 3 gives [0, 3): a sample is not ended
/// where a single sentence would be left behind.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_SAMPLES_SENTENCEMAPPING_H
#define HOCKET_RUNTIME_DATA_SAMPLES_SENTENCEMAPPING_H

#include "base/Status.h"

#include <cstdint>
#include <span>
#include <vector>

namespace hocket::data {

/// Sentences [first, end) of the file, cut to `target` tokens.
struct SentenceSample {
  uint32_t first, end, target;
  bool operator==(const SentenceSample &) const = default;
};

struct SentenceMappingRequest {
  /// Tokens of every sentence of the file.
  std::span<const int32_t> lengths;
  /// The first sentence of each document that is used, and the end of the last.
  std::span<const uint64_t> documents;
  uint64_t samples = 0;        ///< Epochs are added until there are so many;
                               ///< 0: one epoch.
  uint32_t longest = 0;        ///< Tokens of a sample, at least 2.
  double shortProbability = 0; ///< Of a random target.
  uint64_t leastSentences = 1; ///< Of a sample, and so of a document.
  uint32_t seed = 0;
};

/// Documents with several sentences, one of them longer than this, are left
/// out.
inline constexpr int32_t longSentence = 512;

/// InvalidArgument if no document is fit for a sample; ResourceExhausted where
/// there are 2^32 samples or sentences.
StatusOr<std::vector<SentenceSample>>
mapSentences(const SentenceMappingRequest &request);

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_SAMPLES_SENTENCEMAPPING_H
