//===- NeighborFile.cpp - What was retrieved for samples ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/NeighborFile.h"

#include "base/Quantity.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::data;

static_assert(sizeof(Neighbor) == 8);

Sha256::Digest NeighborRequest::digest() const {
  Sha256 hash;
  hash.update(neighborsKind.data(), neighborsKind.size());
  hash.update(file.data(), file.size());
  hash.update(corpus.data(), corpus.size());
  for (uint64_t number :
       {bounds[size_t(split)], bounds[size_t(split) + 1], seed, sequenceLength,
        chunkLength, epochs.epochs, uint64_t(epochs.separateFinalEpoch),
        epochs.shuffledTogether, epochs.samples})
    hash.update(&number, sizeof(number));
  return hash.finish();
}

StatusOr<NeighborRequest>
data::neighborRequestOf(const IndexedDataset &file, const GptDataset &text,
                        const GptDatasetOptions &options, Split split,
                        const RetrievalCorpus &corpus) {
  NeighborRequest request;
  HOCKET_ASSIGN_OR_RETURN(request.file, fingerprintOf(file));
  HOCKET_ASSIGN_OR_RETURN(
      request.bounds, parseSplitBounds(options.splitWeights, file.sequences()));
  request.split = split;
  request.epochs = text.sampleOrder().plan();
  request.seed = options.seed;
  request.sequenceLength = options.sequenceLength;
  request.chunkLength = options.retrieval->shape.chunkLength;
  request.corpus = corpus.fingerprint();
  return request;
}

std::string data::neighborFilePath(const std::string &prefix,
                                   const NeighborRequest &request) {
  return rowFilePath(prefix, request.digest(), "neighbors");
}

StatusOr<NeighborFile> NeighborFile::open(const std::string &prefix,
                                          const NeighborRequest &request,
                                          Split split, uint64_t samples,
                                          uint64_t neighbors) {
  const std::string path = neighborFilePath(prefix, request);
  const std::string remedy = "; `hocket data neighbors --split " +
                             std::string(splitName(split)) +
                             "`, with the specification of the run, ";
  auto file = RowFile::open(path, neighborsKind);
  if (!file.ok() && file.status().code() == StatusCode::NotFound)
    return notFound(prefix + ": nothing was retrieved for these samples, " +
                    path + " is missing" + remedy + "makes it");
  if (!file.ok())
    return file.status();
  const RowFileHead &head = file->head();
  if (head.of != request.digest())
    return dataLoss(path + ": is of other samples" + remedy +
                    "makes it once it is removed");
  uint64_t chunks = request.sequenceLength / request.chunkLength;
  uint64_t chunkBytes = chunks * sizeof(Neighbor);
  if (chunks == 0 || head.rowBytes % chunkBytes != 0)
    return dataLoss(path + ": its rows are not of " +
                    formatNoun(chunks, "chunk"));
  if (head.rowBytes / chunkBytes < neighbors)
    return invalidArgument(path + ": a chunk has " +
                           formatNoun(head.rowBytes / chunkBytes, "neighbour") +
                           ", and the model takes " +
                           std::to_string(neighbors) + remedy +
                           "makes it once it is removed");
  if (head.rows < samples)
    return invalidArgument(path + ": is of the first " +
                           formatNoun(head.rows, "sample") +
                           ", and the run has " + std::to_string(samples) +
                           remedy + "continues it");
  return NeighborFile(*std::move(file), chunks);
}

Status NeighborFile::read(uint64_t sample, std::span<Neighbor> out) const {
  uint64_t stored = file.head().rowBytes / (chunks * sizeof(Neighbor));
  uint64_t wanted = out.size() / chunks;
  std::vector<Neighbor> row(chunks * stored);
  HOCKET_RETURN_IF_ERROR(file.read(sample, 1, row.data()));
  for (uint64_t chunk = 0; chunk < chunks; ++chunk)
    std::copy_n(row.begin() + ptrdiff_t(chunk * stored), wanted,
                out.begin() + ptrdiff_t(chunk * wanted));
  return okStatus();
}
