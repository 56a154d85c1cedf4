//===- DeviceMemory.h - What a program takes of a GPU -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The bytes that a rank allocates on its GPU, to the byte, so that a compiler
/// can say before launch what a driver will ask for: the arena, behind it the
/// fault word (Library.h), and scratch memory that GEMMs and library ops use
/// one after another. Of the driver's own (context, code, NCCL's buffers)
/// nothing is known before.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_DEVICEMEMORY_H
#define HOCKET_KERNELS_CUDA_DEVICEMEMORY_H

#include <cstdint>

namespace hocket::kernels {

/// Scratch memory that cuBLASLt may use in a GEMM: what its makers advise
/// for the GPUs that want most (32 MiB on Hopper).
inline constexpr uint64_t kGemmWorkspaceBytes = 32 << 20;

/// Behind the arena; the fault word is the first of it.
inline constexpr uint64_t kArenaTailBytes = 256;

/// Where the tail of an arena of `bytes` starts.
constexpr uint64_t arenaTailOffset(uint64_t bytes) {
  return (bytes + kArenaTailBytes - 1) / kArenaTailBytes * kArenaTailBytes;
}

/// All that a rank allocates.
constexpr uint64_t gpuBytes(uint64_t arenaBytes, uint64_t scratchBytes) {
  return arenaTailOffset(arenaBytes) + kArenaTailBytes + scratchBytes;
}

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_CUDA_DEVICEMEMORY_H
