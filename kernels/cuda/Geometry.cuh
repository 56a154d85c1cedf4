//===- Geometry.cuh - What kernels and their launches agree on --*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Sizes that both device code and the host, which chooses grids and shared
/// memory, must know.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_GEOMETRY_CUH
#define HOCKET_KERNELS_CUDA_GEOMETRY_CUH

namespace hocket::cuda {

/// Rows of a tile of attention, and threads of its blocks.
constexpr int kTileRows = 64, kAttentionThreads = 128;
/// Bytes by which rows of tiles in shared memory are longer than they need to
/// be, so that fragments are loaded from different banks.
constexpr int kTilePadding = 16;
/// Rows of the table that a block of an embedding's gradient has.
constexpr int kGradientRows = 64, kGradientThreads = 256;
/// Threads of the one block that sums over all tokens.
constexpr int kLossThreads = 1024;
/// Elements of a tensor whose squares a block sums.
constexpr int kNormChunk = 1 << 16;

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_GEOMETRY_CUH
