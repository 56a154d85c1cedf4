//===- Train.h - A vocabulary for a text ------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Makes a byte-level BPE of the words of a corpus: again and again the most
/// frequent pair of neighbours becomes a token; of equally frequent pairs that
/// of the lesser numbers, so that the result depends on the counts alone.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOKENIZER_TRAIN_H
#define HOCKET_RUNTIME_TOKENIZER_TRAIN_H

#include "base/Status.h"
#include "runtime/tokenizer/text/WordSplitter.h"

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace hocket::tokenizer {

/// How often each word occurs.
using WordCounts = std::unordered_map<std::string, uint64_t>;

struct TrainOptions {
  uint64_t vocabularySize = 0;      ///< Bytes and special tokens included.
  uint64_t leastFrequency = 2;      ///< Of a pair that becomes a token.
  std::vector<std::string> special; ///< Numbered behind all others.
};

struct TrainedBytePairs {
  struct Merge {
    int32_t left, right;
  };
  /// The bytes of each token: single bytes in the order of the characters that
  /// stand for them, then what the merges made.
  std::vector<std::string> tokens;
  std::vector<Merge> merges;
  std::vector<std::string> special;
};

/// InvalidArgument if the vocabulary has no room for the bytes and special
/// tokens. Fewer tokens than asked for are made where no pair is left. The
/// first argument of `progress` is how many tokens there are. Memory: the
/// words, 4 bytes for each of their bytes, and about 50 for each pair.
StatusOr<TrainedBytePairs>
trainBytePairs(const WordCounts &words, const TrainOptions &options,
               const std::function<void(uint64_t)> &progress = {});

/// The files of a folder, complete, as Hugging Face's libraries read them.
struct TokenizerFiles {
  std::string tokenizerJson, vocabularyJson, mergesText;
};
TokenizerFiles filesOf(const TrainedBytePairs &trained, WordPattern pattern);

} // namespace hocket::tokenizer

#endif // HOCKET_RUNTIME_TOKENIZER_TRAIN_H
