//===- CorpusSummary.h - What token files hold ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `hocket data inspect`: how many documents and tokens a dataset has, and how
/// long its documents are. Reads the .idx alone. Memory: 8 bytes a document.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_TEXT_CORPUSSUMMARY_H
#define HOCKET_RUNTIME_DATA_TEXT_CORPUSSUMMARY_H

#include "runtime/data/ImageFile.h"
#include "runtime/data/IndexedDataset.h"
#include "runtime/data/LossMask.h"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hocket::data {

/// Documents of similar length: bucket 0 has the empty ones, bucket k those of
/// 2^(k-1) to 2^k - 1 tokens.
struct LengthBucket {
  uint64_t documents = 0;
  uint64_t tokens = 0;
  bool operator==(const LengthBucket &) const = default;
};

struct CorpusSummary {
  std::string prefix;
  TokenType type = TokenType::U16;
  uint64_t documents = 0, sequences = 0, tokens = 0;
  /// Tokens of documents: the least, and the least that 50, 90 and 99 percent
  /// of the documents do not exceed, and the greatest; 0 without documents.
  uint64_t shortest = 0, median = 0, p90 = 0, p99 = 0, longest = 0;
  std::array<LengthBucket, 65> buckets;
  std::optional<LossMaskHead> mask = {};    ///< Of conversations.
  std::optional<ImageFileHead> images = {}; ///< Of those with images.
  /// Of labelled texts the classes, and how many documents are of each.
  std::vector<std::pair<std::string, uint64_t>> classes = {};
};

/// Opens and checks the files and counts.
StatusOr<CorpusSummary> summarizeCorpus(const std::string &prefix);

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_TEXT_CORPUSSUMMARY_H
