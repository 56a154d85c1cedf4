//===- TokenFilePair.h - The two files while they are written ---*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The pair of files that IndexedDataset.h describes, as bytes: tokens are
/// appended to one, a header and then numbers to the other. Both appear when
/// finish() returns, or neither.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_TOKENFILEPAIR_H
#define HOCKET_RUNTIME_DATA_TOKENFILEPAIR_H

#include "base/File.h"
#include "runtime/data/IndexedDataset.h"

#include <string>
#include <string_view>

namespace hocket::data {

class TokenFilePair {
public:
  static StatusOr<TokenFilePair> create(const std::string &prefix);

  /// Appends to the .bin.
  Status appendTokens(std::string_view bytes) { return bin.append(bytes); }

  /// Begins the .idx. Then follow the three tables.
  Status putHeader(TokenType type, uint64_t sequences, uint64_t documents);

  /// Appends a number of a table to the .idx, in large chunks.
  template <typename T> Status put(T value) {
    pending.append(reinterpret_cast<const char *>(&value), sizeof(T));
    return pending.size() < (1 << 20) ? okStatus() : flush();
  }

  /// Replaces whatever had these names.
  Status finish();

private:
  TokenFilePair(std::string prefix, AtomicFile bin, AtomicFile index)
      : prefix(std::move(prefix)), bin(std::move(bin)),
        index(std::move(index)) {}
  Status flush();

  std::string prefix;
  AtomicFile bin, index;
  std::string pending; ///< Of the .idx.
};

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_TOKENFILEPAIR_H
