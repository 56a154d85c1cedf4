//===- LibraryCall.h - One call of a library op -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A call of Library.h with its buffers in host memory, and what it says in
/// the terms of kernels/reference: the arguments of the op's function there
/// (and in kernels/cpu, which has the same).
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_LIBRARY_LIBRARYCALL_H
#define HOCKET_KERNELS_LIBRARY_LIBRARYCALL_H

#include "kernels/reference/Attention.h"
#include "kernels/reference/CachedAttention.h"
#include "kernels/reference/CrossEntropy.h"
#include "kernels/reference/Embedding.h"
#include "kernels/reference/Experts.h"
#include "kernels/reference/GlobalNorm.h"
#include "kernels/reference/PlacedRows.h"
#include "kernels/reference/QuantizeBlocks.h"
#include "kernels/reference/Rope.h"
#include "kernels/reference/Router.h"
#include "kernels/reference/StateSpace.h"

#include <span>
#include <vector>

namespace hocket::kernels {

/// One call. Buffers are 64-byte aligned.
struct LibraryCall {
  std::span<void *const> buffers;
  std::span<const int64_t> integers;
  std::span<const double> floats;
  std::span<const int64_t> scalars; ///< values of the step, known at the call
  int accumulate = 0; ///< 1: add to the result (where the op accumulates)
};

namespace library {

inline DType typeOf(int64_t code) { return static_cast<DType>(code); }

// Buffers as what they are.
inline void *at(const LibraryCall &call, size_t i) { return call.buffers[i]; }
inline const int32_t *ids(const LibraryCall &call, size_t i) {
  return static_cast<const int32_t *>(call.buffers[i]);
}
inline float *floatsAt(const LibraryCall &call, size_t i) {
  return static_cast<float *>(call.buffers[i]);
}
inline View view(const LibraryCall &call, size_t i, DType dtype) {
  return {call.buffers[i], dtype};
}
inline View f32(const LibraryCall &call, size_t i) {
  return {call.buffers[i], DType::F32};
}

// The arguments of a call that passed requiredBytes(). Where an op has a form
// for shards, both are read.
EmbeddingArguments embeddingArguments(const LibraryCall &call);
EmbeddingGradientArguments embeddingGradientArguments(const LibraryCall &call);
PlaceRowsArguments placeRowsArguments(const LibraryCall &call);
PlacedRowsGradientArguments
placedRowsGradientArguments(const LibraryCall &call);
RopeTableArguments ropeTableArguments(const LibraryCall &call);
RopeArguments ropeArguments(const LibraryCall &call);
QuantizeBlocksArguments quantizeBlocksArguments(const LibraryCall &call);
DequantizeBlocksArguments dequantizeBlocksArguments(const LibraryCall &call);
AttentionForwardArguments attentionForwardArguments(const LibraryCall &call);
AttentionBackwardArguments attentionBackwardArguments(const LibraryCall &call);
AttentionForwardArguments
attentionForwardBiasedArguments(const LibraryCall &call);
AttentionBackwardArguments
attentionBackwardBiasedArguments(const LibraryCall &call);
AttentionForwardArguments
attentionForwardDocumentsArguments(const LibraryCall &call);
AttentionBackwardArguments
attentionBackwardDocumentsArguments(const LibraryCall &call);
CachedAttentionArguments cachedAttentionArguments(const LibraryCall &call);
CrossEntropyForwardArguments
crossEntropyForwardArguments(const LibraryCall &call);
CrossEntropyBackwardArguments
crossEntropyBackwardArguments(const LibraryCall &call);
CrossEntropyRowsArguments crossEntropyRowsArguments(const LibraryCall &call);
CrossEntropyJointArguments crossEntropyJointArguments(const LibraryCall &call);
MeanLossArguments meanLossArguments(const LibraryCall &call);
std::vector<GlobalNormArguments::Tensor>
globalNormTensors(const LibraryCall &call);

RouterArguments routerArguments(const LibraryCall &call);
RouterGradientArguments routerGradientArguments(const LibraryCall &call);
SinkhornArguments sinkhornArguments(const LibraryCall &call);
RouterProbabilitiesArguments
routerProbabilitiesArguments(const LibraryCall &call);
RouterProbabilitiesGradientArguments
routerProbabilitiesGradientArguments(const LibraryCall &call);
RouterZLossArguments routerZLossArguments(const LibraryCall &call);
RouterZLossGradientArguments
routerZLossGradientArguments(const LibraryCall &call);
BalanceBiasArguments balanceBiasArguments(const LibraryCall &call);
ExpertCountsArguments expertCountsArguments(const LibraryCall &call);
ExpertOrderArguments expertOrderArguments(const LibraryCall &call);
PackSegmentsArguments packSegmentsArguments(const LibraryCall &call);
DispatchArguments dispatchArguments(const LibraryCall &call);
CombineArguments combineArguments(const LibraryCall &call);
CombineWeightGradientArguments
combineWeightGradientArguments(const LibraryCall &call);
GroupedLinearArguments groupedLinearArguments(const LibraryCall &call);
GroupedInputGradientArguments
groupedInputGradientArguments(const LibraryCall &call);
GroupedWeightGradientArguments
groupedWeightGradientArguments(const LibraryCall &call);

CausalConvArguments causalConvArguments(const LibraryCall &call);
CausalConvGradientArguments
causalConvGradientArguments(const LibraryCall &call);
StateScanArguments stateScanArguments(const LibraryCall &call);
StateScanGradientArguments stateScanGradientArguments(const LibraryCall &call);
CachedConvArguments cachedConvArguments(const LibraryCall &call);
CachedScanArguments cachedScanArguments(const LibraryCall &call);

} // namespace library
} // namespace hocket::kernels

#endif // HOCKET_KERNELS_LIBRARY_LIBRARYCALL_H
