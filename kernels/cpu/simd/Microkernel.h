//===- Microkernel.h - GEMMs of small tiles ---------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// C[rows, columns] (+)= A^T B for tiles that fit in registers: A is stored
/// [k][lda] (a column of the GEMM's left side is contiguous), B [k][ldb].
/// One step of k loads kVectors vectors of B, broadcasts each row's element of
/// A, and does rows * kVectors multiply-adds on as many accumulators: 14 x 32
/// of the 32 registers of AVX-512, 6 x 16 of the 16 of AVX2. An element of A or
/// B may be a pair of bf16, two steps of k, instead of a float.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CPU_SIMD_MICROKERNEL_H
#define HOCKET_KERNELS_CPU_SIMD_MICROKERNEL_H

#include "kernels/cpu/simd/Vector.h"

namespace hocket::kernels::HOCKET_ISA {
namespace {

constexpr int64_t kVectors = 2;
constexpr int64_t kTileColumns = kVectors * kWidth;
constexpr int64_t kTileRows = kWidth == 16 ? 14 : 6;

struct TileOperands {
  int64_t k;
  const float *a;
  int64_t lda;
  const float *b;
  int64_t ldb;
  float *c;
  int64_t ldc;
  bool accumulate; ///< else C is overwritten
};

template <int Rows, int Vectors, bool Pairs>
void multiplyTile(const TileOperands &t) {
  Vec sum[Rows][Vectors];
#pragma unroll
  for (int i = 0; i < Rows; ++i)
#pragma unroll
    for (int v = 0; v < Vectors; ++v)
      sum[i][v] = zero();
  const float *a = t.a, *b = t.b;
  for (int64_t p = 0; p < t.k; ++p, a += t.lda, b += t.ldb) {
    Vec row[Vectors];
#pragma unroll
    for (int v = 0; v < Vectors; ++v)
      row[v] = load(b + v * kWidth);
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
      Vec factor = broadcast(a[i]);
#pragma unroll
      for (int v = 0; v < Vectors; ++v)
        sum[i][v] = Pairs ? dotPairs(factor, row[v], sum[i][v])
                          : fma(factor, row[v], sum[i][v]);
    }
  }
#pragma unroll
  for (int i = 0; i < Rows; ++i)
#pragma unroll
    for (int v = 0; v < Vectors; ++v) {
      float *c = t.c + i * t.ldc + v * kWidth;
      store(c, t.accumulate ? add(load(c), sum[i][v]) : sum[i][v]);
    }
}

using TileFunction = void (*)(const TileOperands &);

template <int Vectors, bool Pairs = false>
TileFunction tileFunction(int64_t rows) {
#define HOCKET_ROWS(n) multiplyTile<n, Vectors, Pairs>
  static constexpr TileFunction functions[] = {
      HOCKET_ROWS(1),  HOCKET_ROWS(2),  HOCKET_ROWS(3),  HOCKET_ROWS(4),
      HOCKET_ROWS(5),  HOCKET_ROWS(6),
#ifdef __AVX512F__
      HOCKET_ROWS(7),  HOCKET_ROWS(8),  HOCKET_ROWS(9),  HOCKET_ROWS(10),
      HOCKET_ROWS(11), HOCKET_ROWS(12), HOCKET_ROWS(13), HOCKET_ROWS(14),
#endif
  };
#undef HOCKET_ROWS
  return functions[rows - 1];
}

/// `rows` in as few tiles as possible, as equal as possible: where tile
/// `tile` of `tiles` begins.
HOCKET_INLINE int64_t tileCount(int64_t rows) {
  return (rows + kTileRows - 1) / kTileRows;
}
HOCKET_INLINE int64_t tileBegin(int64_t rows, int64_t tiles, int64_t tile) {
  return rows * tile / tiles;
}

} // namespace
} // namespace hocket::kernels::HOCKET_ISA

#endif // HOCKET_KERNELS_CPU_SIMD_MICROKERNEL_H
