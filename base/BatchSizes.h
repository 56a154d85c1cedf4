//===- BatchSizes.h - A global batch that may grow --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How many sequences each step of a run takes: one number, or several, one
/// after another, by how many samples were consumed before the step. That is
/// Megatron-LM's rule (RampupBatchsizeNumMicroBatchesCalculator): the step that
/// reaches a bound is still of the smaller batch.
///
/// A program has a step for each number of microbatches. That of the last size
/// is the entry "train_step", the others "train_step.N" for N microbatches.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_BASE_BATCHSIZES_H
#define HOCKET_BASE_BATCHSIZES_H

#include "base/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {

/// Once `from` samples were consumed, a step takes `size`.
struct BatchSize {
  uint64_t from = 0;
  uint64_t size = 1;

  bool operator==(const BatchSize &) const = default;
};

class BatchSizes {
public:
  /// One size from the first sample on.
  explicit BatchSizes(uint64_t size) : rows{{0, size}} {}
  /// InvalidArgument, with the reason, unless the first row is from 0, each row
  /// is from a later sample and of a larger size than the one before it, no
  /// size is 0, and `from` of each is where a step ends.
  static StatusOr<BatchSizes> create(std::vector<BatchSize> rows);

  const std::vector<BatchSize> &sizes() const { return rows; }
  /// Of the step before which so many samples were consumed.
  uint64_t sizeAfter(uint64_t consumed) const;
  /// What the first `steps` steps take; nothing beyond 2^64 - 1.
  std::optional<uint64_t> samplesIn(uint64_t steps) const;
  /// The whole steps that fit into the first `samples` samples.
  uint64_t stepsIn(uint64_t samples) const;

private:
  explicit BatchSizes(std::vector<BatchSize> rows) : rows(std::move(rows)) {}

  std::vector<BatchSize> rows;
};

/// The entry for a step of `microbatches`, of which there are `most` in a step
/// of the last size.
std::string trainEntryName(uint64_t microbatches, uint64_t most);

/// The microbatches of such an entry; nothing for the name of another one, or
/// of none.
std::optional<uint64_t> microbatchesOfEntry(std::string_view entry,
                                            uint64_t most);

/// Whether an entry is a training step, of whatever batch.
bool isTrainEntry(std::string_view entry);

} // namespace hocket

#endif // HOCKET_BASE_BATCHSIZES_H
