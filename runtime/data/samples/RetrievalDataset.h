//===- RetrievalDataset.h - Samples with neighbours -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Samples of a GptDataset, with what was retrieved for each of their chunks
/// (NeighborFile.h). A neighbour is the text of its document from
/// where it was found on; where the document ends earlier, and where there is
/// no neighbour, it is filled up with `options.retrieval->pad`.
///
/// Memory: that of the GptDataset, and of a token file for each of the corpus.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_SAMPLES_RETRIEVALDATASET_H
#define HOCKET_RUNTIME_DATA_SAMPLES_RETRIEVALDATASET_H

#include "runtime/data/samples/GptDataset.h"
#include "runtime/data/samples/NeighborFile.h"

#include <memory>

namespace hocket::data {

class RetrievalDataset : public SampleSource {
public:
  /// As a GptDataset; `options.retrieval` is there. Fails as
  /// NeighborFile::open() does if nothing was retrieved for so many samples.
  static StatusOr<std::unique_ptr<RetrievalDataset>>
  create(const std::shared_ptr<const IndexedDataset> &file,
         const GptDatasetOptions &options, Split split, uint64_t samples);

  uint64_t size() const override {
    return std::min(text->size(), neighbors.samples());
  }
  uint64_t sequenceLength() const override { return text->sequenceLength(); }
  Status read(uint64_t sample, std::span<int32_t> tokens) const override {
    return text->read(sample, tokens);
  }
  std::optional<LossMaskHead> lossMask() const override {
    return text->lossMask();
  }
  Status readLearned(uint64_t sample,
                     std::span<uint8_t> learned) const override {
    return text->readLearned(sample, learned);
  }
  NeighborShape neighborShape() const override { return options.shape; }
  Status readNeighbors(uint64_t sample,
                       std::span<int32_t> tokens) const override;
  StatusOr<std::vector<SampleSegment>>
  segments(uint64_t sample) const override {
    return text->segments(sample);
  }

private:
  RetrievalDataset(std::unique_ptr<GptDataset> text,
                   std::shared_ptr<const RetrievalCorpus> corpus,
                   NeighborFile neighbors, const GptDatasetOptions &options)
      : text(std::move(text)), corpus(std::move(corpus)),
        neighbors(std::move(neighbors)), options(*options.retrieval),
        vocabularySize(options.vocabularySize) {}

  std::unique_ptr<GptDataset> text;
  std::shared_ptr<const RetrievalCorpus> corpus;
  NeighborFile neighbors;
  RetrievalOptions options;
  uint64_t vocabularySize;
};

/// InvalidArgument unless samples of `sequenceLength` tokens are whole chunks.
Status checkNeighborShape(const NeighborShape &shape, uint64_t sequenceLength);

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_SAMPLES_RETRIEVALDATASET_H
