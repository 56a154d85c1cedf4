//===- NeighborSearch.h - From token files to neighbours --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What `hocket data neighbors` does, step by step:
///
///   1. the chunks of the corpus are embedded: PREFIX.<digits>.embeddings
///   2. they are put into an index: PREFIX.<digits>.index and .codes
///   3. the chunks of each sample are embedded, and their nearest chunks are
///      looked up: PREFIX.<digits>.neighbors beside the samples' token files
///
/// Each step goes on where it was when its process ended, and what is complete
/// is not made again. Chunks of the documents that a sample is cut from are no
/// neighbours of it.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_SAMPLES_NEIGHBORSEARCH_H
#define HOCKET_RUNTIME_DATA_SAMPLES_NEIGHBORSEARCH_H

#include "runtime/data/retrieval/ChunkIndex.h"
#include "runtime/data/samples/NeighborFile.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hocket::data {

/// Tokens of a chunk.
using ChunkTokens = std::vector<int32_t>;

class ChunkEmbedder {
public:
  virtual ~ChunkEmbedder() = default;

  virtual uint64_t dim() const = 0;
  /// Of all that decides what it makes of tokens.
  virtual Sha256::Digest digest() const = 0;
  /// How many chunks it takes at a time, best.
  virtual uint64_t atOnce() const = 0;

  /// Fills `out`, [chunks, dim]. What is made of a chunk does not depend on
  /// the others. One caller at a time.
  virtual Status embed(std::span<const ChunkTokens> chunks,
                       std::span<float> out) = 0;
};

struct NeighborSearchOptions {
  std::vector<std::string> corpus; ///< As RetrievalCorpus::open() takes it.
  uint64_t chunkLength = 0;
  uint64_t neighbors = 0;         ///< Of a chunk.
  uint64_t vocabularySize = 0;    ///< Of the token files.
  std::optional<IndexKind> index; ///< Default: indexKindFor().
  uint64_t probes = 16;
  unsigned threads = 0; ///< 0: WorkerPool::defaultCount().
  /// What embeds chunks; or, in its place, files that hold what did: of the
  /// corpus and, for find(), of samples.
  std::shared_ptr<ChunkEmbedder> embedder;
  std::string corpusEmbeddings, sampleEmbeddings;
};

/// The samples of a token file that neighbours are wanted of.
struct NeighborTarget {
  std::shared_ptr<const IndexedDataset> file;
  std::shared_ptr<const GptDataset> text;
  GptDatasetOptions options; ///< That `text` was opened with.
  Split split = Split::Train;
  uint64_t samples = 0; ///< From the first.
};

struct NeighborResult {
  std::string path;
  uint64_t samples = 0, chunks = 0;
  bool wasThere = false; ///< Nothing was to be done.
};

class NeighborSearch {
public:
  /// Steps 1 and 2. Errors as those of what it calls; Unavailable if
  /// `progress` says no, after which all that was made stays.
  static StatusOr<std::unique_ptr<NeighborSearch>>
  open(const NeighborSearchOptions &options, RetrievalProgress progress);

  /// Step 3.
  StatusOr<NeighborResult> find(const NeighborTarget &target);

  uint64_t chunks() const { return table.size(); }
  uint64_t documents() const { return corpus->documents(); }
  const IndexKind &kind() const { return *options.index; }

private:
  NeighborSearch(const NeighborSearchOptions &options,
                 RetrievalProgress progress,
                 std::shared_ptr<const RetrievalCorpus> corpus,
                 ChunkTable table, unsigned threads)
      : options(options), progress(std::move(progress)),
        corpus(std::move(corpus)), table(std::move(table)), pool(threads) {}

  Status embedCorpus();
  StatusOr<ChunkTokens> tokensOf(uint64_t chunk) const;
  StatusOr<std::vector<RowRange>> ownChunks(const GptDataset &text,
                                            std::optional<uint64_t> first,
                                            uint64_t sample) const;
  Status embedSamples(const NeighborTarget &target, uint64_t first,
                      uint64_t count, RowMatrix &queries);
  StatusOr<std::vector<Neighbor>> findBlock(const NeighborTarget &target,
                                            std::optional<uint64_t> own,
                                            uint64_t first, uint64_t count);

  NeighborSearchOptions options;
  RetrievalProgress progress;
  std::shared_ptr<const RetrievalCorpus> corpus;
  ChunkTable table;
  WorkerPool pool;
  std::shared_ptr<EmbeddingSource> embeddings; ///< Of the corpus.
  std::unique_ptr<EmbeddingSource> ofSamples;  ///< That another program made.
  std::unique_ptr<ChunkIndex> index;
};

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_SAMPLES_NEIGHBORSEARCH_H
