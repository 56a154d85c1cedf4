//===- MockDataset.h - Samples of random tokens -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// For whoever measures a plan and has no data: tokens that are drawn evenly
/// from the vocabulary, by seed, split and place. They take no memory, and
/// there is no end of them but that of the run.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_SAMPLES_MOCKDATASET_H
#define HOCKET_RUNTIME_DATA_SAMPLES_MOCKDATASET_H

#include "runtime/data/samples/GptDataset.h"

namespace hocket::data {

class MockDataset : public SampleSource {
public:
  /// `samples` samples for `split`. InvalidArgument if `options` ask for more
  /// than next tokens: for masks, spans, classes, images, neighbours or
  /// prefixes.
  static StatusOr<std::unique_ptr<SampleSource>>
  create(const GptDatasetOptions &options, Split split, uint64_t samples);

  uint64_t size() const override { return samples; }
  uint64_t sequenceLength() const override { return length; }
  Status read(uint64_t sample, std::span<int32_t> tokens) const override;
  /// None: they are of no file.
  StatusOr<std::vector<SampleSegment>> segments(uint64_t) const override {
    return std::vector<SampleSegment>();
  }

private:
  MockDataset(const GptDatasetOptions &options, Split split, uint64_t samples)
      : length(options.sequenceLength), vocabulary(options.vocabularySize),
        seed(options.seed), split(split), samples(samples) {}

  uint64_t length, vocabulary, seed;
  Split split;
  uint64_t samples;
};

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_SAMPLES_MOCKDATASET_H
