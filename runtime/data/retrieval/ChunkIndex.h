//===- ChunkIndex.h - Searching the chunks of a corpus ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which chunks of a corpus are nearest to a query, by one of three indexes,
/// which are named as Faiss names them:
///
///   Flat       compares a query with every chunk. Exact.
///   IVF1024,Flat
///              chunks lie in 1,024 lists, each in that whose centre is nearest
///              to it; a query is compared with the chunks of the lists whose
///              centres are nearest (an inverted file).
///   IVF1024,PQ64
///              likewise, but of a chunk 64 bytes are kept: of each of 64 parts
///              of its difference from the centre, which of 256 centres of such
///              parts is nearest (product quantization, Jegou et al. 2011). A
///              distance is that to these.
///
/// The centres of lists are those of 64 chunks for each, and those of parts of
/// 256, taken evenly from the corpus, as far as it has so many. The result
/// depends neither on threads nor on interruptions.
///
/// Faiss itself is not linked: Debian's build searches at the speed of the BLAS
/// that the machine happens to have, whose rounding differs from that of
/// another, and graphs (HNSW) that several threads build differ from run to
/// run.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_RETRIEVAL_CHUNKINDEX_H
#define HOCKET_RUNTIME_DATA_RETRIEVAL_CHUNKINDEX_H

#include "runtime/data/retrieval/EmbeddingFile.h"
#include "runtime/data/retrieval/Nearest.h"

#include <functional>
#include <memory>
#include <string>

namespace hocket::data {

struct IndexKind {
  uint64_t lists = 0;     ///< 0: Flat.
  uint64_t codeBytes = 0; ///< 0: whole embeddings.

  std::string name() const;
  bool operator==(const IndexKind &) const = default;
};

/// InvalidArgument, with the kinds that there are, for any other text.
StatusOr<IndexKind> parseIndexKind(const std::string &text);

/// What suits so many chunks of embeddings of `dim` elements: Flat for up to
/// 200,000; beyond it lists of some hundred chunks each, with codes.
IndexKind indexKindFor(uint64_t chunks, uint64_t dim);

/// Told what is being done ("training the index"), and how far it is; whether
/// to go on.
using RetrievalProgress =
    std::function<bool(const std::string &what, uint64_t done, uint64_t all)>;

/// Unavailable: what is returned once it says no.
Status retrievalStopped();

struct IndexOptions {
  IndexKind kind;
  uint64_t probes = 16; ///< Lists that a query looks into.
  /// Where the index is kept: PREFIX.<digits>.index and .codes.
  std::string prefix;
};

class ChunkIndex {
public:
  virtual ~ChunkIndex() = default;

  /// Of what decides what is found.
  virtual Sha256::Digest digest() const = 0;

  /// Offers chunks to the queries; best[q] is of row q.
  virtual Status search(const RowMatrix &queries, std::span<NearestRows> best,
                        WorkerPool &pool) = 0;
};

/// Makes the index of `chunks`, or goes on making it, or opens it.
/// InvalidArgument if there are too few chunks for so many lists, or the
/// embedding has no such parts; ResourceExhausted if it does not fit in this
/// machine's memory; Unavailable if `progress` says no.
StatusOr<std::unique_ptr<ChunkIndex>>
openChunkIndex(std::shared_ptr<EmbeddingSource> chunks,
               const IndexOptions &options, WorkerPool &pool,
               const RetrievalProgress &progress);

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_RETRIEVAL_CHUNKINDEX_H
