//===- NeighborFile.h - What was retrieved for samples ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Beside the token files of a run stands, for each split that it reads,
/// PREFIX.<digits>.neighbors. It is a RowFile with a row for each sample, in
/// the order of the run, which holds for each chunk of the sample and each of
/// its neighbours, the nearest first,
///
///    0   4   u32 document of the corpus (RetrievalCorpus.h)
///    4   4   u32 the token of it with which the neighbour begins
///
/// both 2^32 - 1 where there is no such neighbour: the corpus has fewer chunks
/// that are not of the sample's own documents.
///
/// Neighbours are those of samples, and not of the chunks of documents, since
/// chunks of samples begin anywhere, and reach from one document into the next.
/// What was retrieved for a part of a document that is not the sample's chunk
/// would either lie behind it or tell of tokens that are still to be learned.
/// So the digits follow from all that decides which samples there are: the
/// data, its split, the seed, the length of a sample and how often the data is
/// read; and from the length of a chunk and the corpus. A longer run that reads
/// the data as often has the same samples and further ones, for which the file
/// is continued.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_SAMPLES_NEIGHBORFILE_H
#define HOCKET_RUNTIME_DATA_SAMPLES_NEIGHBORFILE_H

#include "runtime/data/retrieval/RetrievalCorpus.h"
#include "runtime/data/retrieval/RowFile.h"
#include "runtime/data/samples/GptDataset.h"

namespace hocket::data {

inline constexpr std::string_view neighborsKind = "HKTNEIGH";

/// One neighbour of a chunk.
struct Neighbor {
  uint32_t document = ~0U, offset = ~0U; ///< As they are: none.

  bool isThere() const { return document != ~0U; }
  bool operator==(const Neighbor &) const = default;
};

/// What the neighbours of the samples of one token file are of.
struct NeighborRequest {
  Sha256::Digest file = {}; ///< Its fingerprint.
  SplitBounds bounds = {};  ///< Its sequences [bounds[split], ...).
  Split split = Split::Train;
  EpochPlan epochs;
  uint64_t seed = 0, sequenceLength = 0;
  uint64_t chunkLength = 0;
  Sha256::Digest corpus = {}; ///< Likewise.

  Sha256::Digest digest() const;
};

/// That of `text`, which was opened with these options.
StatusOr<NeighborRequest> neighborRequestOf(const IndexedDataset &file,
                                            const GptDataset &text,
                                            const GptDatasetOptions &options,
                                            Split split,
                                            const RetrievalCorpus &corpus);

/// "PREFIX.3fa9c2d41b07.neighbors"
std::string neighborFilePath(const std::string &prefix,
                             const NeighborRequest &request);

/// Samples that a run has neighbours of.
class NeighborFile {
public:
  /// NotFound, with the command that makes it, if there is none; DataLoss if it
  /// is damaged; InvalidArgument if it is of too few samples or neighbours.
  /// `split` is what the run calls them.
  static StatusOr<NeighborFile> open(const std::string &prefix,
                                     const NeighborRequest &request,
                                     Split split, uint64_t samples,
                                     uint64_t neighbors);

  /// Samples that it is of.
  uint64_t samples() const { return file.head().rows; }
  /// Fills `out`, [chunks, neighbors]. Any thread.
  Status read(uint64_t sample, std::span<Neighbor> out) const;
  const std::string &path() const { return file.path(); }

private:
  NeighborFile(RowFile file, uint64_t chunks)
      : file(std::move(file)), chunks(chunks) {}

  RowFile file;
  uint64_t chunks; ///< Of a sample.
};

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_SAMPLES_NEIGHBORFILE_H
