//===- BlendedDataset.h - Several token files at once -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Samples of several datasets, mixed by weight in Megatron's order: sample i
/// comes from the dataset that lags its share most,
///
///   argmax_d  weight_d * max(i, 1) - taken_d,
///
/// the first of equals. Weights .5 .3 .2 give 0 1 2 0 1 0 2 0 1 0.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_BLENDEDDATASET_H
#define HOCKET_RUNTIME_DATA_BLENDEDDATASET_H

#include "runtime/data/GptDataset.h"

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

/// The weights as shares of their sum. The sum is rounded as NumPy's, which
/// decides ties between datasets.
std::vector<double> normalizeWeights(std::vector<double> weights);

/// Dataset of each of `samples` samples; `weights` sum to 1 and are fewer than
/// 65,536.
std::vector<uint16_t> blendOrder(const std::vector<double> &weights,
                                 uint64_t samples);

/// Samples to ask of a dataset with this share of `samples`: half a percent
/// more than its share, because the blend is not exactly proportional.
uint64_t samplesOfShare(double weight, uint64_t samples);

class BlendedDataset : public SampleSource {
public:
  /// Samples 0 .. order.size()-1, where sample i is the next unused one of
  /// parts[order[i]]. InvalidArgument if a part has too few.
  static StatusOr<std::unique_ptr<BlendedDataset>>
  create(std::vector<std::unique_ptr<SampleSource>> parts,
         std::vector<uint16_t> order);

  uint64_t size() const override { return order.size(); }
  uint64_t sequenceLength() const override {
    return parts.front()->sequenceLength();
  }
  Status read(uint64_t sample, std::span<int32_t> tokens) const override;
  StatusOr<std::vector<SampleSegment>> segments(uint64_t sample) const override;

private:
  std::vector<std::unique_ptr<SampleSource>> parts;
  std::vector<uint16_t> order;
  std::vector<uint32_t> sampleOfPart; ///< Sample i's number within its part.
};

/// Opens the token files and gives the samples of a split: a GptDataset for
/// one part, a blend for several. `samples` as for GptDataset; a blend needs
/// at least 1.
StatusOr<std::unique_ptr<SampleSource>>
openSamples(const std::vector<BlendPart> &parts,
            const GptDatasetOptions &options, Split split, uint64_t samples);

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_BLENDEDDATASET_H
