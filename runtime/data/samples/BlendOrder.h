//===- BlendOrder.h - Which dataset a sample of a blend is of ---*- C++ -*-===//
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
/// That takes 6 bytes a sample; a large order is kept in a file (KeptFile.h)
/// beside the first dataset, PREFIX.<digits>.blend: u64 samples and datasets,
/// how many samples each dataset gives (u64), then for each sample its dataset
/// (u16) and its number there (u32).
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_SAMPLES_BLENDORDER_H
#define HOCKET_RUNTIME_DATA_SAMPLES_BLENDORDER_H

#include "runtime/data/KeptFile.h"

#include <optional>
#include <vector>

namespace hocket::data {

/// The weights as shares of their sum. The sum is rounded as NumPy's, which
/// decides ties between datasets.
std::vector<double> normalizeWeights(std::vector<double> weights);

/// Samples to ask of a dataset with this share of `samples`: half a percent
/// more than its share, because the blend is not exactly proportional.
uint64_t samplesOfShare(double weight, uint64_t samples);

/// Sample `number` of dataset `part`.
struct BlendChoice {
  uint16_t part = 0;
  uint32_t number = 0;

  bool operator==(const BlendChoice &) const = default;
};

class BlendOrder {
public:
  /// Of `samples` samples, at least 1 and fewer than 2^32; `weights` sum to 1
  /// and are fewer than 65,536. Large ones in a file beside `prefix`.
  static StatusOr<BlendOrder> open(const std::string &prefix,
                                   const std::vector<double> &weights,
                                   uint64_t samples, const OrderCache &cache);

  uint64_t size() const { return samples; }
  /// How many samples each dataset gives.
  const std::vector<uint64_t> &taken() const { return counts; }
  /// Of a sample below size().
  StatusOr<BlendChoice> choiceOf(uint64_t sample) const;

private:
  uint64_t samples = 0;
  std::vector<uint64_t> counts;
  std::vector<uint16_t> parts; ///< In memory: of each sample,
  std::vector<uint32_t> numbers;
  std::optional<PagedFile> file; ///< or here.
};

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_SAMPLES_BLENDORDER_H
