//===- NeighborSearch.cpp - From token files to neighbours ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/samples/NeighborSearch.h"

#include "base/Quantity.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::data;

//===----------------------------------------------------------------------===//
// 1. Embeddings of the corpus
//===----------------------------------------------------------------------===//

StatusOr<ChunkTokens> NeighborSearch::tokensOf(uint64_t chunk) const {
  ChunkTable::Place place = table.at(chunk);
  ChunkTokens tokens(options.chunkLength);
  HOCKET_ASSIGN_OR_RETURN(uint64_t count,
                          corpus->read(place.document, place.offset,
                                       options.vocabularySize, tokens));
  tokens.resize(count);
  return tokens;
}

Status NeighborSearch::embedCorpus() {
  Sha256 hash;
  hash.update(embeddingsKind.data(), embeddingsKind.size());
  hash.update(corpus->fingerprint().data(), corpus->fingerprint().size());
  hash.update(&options.chunkLength, sizeof(options.chunkLength));
  // Those of another embedder stand beside them.
  Sha256::Digest made = options.embedder->digest();
  hash.update(made.data(), made.size());
  RowFileHead head{embeddingsKind, hash.finish(), made,
                   options.embedder->dim() * sizeof(float), table.size()};
  const std::string path = rowFilePath(corpus->prefix(), head.of, "embeddings");
  auto isWhole = [&] {
    auto file = RowFile::open(path, embeddingsKind);
    return file.ok() && file->head().of == head.of &&
           file->head().rowBytes == head.rowBytes &&
           file->head().rows == head.rows;
  };
  if (!isWhole()) {
    HOCKET_ASSIGN_OR_RETURN(RowFileWriter file,
                            RowFileWriter::open(path, head));
    while (file.rows() < table.size()) {
      if (!progress("embedding the corpus", file.rows(), table.size()))
        return retrievalStopped();
      std::vector<ChunkTokens> chunks(
          std::min(options.embedder->atOnce(), table.size() - file.rows()));
      for (uint64_t i = 0; i < chunks.size(); ++i) {
        HOCKET_ASSIGN_OR_RETURN(chunks[i], tokensOf(file.rows() + i));
      }
      std::vector<float> rows(chunks.size() * options.embedder->dim());
      HOCKET_RETURN_IF_ERROR(options.embedder->embed(chunks, rows));
      HOCKET_RETURN_IF_ERROR(file.append(rows.data(), chunks.size()));
    }
    HOCKET_RETURN_IF_ERROR(file.commit());
  }
  HOCKET_ASSIGN_OR_RETURN(embeddings, openKeptEmbeddings(path));
  return okStatus();
}

StatusOr<std::unique_ptr<NeighborSearch>>
NeighborSearch::open(const NeighborSearchOptions &options,
                     RetrievalProgress progress) {
  bool isForeign = !options.corpusEmbeddings.empty();
  if (isForeign != !options.sampleEmbeddings.empty() ||
      isForeign == (options.embedder != nullptr))
    return invalidArgument("chunks are embedded by an encoder, or their "
                           "embeddings and those of the samples are given");
  HOCKET_ASSIGN_OR_RETURN(auto corpus, RetrievalCorpus::open(options.corpus));
  HOCKET_ASSIGN_OR_RETURN(ChunkTable table,
                          ChunkTable::create(*corpus, options.chunkLength));
  if (table.size() == 0)
    return invalidArgument(corpus->prefix() +
                           ": there are no tokens to retrieve");
  unsigned threads = options.threads;
  if (threads == 0) {
    HOCKET_ASSIGN_OR_RETURN(threads, WorkerPool::defaultCount());
  }
  std::unique_ptr<NeighborSearch> search(
      new NeighborSearch(options, std::move(progress), std::move(corpus),
                         std::move(table), threads));
  if (isForeign) {
    HOCKET_ASSIGN_OR_RETURN(
        search->embeddings,
        openNpyEmbeddings(options.corpusEmbeddings, search->table.size(),
                          formatNoun(search->table.size(), "chunk") +
                              " of the corpus"));
  } else {
    HOCKET_RETURN_IF_ERROR(search->embedCorpus());
  }
  if (!search->options.index)
    search->options.index =
        indexKindFor(search->table.size(), search->embeddings->dim());
  HOCKET_ASSIGN_OR_RETURN(
      search->index, openChunkIndex(search->embeddings,
                                    {*search->options.index, options.probes,
                                     search->corpus->prefix()},
                                    search->pool, search->progress));
  return search;
}

//===----------------------------------------------------------------------===//
// 3. Neighbours of samples
//===----------------------------------------------------------------------===//

/// The chunks of the documents that a sample is cut from, where these are in
/// the corpus, as its documents from `first` on.
StatusOr<std::vector<RowRange>>
NeighborSearch::ownChunks(const GptDataset &text, std::optional<uint64_t> first,
                          uint64_t sample) const {
  std::vector<RowRange> own;
  if (!first)
    return own;
  HOCKET_ASSIGN_OR_RETURN(std::vector<SampleSegment> segments,
                          text.segments(sample));
  for (const SampleSegment &segment : segments)
    own.push_back({table.firstOf(*first + segment.sequence),
                   table.firstOf(*first + segment.sequence + 1)});
  return own;
}

/// Fills a row of `queries` for each chunk of samples [first, first + count).
Status NeighborSearch::embedSamples(const NeighborTarget &target,
                                    uint64_t first, uint64_t count,
                                    RowMatrix &queries) {
  uint64_t length = target.options.sequenceLength;
  uint64_t each = length / options.chunkLength;
  if (ofSamples)
    return ofSamples->read(first * each, count * each, queries);
  std::vector<int32_t> tokens(length + 1);
  std::vector<ChunkTokens> chunks;
  for (uint64_t s = 0; s < count; ++s) {
    HOCKET_RETURN_IF_ERROR(target.text->read(first + s, tokens));
    for (uint64_t c = 0; c < each; ++c) {
      auto begin = tokens.begin() + ptrdiff_t(c * options.chunkLength);
      chunks.emplace_back(begin, begin + ptrdiff_t(options.chunkLength));
    }
  }
  uint64_t dim = options.embedder->dim();
  std::vector<float> rows(chunks.size() * dim);
  HOCKET_RETURN_IF_ERROR(options.embedder->embed(chunks, rows));
  for (uint64_t r = 0; r < chunks.size(); ++r)
    std::copy_n(rows.data() + r * dim, dim, queries.row(r));
  return okStatus();
}

/// [count, chunks, neighbors].
StatusOr<std::vector<Neighbor>>
NeighborSearch::findBlock(const NeighborTarget &target,
                          std::optional<uint64_t> own, uint64_t first,
                          uint64_t count) {
  uint64_t each = target.options.sequenceLength / options.chunkLength;
  RowMatrix queries(count * each, embeddings->dim());
  HOCKET_RETURN_IF_ERROR(embedSamples(target, first, count, queries));
  std::vector<std::vector<RowRange>> unwanted(count);
  std::vector<NearestRows> best;
  for (uint64_t s = 0; s < count; ++s) {
    HOCKET_ASSIGN_OR_RETURN(unwanted[s],
                            ownChunks(*target.text, own, first + s));
    best.insert(best.end(), each, NearestRows(options.neighbors, unwanted[s]));
  }
  HOCKET_RETURN_IF_ERROR(index->search(queries, best, pool));
  std::vector<Neighbor> found(best.size() * options.neighbors);
  for (uint64_t q = 0; q < best.size(); ++q)
    for (uint64_t n = 0; n < best[q].rows().size(); ++n) {
      ChunkTable::Place place = table.at(best[q].rows()[n].row);
      found[q * options.neighbors + n] = {uint32_t(place.document),
                                          uint32_t(place.offset)};
    }
  return found;
}

StatusOr<NeighborResult> NeighborSearch::find(const NeighborTarget &target) {
  uint64_t length = target.options.sequenceLength;
  uint64_t each = length / options.chunkLength;
  HOCKET_ASSIGN_OR_RETURN(NeighborRequest request,
                          neighborRequestOf(*target.file, *target.text,
                                            target.options, target.split,
                                            *corpus));
  NeighborResult result{neighborFilePath(target.file->prefix(), request),
                        target.samples, target.samples * each};
  if (!options.sampleEmbeddings.empty()) {
    HOCKET_ASSIGN_OR_RETURN(
        ofSamples,
        openNpyEmbeddings(options.sampleEmbeddings, result.chunks,
                          formatNoun(result.chunks, "chunk") + " of the " +
                              formatNoun(target.samples, "sample")));
    if (ofSamples->dim() != embeddings->dim())
      return dataLoss(options.sampleEmbeddings + ": has embeddings of " +
                      std::to_string(ofSamples->dim()) + " elements, and " +
                      options.corpusEmbeddings + " of " +
                      std::to_string(embeddings->dim()));
  }
  Sha256 hash;
  for (const Sha256::Digest &part :
       {index->digest(),
        ofSamples ? ofSamples->digest() : options.embedder->digest()})
    hash.update(part.data(), part.size());
  RowFileHead head{neighborsKind, request.digest(), hash.finish(),
                   each * options.neighbors * sizeof(Neighbor), target.samples};
  if (auto whole = RowFile::open(result.path, neighborsKind);
      whole.ok() && whole->head().of == head.of &&
      whole->head().made == head.made &&
      whole->head().rowBytes == head.rowBytes &&
      whole->head().rows >= head.rows) {
    result.wasThere = true;
    return result;
  }
  HOCKET_ASSIGN_OR_RETURN(RowFileWriter file,
                          RowFileWriter::open(result.path, head));
  constexpr uint64_t queriesAtOnce = 1024;
  uint64_t most = std::max<uint64_t>(queriesAtOnce / each, 1);
  std::optional<uint64_t> own = corpus->firstOf(request.file);
  const std::string what =
      "finding neighbours of " +
      std::string(splitName(target.options.retrieval->split));
  while (file.rows() < head.rows) {
    if (!progress(what, file.rows() * each, result.chunks))
      return retrievalStopped();
    uint64_t count = std::min(most, head.rows - file.rows());
    HOCKET_ASSIGN_OR_RETURN(std::vector<Neighbor> found,
                            findBlock(target, own, file.rows(), count));
    HOCKET_RETURN_IF_ERROR(file.append(found.data(), count));
  }
  HOCKET_RETURN_IF_ERROR(file.commit());
  return result;
}
