//===- RetrievalCorpus.h - Texts that neighbours come from ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What chunks are retrieved from: the documents of one or several token
/// files, counted through. A document is a sequence of a token file, as
/// training has it.
///
/// The chunks of a document are its tokens [0, L), [L, 2 L) and so on; the last
/// one may be shorter, and none reaches into another document. So where chunk
/// number c lies follows from the lengths of the documents alone, and no file
/// says it.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_RETRIEVAL_RETRIEVALCORPUS_H
#define HOCKET_RUNTIME_DATA_RETRIEVAL_RETRIEVALCORPUS_H

#include "base/Sha256.h"
#include "runtime/data/IndexedDataset.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hocket::data {

/// A digest of the sizes of PREFIX.bin and .idx, and of blocks of both: of
/// what they hold, whatever their names and times are.
StatusOr<Sha256::Digest> fingerprintOf(const IndexedDataset &file);

class RetrievalCorpus {
public:
  /// Opens the token files of `prefixes`, as resolvePrefix() takes them.
  /// ResourceExhausted for 2^32 - 1 documents or more. `mostKept` as for
  /// IndexedDataset::open().
  static StatusOr<std::shared_ptr<const RetrievalCorpus>>
  open(const std::vector<std::string> &prefixes, uint64_t mostKept = 1 << 22);

  /// The prefix of the first token file.
  const std::string &prefix() const { return parts.front().file.prefix(); }
  uint64_t documents() const { return documentCount; }
  const Sha256::Digest &fingerprint() const { return digest; }

  /// The number here of the first document of a token file with this
  /// fingerprint; nothing if it is none of them.
  std::optional<uint64_t> firstOf(const Sha256::Digest &file) const;

  /// Calls visit(document, tokens) for each, until one fails.
  Status
  eachLength(const std::function<Status(uint64_t, uint64_t)> &visit) const;

  /// Copies the tokens of a document from `offset` on, as many as there are
  /// and fit; returns how many. DataLoss if there is no such document, it ends
  /// before `offset`, or a token is not below `vocabularySize`. Any thread.
  StatusOr<uint64_t> read(uint64_t document, uint64_t offset,
                          uint64_t vocabularySize,
                          std::span<int32_t> out) const;

private:
  struct Part {
    IndexedDataset file;
    uint64_t first; ///< Of its documents.
    Sha256::Digest fingerprint;
  };

  std::vector<Part> parts;
  uint64_t documentCount = 0;
  Sha256::Digest digest = {};
};

/// Where the chunks of a corpus lie. Memory: 8 bytes a document.
class ChunkTable {
public:
  struct Place {
    uint64_t document, offset;
  };

  static StatusOr<ChunkTable> create(const RetrievalCorpus &corpus,
                                     uint64_t chunkLength);

  uint64_t size() const { return begins.back(); }
  /// Chunk `chunk`, which is below size().
  Place at(uint64_t chunk) const;
  /// The number of a document's first chunk; of documents(), size().
  uint64_t firstOf(uint64_t document) const { return begins[document]; }

private:
  uint64_t chunkLength = 0;
  std::vector<uint64_t> begins = {0};
};

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_RETRIEVAL_RETRIEVALCORPUS_H
