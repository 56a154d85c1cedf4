//===- LibraryCalls.h - Ops that have no other function ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Internal to the sources of Library.h: ops that are too small for a function
/// of their own with arguments of its own.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CPU_LIBRARYCALLS_H
#define HOCKET_KERNELS_CPU_LIBRARYCALLS_H

#include "kernels/cpu/Library.h"

namespace hocket::kernels::library {

using Integers = std::span<const int64_t>;

// ShardLibrary.cpp
KernelError runPadRows(const LibraryCall &call, Workers &workers);
KernelError runAccumulate(const LibraryCall &call, Workers &workers);
KernelError runLogSumExp(const LibraryCall &call, Workers &workers);
KernelError runCountLabels(const LibraryCall &call, Workers &workers);
KernelError runGatherShards(const LibraryCall &call, Workers &workers);
KernelError runScatterShards(const LibraryCall &call, Workers &workers);
KernelError runSliceShard(const LibraryCall &call, Workers &workers);
KernelError runInsertRows(const LibraryCall &call, Workers &workers);
KernelError runShiftRows(const LibraryCall &call, Workers &workers);
KernelError runJoinHeads(const LibraryCall &call, Workers &workers);
KernelError runSumHeads(const LibraryCall &call, Workers &workers);
KernelError runTranspose(const LibraryCall &call, Workers &workers);

// SequenceLibrary.cpp
KernelError runPositions(const LibraryCall &call, Workers &workers);
KernelError runRelativeBuckets(const LibraryCall &call, Workers &workers);
KernelError runRopeTableShard(const LibraryCall &call, Workers &workers);
KernelError runCachedAttention(const LibraryCall &call, Workers &workers);
KernelError runCachedConv(const LibraryCall &call, Workers &workers);
KernelError runCachedScan(const LibraryCall &call, Workers &workers);
KernelError runMergeAttention(const LibraryCall &call, Workers &workers);

} // namespace hocket::kernels::library

#endif // HOCKET_KERNELS_CPU_LIBRARYCALLS_H
