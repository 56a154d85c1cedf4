//===- TokenExtremes.h - The largest token of a file ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Whether a file fits a vocabulary follows from its least and its greatest
/// token, which one pass over the file finds for all vocabularies.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_TOKENEXTREMES_H
#define HOCKET_RUNTIME_DATA_TOKENEXTREMES_H

#include "runtime/data/IndexedDataset.h"

#include <functional>
#include <optional>

namespace hocket::data {

/// A token and its first place in a file.
struct PlacedToken {
  int64_t token = 0;
  uint64_t sequence = 0;
  uint64_t position = 0; ///< Within the sequence, from 0.
  bool operator==(const PlacedToken &) const = default;
};

struct TokenExtremes {
  PlacedToken least, greatest;
  bool operator==(const TokenExtremes &) const = default;
};

/// Told how many bytes of how many are read, by one thread at a time; whether
/// to go on.
using ScanProgress = std::function<bool(uint64_t done, uint64_t all)>;

/// Whether a token of this type can lie outside [0, vocabularySize).
bool canLeaveVocabulary(TokenType type, uint64_t vocabularySize);

/// Reads every token that a sequence has, on several threads and without
/// mapping the file. Nothing for a file without tokens; Unavailable if
/// `progress` says no; DataLoss if the .bin has become shorter.
StatusOr<std::optional<TokenExtremes>>
findTokenExtremes(const IndexedDataset &file, const ScanProgress &progress);

/// DataLoss that names file, sequence, position and token if one of the
/// extremes of PREFIX.bin is not in [0, vocabularySize).
Status checkVocabulary(const std::string &prefix, const TokenExtremes &extremes,
                       uint64_t vocabularySize);

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_TOKENEXTREMES_H
