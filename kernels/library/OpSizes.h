//===- OpSizes.h - What the entries of the library share --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The sums that check a call, and a function an op that does (LibraryOp::sizes
/// says what); internal to the sources of Library.h.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_LIBRARY_OPSIZES_H
#define HOCKET_KERNELS_LIBRARY_OPSIZES_H

#include "kernels/library/Library.h"
#include "kernels/library/LibraryCall.h"

#include <initializer_list>

namespace hocket::kernels::library {

using Integers = std::span<const int64_t>;
using Floats = std::span<const double>;
using Bytes = std::span<int64_t>;

/// No buffer may be larger, so that byte counts and offsets never overflow.
inline constexpr int64_t kMostBytes = int64_t(1) << 46;

/// Tensors of global_norm.
inline constexpr int kMostTensors = 1 << 16;

inline constexpr KernelError kCount = "wrong number of integers";
inline constexpr KernelError kFloats = "wrong number of floats";
inline constexpr KernelError kDType =
    "an element type that the op does not take";
inline constexpr KernelError kDimension = "a dimension out of range";

inline bool isFloating(int64_t dtype) { return dtype >= 1 && dtype <= 3; }
inline bool isFlag(int64_t value) { return value == 0 || value == 1; }

inline KernelError checkCounts(Integers n, size_t integers, Floats floats,
                               size_t reals) {
  if (n.size() != integers)
    return kCount;
  return floats.size() == reals ? nullptr : kFloats;
}

/// Whether sequences of `whole` can be stored in parts of `part` and the rounds
/// of a call, integer `at`, which is left out where it is 1.
inline bool isStoredIn(Integers n, size_t at, int64_t part, int64_t whole) {
  bool isLeftOut = n.size() <= at;
  return (isLeftOut || n[at] > 1) && isStorable(part, roundsAt(n, at), whole);
}

/// Multiplies dimensions and bytes; remembers if any was out of range.
struct Size {
  bool bad = false;
  int64_t operator()(int64_t elementBytes,
                     std::initializer_list<int64_t> dims) {
    __int128 product = elementBytes;
    for (int64_t dim : dims) {
      if (dim < 0 || dim > INT32_MAX) {
        bad = true;
        return 0;
      }
      product *= dim;
      if (product > kMostBytes) {
        bad = true;
        return 0;
      }
    }
    return static_cast<int64_t>(product);
  }
};

// RowSizes.cpp
KernelError embeddingSizes(Integers n, Floats floats, Bytes bytes);
KernelError embeddingGradientSizes(Integers n, Floats floats, Bytes bytes);
KernelError placeRowsSizes(Integers n, Floats floats, Bytes bytes);
KernelError placedRowsGradientSizes(Integers n, Floats floats, Bytes bytes);
KernelError padRowsSizes(Integers n, Floats floats, Bytes bytes);
KernelError accumulateSizes(Integers n, Floats floats, Bytes bytes);
KernelError ropeTableSizes(Integers n, Floats floats, Bytes bytes);
KernelError ropeTableShardSizes(Integers n, Floats floats, Bytes bytes);
KernelError ropeTableAtSizes(Integers n, Floats floats, Bytes bytes);
KernelError positionsSizes(Integers n, Floats floats, Bytes bytes);
KernelError relativeBucketsSizes(Integers n, Floats floats, Bytes bytes);
KernelError ropeSizes(Integers n, Floats floats, Bytes bytes);
KernelError globalNormSizes(Integers n, Floats floats, Bytes bytes);
KernelError gemmPackSizes(Integers n, Floats floats, Bytes bytes);

// AttentionSizes.cpp
KernelError attentionForwardBytes(Integers n, Floats floats, Bytes bytes);
KernelError attentionBackwardBytes(Integers n, Floats floats, Bytes bytes);
KernelError attentionBackwardJointBytes(Integers n, Floats floats, Bytes bytes);
KernelError attentionForwardShardBytes(Integers n, Floats floats, Bytes bytes);
KernelError attentionBackwardShardBytes(Integers n, Floats floats, Bytes bytes);
KernelError attentionForwardDocumentsBytes(Integers n, Floats floats,
                                           Bytes bytes);
KernelError attentionForwardBiasedBytes(Integers n, Floats floats, Bytes bytes);
KernelError attentionBackwardBiasedBytes(Integers n, Floats floats,
                                         Bytes bytes);
KernelError attentionBackwardDocumentsBytes(Integers n, Floats floats,
                                            Bytes bytes);
KernelError cachedAttentionSizes(Integers n, Floats floats, Bytes bytes);
KernelError cachedAttentionShardSizes(Integers n, Floats floats, Bytes bytes);
KernelError cachedAttentionBiasedSizes(Integers n, Floats floats, Bytes bytes);
KernelError mergeAttentionSizes(Integers n, Floats floats, Bytes bytes);

// LossSizes.cpp
KernelError crossEntropyForwardSizes(Integers n, Floats floats, Bytes bytes);
KernelError crossEntropyBackwardSizes(Integers n, Floats floats, Bytes bytes);
KernelError crossEntropyRowsSizes(Integers n, Floats floats, Bytes bytes);
KernelError crossEntropyShardSizes(Integers n, Floats floats, Bytes bytes);
KernelError crossEntropyJointSizes(Integers n, Floats floats, Bytes bytes);
KernelError logSumExpSizes(Integers n, Floats floats, Bytes bytes);
KernelError countLabelsSizes(Integers n, Floats floats, Bytes bytes);
KernelError meanLossSizes(Integers n, Floats floats, Bytes bytes);

// ShardSizes.cpp
KernelError gatherShardsSizes(Integers n, Floats floats, Bytes bytes);
KernelError scatterShardsSizes(Integers n, Floats floats, Bytes bytes);
KernelError sliceShardSizes(Integers n, Floats floats, Bytes bytes);
KernelError insertRowsSizes(Integers n, Floats floats, Bytes bytes);
KernelError shiftRowsSizes(Integers n, Floats floats, Bytes bytes);
KernelError joinHeadsSizes(Integers n, Floats floats, Bytes bytes);
KernelError sumHeadsSizes(Integers n, Floats floats, Bytes bytes);
KernelError transposeSizes(Integers n, Floats floats, Bytes bytes);
KernelError quantizeBlocksSizes(Integers n, Floats floats, Bytes bytes);
KernelError dequantizeBlocksSizes(Integers n, Floats floats, Bytes bytes);

// ExpertSizes.cpp
KernelError routerSizes(Integers n, Floats floats, Bytes bytes);
KernelError routerBySequenceSizes(Integers n, Floats floats, Bytes bytes);
KernelError sinkhornSizes(Integers n, Floats floats, Bytes bytes);
KernelError routerGradientSizes(Integers n, Floats floats, Bytes bytes);
KernelError routerProbabilitiesSizes(Integers n, Floats floats, Bytes bytes);
KernelError routerProbabilitiesGradientSizes(Integers n, Floats floats,
                                             Bytes bytes);
KernelError routerZLossSizes(Integers n, Floats floats, Bytes bytes);
KernelError routerZLossGradientSizes(Integers n, Floats floats, Bytes bytes);
KernelError balanceBiasSizes(Integers n, Floats floats, Bytes bytes);
KernelError expertCountsSizes(Integers n, Floats floats, Bytes bytes);
KernelError expertOrderSizes(Integers n, Floats floats, Bytes bytes);
KernelError packSegmentsSizes(Integers n, Floats floats, Bytes bytes);
KernelError dispatchSizes(Integers n, Floats floats, Bytes bytes);
KernelError combineSizes(Integers n, Floats floats, Bytes bytes);
KernelError combineWeightGradientSizes(Integers n, Floats floats, Bytes bytes);
KernelError groupedLinearSizes(Integers n, Floats floats, Bytes bytes);
KernelError groupedInputGradientSizes(Integers n, Floats floats, Bytes bytes);
KernelError groupedWeightGradientSizes(Integers n, Floats floats, Bytes bytes);

// StateCalls.cpp
KernelError causalConvSizes(Integers n, Floats floats, Bytes bytes);
KernelError causalConvGradientSizes(Integers n, Floats floats, Bytes bytes);
KernelError stateScanSizes(Integers n, Floats floats, Bytes bytes);
KernelError stateScanGradientSizes(Integers n, Floats floats, Bytes bytes);
KernelError cachedConvSizes(Integers n, Floats floats, Bytes bytes);
KernelError cachedScanSizes(Integers n, Floats floats, Bytes bytes);

} // namespace hocket::kernels::library

#endif // HOCKET_KERNELS_LIBRARY_OPSIZES_H
