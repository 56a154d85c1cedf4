//===- TokenFileWriter.h - Writes Megatron's token files --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes the pair of files that IndexedDataset.h describes. An empty document
/// gets a bound and no sequence, as Megatron's preprocessing does. Both files
/// appear when finish() returns, or neither. Memory: 4 bytes a sequence.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_TOKENFILEWRITER_H
#define HOCKET_RUNTIME_DATA_TOKENFILEWRITER_H

#include "runtime/data/TokenFilePair.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::data {

class TokenFileWriter {
public:
  static StatusOr<TokenFileWriter> create(const std::string &prefix,
                                          TokenType type);

  /// Appends tokens to the .bin.
  Status append(std::string_view bytes) { return files.appendTokens(bytes); }

  /// Ends a sequence of `tokens` tokens, none if 0. InvalidArgument if they
  /// are more than 2^31 - 1, which the format cannot say.
  Status endSequence(uint64_t tokens);

  /// Ends a document of the sequences since the last one.
  void endDocument();

  uint64_t documents() const { return documentCount; }
  uint64_t sequences() const { return sequenceCount; }
  uint64_t tokens() const { return tokenCount; }

  /// Replaces whatever had these names.
  Status finish();

private:
  TokenFileWriter(TokenType type, TokenFilePair files)
      : type(type), files(std::move(files)) {}
  Status writeIndex();

  TokenType type;
  TokenFilePair files;
  /// n: a sequence of n tokens. -1 - n: the same, and its document ends; n = 0
  /// is no sequence.
  std::vector<int32_t> entries;
  uint64_t documentCount = 0, sequenceCount = 0, tokenCount = 0;
};

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_TOKENFILEWRITER_H
