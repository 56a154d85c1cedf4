//===- RetrievalDataset.cpp - Samples with neighbours ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/RetrievalDataset.h"

#include "base/Quantity.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::data;

Status data::checkNeighborShape(const NeighborShape &shape,
                                uint64_t sequenceLength) {
  constexpr uint64_t mostTokens = 1 << 20, mostNeighbors = 1 << 10;
  if (shape.chunkLength == 0 || sequenceLength % shape.chunkLength != 0 ||
      shape.neighbors == 0 || shape.neighbors > mostNeighbors ||
      shape.retrievedLength == 0 || shape.retrievedLength > mostTokens)
    return invalidArgument(
        "samples of " + formatNoun(sequenceLength, "token") +
        " are whole chunks with 1 to 1024 neighbours of 1 to 2^20 tokens each, "
        "not chunks of " +
        std::to_string(shape.chunkLength) + " tokens with " +
        std::to_string(shape.neighbors) + " neighbours of " +
        std::to_string(shape.retrievedLength));
  return okStatus();
}

StatusOr<std::unique_ptr<RetrievalDataset>>
RetrievalDataset::create(const std::shared_ptr<const IndexedDataset> &file,
                         const GptDatasetOptions &options, Split split,
                         uint64_t samples) {
  const NeighborShape &shape = options.retrieval->shape;
  HOCKET_RETURN_IF_ERROR(checkNeighborShape(shape, options.sequenceLength));
  HOCKET_ASSIGN_OR_RETURN(std::unique_ptr<GptDataset> text,
                          GptDataset::create(file, options, split, samples));
  std::vector<std::string> from = options.retrieval->corpus;
  if (from.empty())
    from.push_back(file->prefix());
  HOCKET_ASSIGN_OR_RETURN(
      auto corpus,
      RetrievalCorpus::open(from, options.cache.inMemoryBytes / 4));
  HOCKET_ASSIGN_OR_RETURN(
      NeighborRequest request,
      neighborRequestOf(*file, *text, options, split, *corpus));
  HOCKET_ASSIGN_OR_RETURN(
      NeighborFile neighbors,
      NeighborFile::open(file->prefix(), request, options.retrieval->split,
                         samples > 0 ? samples : text->size(),
                         shape.neighbors));
  return std::unique_ptr<RetrievalDataset>(new RetrievalDataset(
      std::move(text), std::move(corpus), std::move(neighbors), options));
}

Status RetrievalDataset::readNeighbors(uint64_t sample,
                                       std::span<int32_t> tokens) const {
  HOCKET_RETURN_IF_ERROR(checkSample(sample));
  const NeighborShape &shape = options.shape;
  if (tokens.size() != shape.tokens(sequenceLength()))
    return internalError("the neighbours of a sample need room for " +
                         std::to_string(shape.tokens(sequenceLength())) +
                         " tokens");
  std::vector<Neighbor> found(tokens.size() / shape.retrievedLength);
  HOCKET_RETURN_IF_ERROR(neighbors.read(sample, found));
  for (const Neighbor &neighbor : found) {
    std::span<int32_t> out = tokens.first(shape.retrievedLength);
    tokens = tokens.subspan(shape.retrievedLength);
    uint64_t count = 0;
    if (neighbor.isThere()) {
      auto read =
          corpus->read(neighbor.document, neighbor.offset, vocabularySize, out);
      if (!read.ok())
        return read.status().withContext(neighbors.path() + ": sample " +
                                         std::to_string(sample));
      count = *read;
    }
    std::ranges::fill(out.subspan(count), options.pad);
  }
  return okStatus();
}
