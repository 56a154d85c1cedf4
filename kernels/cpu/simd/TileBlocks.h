//===- TileBlocks.h - Blocks of bf16 GEMMs on AMX ---------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// sums[rows][32] (+)= A[rows][k] B[k][32] of bf16: 32 x 32 sums in four
/// tiles, A in two, B's panel of pairs (Gemm.h) in two.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CPU_SIMD_TILEBLOCKS_H
#define HOCKET_KERNELS_CPU_SIMD_TILEBLOCKS_H

#include "kernels/cpu/simd/Panels.h"
#include "kernels/cpu/simd/TileRegisters.h"

namespace hocket::kernels::HOCKET_ISA {
namespace {

/// Elements of k in one row of a tile.
constexpr int64_t kTileDepth = 32;

/// One tile of A, [16][32] bf16, from up to 16 rows and 32 elements of k;
/// zeros elsewhere. `source` has k as its lines and rows as its depth.
void packTileA(const PanelSource &source, uint16_t *to) {
  float part[16 * kTileDepth + kWidth];
  for (int64_t i = source.k * kTileDepth; i < 16 * kTileDepth; ++i)
    part[i] = 0;
  packPanel(source, part, kTileDepth);
  for (int64_t i = source.k * kTileDepth; i < 16 * kTileDepth; ++i)
    part[i] = 0; // what packPanel wrote behind the last row
  for (int64_t i = 0; i < 16 * kTileDepth; i += kWidth)
    storeFirst(to + i, toBf16(load(part + i)), kWidth);
}

/// A as [ceil(rows / 32)][depth / 32] pairs of tiles.
struct TileOperand {
  const uint16_t *a;
  const uint16_t *b; ///< [depth / 2][32][2]
  int64_t depth;     ///< a multiple of 32
};

/// 32 rows of sums: [32][32].
HOCKET_INLINE void multiplyTiles(const TileOperand &t, float *sums,
                                 bool accumulate) {
  constexpr int64_t stride = 32 * sizeof(float);
  if (accumulate) {
    HOCKET_TILE_LOAD(0, sums, stride);
    HOCKET_TILE_LOAD(1, sums + 16, stride);
    HOCKET_TILE_LOAD(2, sums + 16 * 32, stride);
    HOCKET_TILE_LOAD(3, sums + 16 * 32 + 16, stride);
  } else {
    HOCKET_TILE_ZERO(0);
    HOCKET_TILE_ZERO(1);
    HOCKET_TILE_ZERO(2);
    HOCKET_TILE_ZERO(3);
  }
  const uint16_t *a = t.a, *b = t.b;
  for (int64_t p = 0; p < t.depth; p += kTileDepth) {
    HOCKET_TILE_LOAD(4, a, 64);
    HOCKET_TILE_LOAD(5, a + 16 * kTileDepth, 64);
    HOCKET_TILE_LOAD(6, b, 128);
    HOCKET_TILE_LOAD(7, b + 32, 128);
    HOCKET_TILE_DOT(0, 4, 6);
    HOCKET_TILE_DOT(1, 4, 7);
    HOCKET_TILE_DOT(2, 5, 6);
    HOCKET_TILE_DOT(3, 5, 7);
    a += 2 * 16 * kTileDepth;
    b += kTileDepth * 32;
  }
  HOCKET_TILE_STORE(0, sums, stride);
  HOCKET_TILE_STORE(1, sums + 16, stride);
  HOCKET_TILE_STORE(2, sums + 16 * 32, stride);
  HOCKET_TILE_STORE(3, sums + 16 * 32 + 16, stride);
}

} // namespace
} // namespace hocket::kernels::HOCKET_ISA

#endif // HOCKET_KERNELS_CPU_SIMD_TILEBLOCKS_H
