//===- LibraryCalls.h - What the entries of the library share ---*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reading a LibraryCall, and the sums that check one; internal to the sources
/// of Library.h. The entries of mixtures of experts and of pieces of tensors
/// are declared here because they have sources of their own.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CPU_LIBRARYCALLS_H
#define HOCKET_KERNELS_CPU_LIBRARYCALLS_H

#include "kernels/cpu/Library.h"

#include <initializer_list>

namespace hocket::kernels::library {

using Integers = std::span<const int64_t>;
using Floats = std::span<const double>;
using Bytes = std::span<int64_t>;

/// No buffer may be larger, so that byte counts and offsets never overflow.
inline constexpr int64_t kMostBytes = int64_t(1) << 46;

inline constexpr KernelError kCount = "wrong number of integers";
inline constexpr KernelError kFloats = "wrong number of floats";
inline constexpr KernelError kDType =
    "an element type that the op does not take";
inline constexpr KernelError kDimension = "a dimension out of range";

inline bool isFloating(int64_t dtype) { return dtype >= 1 && dtype <= 3; }
inline DType typeOf(int64_t code) { return static_cast<DType>(code); }
inline bool isFlag(int64_t value) { return value == 0 || value == 1; }

inline KernelError checkCounts(Integers n, size_t integers, Floats floats,
                               size_t reals) {
  if (n.size() != integers)
    return kCount;
  return floats.size() == reals ? nullptr : kFloats;
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

inline void *at(const LibraryCall &call, size_t i) { return call.buffers[i]; }
inline const int32_t *ids(const LibraryCall &call, size_t i) {
  return static_cast<const int32_t *>(call.buffers[i]);
}
inline View view(const LibraryCall &call, size_t i, DType dtype) {
  return {call.buffers[i], dtype};
}
inline View f32(const LibraryCall &call, size_t i) {
  return {call.buffers[i], DType::F32};
}

// PieceLibrary.cpp
KernelError crossEntropyRowsSizes(Integers n, Floats floats, Bytes bytes);
KernelError runCrossEntropyRows(const LibraryCall &call, Workers &workers);
KernelError crossEntropyPieceSizes(Integers n, Floats floats, Bytes bytes);
KernelError runCrossEntropyPiece(const LibraryCall &call, Workers &workers);
KernelError logSumExpSizes(Integers n, Floats floats, Bytes bytes);
KernelError runLogSumExp(const LibraryCall &call, Workers &workers);
KernelError countLabelsSizes(Integers n, Floats floats, Bytes bytes);
KernelError runCountLabels(const LibraryCall &call, Workers &workers);
KernelError meanLossSizes(Integers n, Floats floats, Bytes bytes);
KernelError runMeanLoss(const LibraryCall &call, Workers &workers);
KernelError gatherPiecesSizes(Integers n, Floats floats, Bytes bytes);
KernelError scatterPiecesSizes(Integers n, Floats floats, Bytes bytes);
KernelError runGatherPieces(const LibraryCall &call, Workers &workers);
KernelError runScatterPieces(const LibraryCall &call, Workers &workers);
KernelError slicePieceSizes(Integers n, Floats floats, Bytes bytes);
KernelError runSlicePiece(const LibraryCall &call, Workers &workers);

// SequenceLibrary.cpp
KernelError positionsSizes(Integers n, Floats floats, Bytes bytes);
KernelError runPositions(const LibraryCall &call, Workers &workers);
KernelError ropeTablePieceSizes(Integers n, Floats floats, Bytes bytes);
KernelError runRopeTablePiece(const LibraryCall &call, Workers &workers);
KernelError mergeAttentionSizes(Integers n, Floats floats, Bytes bytes);
KernelError runMergeAttention(const LibraryCall &call, Workers &workers);

// ExpertLibrary.cpp
KernelError routerSizes(Integers n, Floats floats, Bytes bytes);
KernelError runRouter(const LibraryCall &call, Workers &workers);
KernelError routerGradientSizes(Integers n, Floats floats, Bytes bytes);
KernelError runRouterGradient(const LibraryCall &call, Workers &workers);
KernelError routerProbabilitiesSizes(Integers n, Floats floats, Bytes bytes);
KernelError runRouterProbabilities(const LibraryCall &call, Workers &workers);
KernelError routerProbabilitiesGradientSizes(Integers n, Floats floats,
                                             Bytes bytes);
KernelError runRouterProbabilitiesGradient(const LibraryCall &call,
                                           Workers &workers);
KernelError routerZLossSizes(Integers n, Floats floats, Bytes bytes);
KernelError runRouterZLoss(const LibraryCall &call, Workers &workers);
KernelError routerZLossGradientSizes(Integers n, Floats floats, Bytes bytes);
KernelError runRouterZLossGradient(const LibraryCall &call, Workers &workers);
KernelError balanceBiasSizes(Integers n, Floats floats, Bytes bytes);
KernelError runBalanceBias(const LibraryCall &call, Workers &workers);
KernelError expertCountsSizes(Integers n, Floats floats, Bytes bytes);
KernelError runExpertCounts(const LibraryCall &call, Workers &workers);
KernelError expertOrderSizes(Integers n, Floats floats, Bytes bytes);
KernelError runExpertOrder(const LibraryCall &call, Workers &workers);
KernelError dispatchSizes(Integers n, Floats floats, Bytes bytes);
KernelError runDispatch(const LibraryCall &call, Workers &workers);
KernelError combineSizes(Integers n, Floats floats, Bytes bytes);
KernelError runCombine(const LibraryCall &call, Workers &workers);
KernelError combineWeightGradientSizes(Integers n, Floats floats, Bytes bytes);
KernelError runCombineWeightGradient(const LibraryCall &call, Workers &workers);
KernelError groupedLinearSizes(Integers n, Floats floats, Bytes bytes);
KernelError runGroupedLinear(const LibraryCall &call, Workers &workers);
KernelError groupedInputGradientSizes(Integers n, Floats floats, Bytes bytes);
KernelError runGroupedInputGradient(const LibraryCall &call, Workers &workers);
KernelError groupedWeightGradientSizes(Integers n, Floats floats, Bytes bytes);
KernelError runGroupedWeightGradient(const LibraryCall &call, Workers &workers);

} // namespace hocket::kernels::library

#endif // HOCKET_KERNELS_CPU_LIBRARYCALLS_H
