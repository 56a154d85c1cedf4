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

#ifdef __CUDACC__
#define HOCKET_BOTH __host__ __device__
#else
#define HOCKET_BOTH
#endif

namespace hocket::cuda {

/// Rows of a tile of attention, and threads of its blocks.
constexpr int kTileRows = 64, kAttentionThreads = 128;
/// Bytes by which rows of tiles in shared memory are longer than they need to
/// be, so that fragments are loaded from different banks.
constexpr int kTilePadding = 16;
/// Threads that share a row of o, of `bytes` an element: of 16 bytes each.
HOCKET_BOTH constexpr int deltaLanes(int dim, int bytes) {
  int lanes = 1;
  while (lanes < 32 && lanes * 16 < dim * bytes)
    lanes *= 2;
  return lanes;
}
/// Attention by warpgroups: how many of them multiply, each with 64 rows of
/// queries, beside the one that fetches, so that what they have fits in
/// registers, and, of a sequence in parts, so that a block's rows lie within
/// one where they can: else nothing is left out of what a mask hides. Keys of a
/// tile, and how many tiles of keys, and of values, there is room for.
HOCKET_BOTH constexpr int hopperGroups(int dim, bool drops, long long part) {
  return dim > 64 || drops || part % 192 != 0 ? 2 : 3;
}
HOCKET_BOTH constexpr int hopperStages(int dim) { return dim > 64 ? 2 : 4; }
constexpr int kHopperKeys = 128;
/// Rows of a block, and threads, of its gradients: two groups multiply.
constexpr int kHopperRows = 128, kHopperThreads = 384;
/// Keys that the gradient of 128 queries has at a time, and queries that the
/// gradient of 128 keys has, so that sums and scores fit in registers; and how
/// many tiles of keys and of values together, and of queries, there is room
/// for.
HOCKET_BOTH constexpr int hopperKeys(int dim) { return dim > 64 ? 64 : 128; }
constexpr int kHopperQueries = 64;
constexpr int kHopperGradientStages = 5, kHopperQueryStages = 3;
/// The gradient in five GEMMs, of all rows of a head a block: threads that
/// multiply; f32 sums of 128 queries, and of how many times as many queries the
/// sums are in shared memory; blocks at most, as no GPU of sm_90 has more
/// multiprocessors.
constexpr int kJointHeadThreads = 256, kJointSums = kHopperRows * 64;
constexpr int kJointMostBlocks = 144;
HOCKET_BOTH constexpr int jointHeldPairs(int pairs) {
  return pairs < 3 ? pairs : 3;
}
/// Bytes of shared memory before the tiles begin at a multiple of 1024.
constexpr int kTileAlignment = 1023;

/// Attention without tensor cores: threads of a block, rows that it has of its
/// own (so that sums fit in registers) and of the other operand at a time,
/// elements of rows and rows of GEMMs that it keeps in shared memory.
constexpr int kPlainThreads = 256, kPlainOthers = 64;
constexpr int kPlainDepth = 32, kPlainGemmRows = 16;
HOCKET_BOTH constexpr int plainRows(int dim) {
  return dim <= 128 ? 64 : dim <= 256 ? 32 : 16;
}
/// Backward holds two sums of as many rows.
HOCKET_BOTH constexpr int plainGradientRows(int dim) {
  return dim <= 64 ? 64 : dim <= 128 ? 32 : 16;
}
HOCKET_BOTH constexpr int plainStageFloats(int rows, int dim) {
  int dots = (rows + kPlainOthers) * (kPlainDepth + 1);
  int gemms = kPlainGemmRows * ((dim + 15) / 16 * 16);
  return dots > gemms ? dots : gemms;
}
/// Of `scores` matrices of scores beside what is staged.
HOCKET_BOTH constexpr int plainFloats(int rows, int dim, int scores) {
  return plainStageFloats(rows, dim) + scores * rows * (kPlainOthers + 1);
}

/// Attention over a cache: threads of a block that keeps a token. For one token
/// of each row, the heads that a block has, the columns of values that a warp
/// has, and the floats of a row of scores in shared memory, in which rows are
/// apart so that their pairs lie in different banks; and how many tiles of both
/// there is room for, and bytes of each.
constexpr int kKeepThreads = 128, kFewRows = 16, kFewColumns = 16;
constexpr int kCachedScorePitch = kTileRows + 8, kCacheStages = 8;
constexpr int kCacheStageBytes = kFewRows * kCachedScorePitch * 4 +
                                 kTileRows * (kFewColumns * 2 + kTilePadding);

/// GEMMs of experts: a block has a square of the result, and a depth of the
/// operands at a time, several times over in shared memory. With fragments:
constexpr int kGemmSide = 128, kGemmDepth = 32, kGemmStages = 3;
constexpr int kGemmThreads = 256;
/// by warpgroups, of which so many multiply beside the one that fetches, a
/// rectangle of as many rows and more columns; blocks that take rectangles by
/// turns have so many rows of them in a band, whose operands a cache holds:
constexpr int kGemmWarpgroups = 2, kGroupThreads = 128 * (kGemmWarpgroups + 1);
constexpr int kGroupColumns = 256, kGroupDepth = 64, kGroupStages = 4;
constexpr int kGroupBand = 16;
constexpr int kGroupStageBytes = (kGemmSide + kGroupColumns) * kGroupDepth * 2;
constexpr int kGroupBytes = kGroupStages * kGroupStageBytes;
/// and rows of 16, columns of 32 results that a warp stores at a time.
constexpr int kGroupPieceBytes = 16 * 32 * 2;
/// and without, one result a thread and 16 of its rows and columns:
constexpr int kPlainSide = 64, kPlainGemmDepth = 16;
/// Bytes of an operand of a GEMM in shared memory, whichever way it lies.
constexpr int kOperandBytes = kGemmSide * (kGemmDepth * 2 + kTilePadding);
static_assert(kGemmDepth * (kGemmSide * 2 + kTilePadding) <= kOperandBytes);
constexpr int kGemmBytes = 2 * kGemmStages * kOperandBytes;

/// Rows of the table that a block of an embedding's gradient has at most.
constexpr int kGradientRows = 64, kGradientThreads = 256;
/// Threads of a block that sums over tokens, and how many blocks there are at
/// most.
constexpr int kLossThreads = 256, kLossBlocks = 128;

/// Threads that take a row of logits and its gradient together, and what they
/// keep of it in shared memory: all of 50,304 in 16 bits, in what every GPU
/// from Ampere on gives a block; two such blocks on those of data centres but
/// for A100.
constexpr int kJointThreads = 512, kLossRowBytes = 100608;
/// Side of the tile of a matrix of bytes that a block transposes.
constexpr int kTransposeSide = 128;
/// Elements of a tensor whose squares a block sums.
constexpr int kNormChunk = 1 << 16;

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_GEOMETRY_CUH
