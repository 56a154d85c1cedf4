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
/// zeros elsewhere. `source` has rows as its lines.
void packTileA(const PanelSource &source, uint16_t *to) {
  constexpr int64_t words = kTileDepth / 2;
  static_assert(words == kWidth);
  if (source.kMajor) {
    // Pairs of k of 16 rows, turned over. The rows behind are asked for, which
    // come next and lie as far apart.
    auto row = [&](int64_t p) {
      if (p >= source.k || source.lines <= 0)
        return zero();
      int64_t at = source.start + p * source.stride;
      __builtin_prefetch(static_cast<const char *>(source.matrix.data) +
                         (at + 32) * bytesOf(source.matrix.dtype));
      return loadFactor(source.matrix, at, source.lines);
    };
    Vec pairs[words];
#pragma unroll
    for (int64_t p = 0; p < words; ++p)
      pairs[p] = pairsOf(row(2 * p), row(2 * p + 1));
    transpose(pairs);
#pragma unroll
    for (int64_t r = 0; r < words; ++r)
      store(reinterpret_cast<float *>(to) + r * words, pairs[r]);
    return;
  }
  for (int64_t r = 0; r < 16; ++r)
    for (int64_t p = 0; p < kTileDepth; p += kWidth) {
      int64_t n = std::clamp<int64_t>(source.k - p, 0, kWidth);
      Vec x = r < source.lines && n > 0
                  ? loadFactor(source.matrix,
                               source.start + r * source.stride + p, n)
                  : zero();
      storeFirst(to + r * kTileDepth + p, toBf16(x), kWidth);
    }
}

/// 32 rows of A, where they lie or packed, and a panel of B.
struct TileOperand {
  const uint16_t *a;
  int64_t rowBytes;  ///< from a row of A to the next
  int64_t half;      ///< elements from row 0 to row 16
  int64_t step;      ///< elements from k to k + 32
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
    HOCKET_TILE_LOAD(4, a, t.rowBytes);
    HOCKET_TILE_LOAD(6, b, 128);
    HOCKET_TILE_LOAD(7, b + 32, 128);
    HOCKET_TILE_DOT(0, 4, 6);
    HOCKET_TILE_DOT(1, 4, 7);
    HOCKET_TILE_LOAD(5, a + t.half, t.rowBytes);
    HOCKET_TILE_DOT(2, 5, 6);
    HOCKET_TILE_DOT(3, 5, 7);
    a += t.step;
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
