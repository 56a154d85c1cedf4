//===- IndexedDataset.h - Megatron's token files ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A pair of files: `PREFIX.bin` holds the tokens of all sequences one after
/// the other, without a header; `PREFIX.idx`, little-endian and unpadded, says
/// where each sequence and each document begins:
///
///   offset   bytes  content
///   0        9      "MMIDIDX" 0 0
///   9        8      u64 version = 1
///   17       1      token type: 1 u8, 2 i8, 3 i16, 4 i32, 5 i64, 8 u16
///   18       8      u64 S, sequences
///   26       8      u64 D, documents + 1
///   34       4 S    i32 tokens of each sequence
///   34+4S    8 S    i64 byte of the .bin at which each sequence begins
///   34+12S   8 D    i64 first sequence of each document, then S
///
/// The files are checked when opened, so that no later access can leave them.
/// Tokens are read from the .bin when they are asked for, not mapped: a file
/// that is cut short while a run uses it is an error that the run can answer.
/// Memory: 4 bytes a sequence, of files with few.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_INDEXEDDATASET_H
#define HOCKET_RUNTIME_DATA_INDEXEDDATASET_H

#include "base/File.h"
#include "base/Status.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace hocket::data {

/// The code of a token type in an index file.
enum class TokenType : uint8_t {
  U8 = 1,
  I8 = 2,
  I16 = 3,
  I32 = 4,
  I64 = 5,
  U16 = 8
};

/// Bytes of one token.
uint64_t tokenBytes(TokenType type);

/// "u16" and so on.
const char *tokenTypeName(TokenType type);

/// u16 where the vocabulary has fewer than 65,500 entries, else i32: what
/// Megatron writes.
TokenType tokenTypeFor(uint64_t vocabularySize);

/// The `PREFIX` whose .bin and .idx exist for what a person typed: `given`
/// itself, or the one file that `hocket data prepare -o given` wrote beside it
/// (`given_<key>_document`, `given_<key>_sentence`). NotFound, naming what was
/// looked for, if neither; InvalidArgument if there are several.
StatusOr<std::string> resolvePrefix(const std::string &given);

class IndexedDataset {
public:
  /// Opens PREFIX.bin and PREFIX.idx. NotFound if one is missing, DataLoss for
  /// whatever else is wrong with them. The lengths of at most `mostKept`
  /// sequences are kept in memory; of more they are read when asked for.
  static StatusOr<IndexedDataset> open(const std::string &prefix,
                                       uint64_t mostKept = 1 << 22);

  const std::string &prefix() const { return filePrefix; }
  TokenType tokenType() const { return type; }
  uint64_t sequences() const { return sequenceCount; }
  uint64_t documents() const { return documentCount; }
  uint64_t tokens() const { return tokenCount; }

  /// Tokens of one sequence. Any thread.
  StatusOr<uint64_t> length(uint64_t sequence) const;

  /// The same of out.size() sequences from `first` on. None is negative.
  Status lengths(uint64_t first, std::span<int32_t> out) const;

  /// Calls visit(s, tokens) for sequences [begin, end), until one fails.
  Status
  eachLength(uint64_t begin, uint64_t end,
             const std::function<Status(uint64_t, uint64_t)> &visit) const;

  /// Where sequence `sequence` begins in the .bin, in bytes.
  StatusOr<uint64_t> byteOffset(uint64_t sequence) const;

  /// The same of out.size() sequences from `first` on.
  Status byteOffsets(uint64_t first, std::span<uint64_t> out) const;

  /// The first sequence of `document`; sequences() for document = documents().
  StatusOr<uint64_t> documentStart(uint64_t document) const;

  /// Calls visit(s) for each document with the sequence s that follows its
  /// last, until one fails.
  Status eachDocumentEnd(const std::function<Status(uint64_t)> &visit) const;

  /// Copies bytes of the .bin as they are. Any thread.
  Status readBytes(uint64_t begin, void *out, size_t size) const {
    return bin.read(begin, out, size);
  }

  /// Copies tokens [offset, offset + out.size()) of a sequence, which must lie
  /// inside it. A token that is not in [0, vocabularySize) is DataLoss and is
  /// named; `vocabularySize` is at most 2^31. So is a file that has become
  /// shorter. Any thread.
  Status read(uint64_t sequence, uint64_t offset, uint64_t vocabularySize,
              std::span<int32_t> out) const;

private:
  Status parseHeader();
  template <typename Visit>
  Status eachNumber(uint64_t begin, uint64_t count, Visit visit) const;
  Status parseTables();
  Status checkSequences(uint64_t mostKept);
  Status checkDocuments() const;
  Status corrupt(const std::string &what) const;

  std::string filePrefix;
  RandomAccessFile index, bin;
  TokenType type = TokenType::U16;
  uint64_t sequenceCount = 0, documentCount = 0, tokenCount = 0;
  uint64_t offsetsBegin = 0, documentsBegin = 0; ///< Bytes of the .idx.
  std::vector<int32_t> keptLengths; ///< Of all sequences, or empty.
};

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_INDEXEDDATASET_H
