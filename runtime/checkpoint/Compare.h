//===- Compare.h - What two checkpoints differ in ---------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Looks at tensors by their global names and shapes, however each checkpoint
/// has cut them. Elements are read a window at a time: memory does not grow
/// with the model.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_CHECKPOINT_COMPARE_H
#define HOCKET_RUNTIME_CHECKPOINT_COMPARE_H

#include "runtime/checkpoint/Checkpoint.h"

#include <functional>

namespace hocket::checkpoint {

/// Of the elements of a tensor of floats. Not-a-numbers and infinities are
/// counted and left out of the rest.
struct TensorStatistics {
  uint64_t elements = 0, notFinite = 0;
  double minimum = 0, maximum = 0, mean = 0;
  double rms = 0; ///< Root of the mean square.
};

/// How the elements of two tensors of one name, type and shape differ.
struct TensorDifference {
  TensorKey key;
  uint64_t elements = 0;
  uint64_t unequal = 0; ///< By their bits, but 0 and -0 are equal.
  /// Of a - b, over the elements where both are finite; 0 for types that are no
  /// floats.
  double largest = 0;
  /// The norm of a - b by that of a; infinity where a is 0 and b is not.
  double relative = 0;
};

struct Comparison {
  /// In one alone, or of another type or shape in the other: "a.weight: F32
  /// [2, 3] here, F32 [3, 2] there".
  std::vector<std::string> mismatches;
  std::vector<TensorDifference> different; ///< Sorted by key.
  uint64_t equal = 0;                      ///< Tensors.
};

/// Called with the bytes that were read since the last call.
using ReadProgress = std::function<void(uint64_t bytes)>;

/// nullopt for a tensor that is not of F32, F16, BF16 or F64.
StatusOr<std::optional<TensorStatistics>>
statisticsOf(const Checkpoint &checkpoint, const TensorSpec &spec,
             const ReadProgress &progress);

/// With `slots` false, of weights alone.
StatusOr<Comparison> compare(const Checkpoint &a, const Checkpoint &b,
                             bool slots, const ReadProgress &progress);

} // namespace hocket::checkpoint

#endif // HOCKET_RUNTIME_CHECKPOINT_COMPARE_H
