//===- BlendedDataset.h - Several token files at once -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Samples of several datasets, mixed as BlendOrder.h says.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_SAMPLES_BLENDEDDATASET_H
#define HOCKET_RUNTIME_DATA_SAMPLES_BLENDEDDATASET_H

#include "runtime/data/samples/BlendOrder.h"
#include "runtime/data/samples/GptDataset.h"

#include <memory>
#include <string>
#include <vector>

namespace hocket::data {

struct BlendPart {
  double weight = 1;
  std::string prefix; ///< As resolvePrefix() takes it.
};

/// Reads ["data/a"] or ["0.7", "data/a", "0.3", "data/b"]: one prefix, or
/// pairs of a positive weight and a prefix. ["@FILE"] reads the same words from
/// a file of at most 16 MiB, with white space between them.
StatusOr<std::vector<BlendPart>>
parseBlend(const std::vector<std::string> &words);

class BlendedDataset : public SampleSource {
public:
  /// Samples 0 .. order.size()-1. InvalidArgument if a part has too few.
  static StatusOr<std::unique_ptr<BlendedDataset>>
  create(std::vector<std::unique_ptr<SampleSource>> parts, BlendOrder order);

  uint64_t size() const override { return order.size(); }
  uint64_t sequenceLength() const override {
    return parts.front()->sequenceLength();
  }
  Status read(uint64_t sample, std::span<int32_t> tokens) const override;
  std::optional<LossMaskHead> lossMask() const override;
  Status readLearned(uint64_t sample,
                     std::span<uint8_t> learned) const override;
  bool hasPrefixes() const override { return parts.front()->hasPrefixes(); }
  bool isFramed() const override { return parts.front()->isFramed(); }
  Status readFramed(uint64_t sample, FramedSample &out) const override;
  uint64_t encoderLength() const override {
    return parts.front()->encoderLength();
  }
  Status readSpans(uint64_t sample, SpanSample &out) const override;
  ImageShape imageShape() const override { return parts.front()->imageShape(); }
  Status readImages(uint64_t sample, ImageSample &out) const override;
  NeighborShape neighborShape() const override {
    return parts.front()->neighborShape();
  }
  Status readNeighbors(uint64_t sample,
                       std::span<int32_t> tokens) const override;
  StatusOr<std::vector<SampleSegment>> segments(uint64_t sample) const override;

private:
  BlendedDataset(std::vector<std::unique_ptr<SampleSource>> parts,
                 BlendOrder order)
      : parts(std::move(parts)), order(std::move(order)) {}

  std::vector<std::unique_ptr<SampleSource>> parts;
  BlendOrder order;
};

/// Of each part, how many samples are asked of it where all are asked for
/// `samples`.
std::vector<uint64_t> samplesOfParts(const std::vector<BlendPart> &parts,
                                     uint64_t samples);

/// Opens the token files and gives the samples of a split: a GptDataset, an
/// ImageDataset, a RetrievalDataset, a MaskedDataset, a SpanDataset or a
/// ClassDataset for one part, a blend for several. `samples` as for GptDataset;
/// a blend needs at least 1.
StatusOr<std::unique_ptr<SampleSource>>
openSamples(const std::vector<BlendPart> &parts,
            const GptDatasetOptions &options, Split split, uint64_t samples);

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_SAMPLES_BLENDEDDATASET_H
