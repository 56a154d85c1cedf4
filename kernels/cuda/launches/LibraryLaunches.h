//===- LibraryLaunches.h - The launches of each library op ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Internal to the sources of Library.h: a function an op, which gets a request
/// that requiredBytes() has accepted.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_LAUNCHES_LIBRARYLAUNCHES_H
#define HOCKET_KERNELS_CUDA_LAUNCHES_LIBRARYLAUNCHES_H

#include "kernels/cuda/launches/LaunchText.h"

namespace hocket::kernels::library {

/// Null, or why the call does not run on a GPU.
using LaunchFn = KernelError (*)(const CudaRequest &request, CudaCall &call);

/// Adds a launch, unless it has no blocks; an error if it has too many.
KernelError addLaunch(CudaCall &call, const LaunchText &text,
                      std::array<int64_t, 3> grid, uint32_t threads,
                      int64_t sharedBytes = 0);
/// The same of a grid in one dimension.
KernelError addLaunch(CudaCall &call, const LaunchText &text, int64_t blocks,
                      uint32_t threads);
/// The same to a list of a call's.
KernelError appendLaunch(std::vector<CudaLaunch> &launches,
                         const LaunchText &text, std::array<int64_t, 3> grid,
                         uint32_t threads, int64_t sharedBytes = 0);

// RowLaunches.cpp
KernelError launchEmbedding(const CudaRequest &request, CudaCall &call);
KernelError launchEmbeddingGradient(const CudaRequest &request, CudaCall &call);
KernelError launchPlaceRows(const CudaRequest &request, CudaCall &call);
KernelError launchPlacedRowsGradient(const CudaRequest &request,
                                     CudaCall &call);
KernelError launchRopeTable(const CudaRequest &request, CudaCall &call);
KernelError launchRopeTableAt(const CudaRequest &request, CudaCall &call);
KernelError launchPositions(const CudaRequest &request, CudaCall &call);
KernelError launchRelativeBuckets(const CudaRequest &request, CudaCall &call);
KernelError launchRope(const CudaRequest &request, CudaCall &call);
KernelError launchGlobalNorm(const CudaRequest &request, CudaCall &call);

// LossLaunches.cpp
KernelError launchCrossEntropyForward(const CudaRequest &request,
                                      CudaCall &call);
KernelError launchCrossEntropyBackward(const CudaRequest &request,
                                       CudaCall &call);
KernelError launchCrossEntropyRows(const CudaRequest &request, CudaCall &call);
KernelError launchCrossEntropyShard(const CudaRequest &request, CudaCall &call);
KernelError launchCrossEntropyJoint(const CudaRequest &request, CudaCall &call);
KernelError launchLogSumExp(const CudaRequest &request, CudaCall &call);
KernelError launchCountLabels(const CudaRequest &request, CudaCall &call);
KernelError launchMeanLoss(const CudaRequest &request, CudaCall &call);

// ShardLaunches.cpp
KernelError launchPadRows(const CudaRequest &request, CudaCall &call);
KernelError launchAccumulate(const CudaRequest &request, CudaCall &call);
KernelError launchGatherShards(const CudaRequest &request, CudaCall &call);
KernelError launchScatterShards(const CudaRequest &request, CudaCall &call);
KernelError launchSliceShard(const CudaRequest &request, CudaCall &call);
KernelError launchInsertRows(const CudaRequest &request, CudaCall &call);
KernelError launchShiftRows(const CudaRequest &request, CudaCall &call);
KernelError launchJoinHeads(const CudaRequest &request, CudaCall &call);
KernelError launchSumHeads(const CudaRequest &request, CudaCall &call);
KernelError launchTranspose(const CudaRequest &request, CudaCall &call);
KernelError launchMergeAttention(const CudaRequest &request, CudaCall &call);

// QuantizeLaunches.cpp
KernelError launchQuantizeBlocks(const CudaRequest &request, CudaCall &call);
KernelError launchDequantizeBlocks(const CudaRequest &request, CudaCall &call);

// AttentionLaunches.cpp
/// Whether the MMAs of warps take heads of `dim` elements.
bool fitsFragments(int64_t dtype, int64_t dim);
KernelError launchAttentionForward(const CudaRequest &request, CudaCall &call);
KernelError launchAttentionBackward(const CudaRequest &request, CudaCall &call);
KernelError launchAttentionJoint(const CudaRequest &request, CudaCall &call);

// CachedLaunches.cpp
KernelError launchCachedAttention(const CudaRequest &request, CudaCall &call);

// RouterLaunches.cpp
KernelError launchRouter(const CudaRequest &request, CudaCall &call);
KernelError launchSinkhorn(const CudaRequest &request, CudaCall &call);
KernelError launchRouterGradient(const CudaRequest &request, CudaCall &call);
KernelError launchRouterProbabilities(const CudaRequest &request,
                                      CudaCall &call);
KernelError launchRouterProbabilitiesGradient(const CudaRequest &request,
                                              CudaCall &call);
KernelError launchRouterZLoss(const CudaRequest &request, CudaCall &call);
KernelError launchRouterZLossGradient(const CudaRequest &request,
                                      CudaCall &call);
KernelError launchBalanceBias(const CudaRequest &request, CudaCall &call);

// ExpertLaunches.cpp
KernelError launchExpertCounts(const CudaRequest &request, CudaCall &call);
KernelError launchExpertOrder(const CudaRequest &request, CudaCall &call);
KernelError launchPackSegments(const CudaRequest &request, CudaCall &call);
KernelError launchDispatch(const CudaRequest &request, CudaCall &call);
KernelError launchCombine(const CudaRequest &request, CudaCall &call);
KernelError launchCombineWeightGradient(const CudaRequest &request,
                                        CudaCall &call);

// GroupedLaunches.cpp
KernelError launchGroupedLinear(const CudaRequest &request, CudaCall &call);
KernelError launchGroupedInputGradient(const CudaRequest &request,
                                       CudaCall &call);
KernelError launchGroupedWeightGradient(const CudaRequest &request,
                                        CudaCall &call);

// StateLaunches.cpp
KernelError launchCausalConv(const CudaRequest &request, CudaCall &call);
KernelError launchCausalConvGradient(const CudaRequest &request,
                                     CudaCall &call);
KernelError launchStateScan(const CudaRequest &request, CudaCall &call);
KernelError launchStateScanGradient(const CudaRequest &request, CudaCall &call);
KernelError launchCachedConv(const CudaRequest &request, CudaCall &call);
KernelError launchCachedScan(const CudaRequest &request, CudaCall &call);

} // namespace hocket::kernels::library

#endif // HOCKET_KERNELS_CUDA_LAUNCHES_LIBRARYLAUNCHES_H
