//===- CountingSamples.h - Data that can be learnt at once ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_RUNTIME_TRAIN_COUNTINGSAMPLES_H
#define HOCKET_TEST_RUNTIME_TRAIN_COUNTINGSAMPLES_H

#include "runtime/data/samples/SampleSource.h"

namespace hocket::test {

/// Sample i counts up from i times `stride` in steps of 3, modulo the
/// vocabulary of tinyModel(); its sequences have 8 tokens.
class CountingSamples : public data::SampleSource {
public:
  explicit CountingSamples(uint64_t count, uint64_t stride = 1)
      : count(count), stride(stride) {}
  uint64_t size() const override { return count; }
  uint64_t sequenceLength() const override { return 8; }
  Status read(uint64_t sample, std::span<int32_t> tokens) const override {
    HOCKET_RETURN_IF_ERROR(checkSample(sample));
    for (size_t t = 0; t < tokens.size(); ++t)
      tokens[t] = int32_t((sample * stride + 3 * t) % 16);
    return okStatus();
  }
  StatusOr<std::vector<data::SampleSegment>> segments(uint64_t) const override {
    return std::vector<data::SampleSegment>();
  }

private:
  uint64_t count, stride;
};

/// The same with a sample that cannot be read.
class DamagedSamples : public CountingSamples {
public:
  DamagedSamples(uint64_t count, uint64_t damaged)
      : CountingSamples(count), damaged(damaged) {}
  Status read(uint64_t sample, std::span<int32_t> tokens) const override {
    return sample == damaged ? dataLoss("data.bin: no byte 77")
                             : CountingSamples::read(sample, tokens);
  }

private:
  uint64_t damaged;
};

} // namespace hocket::test

#endif // HOCKET_TEST_RUNTIME_TRAIN_COUNTINGSAMPLES_H
