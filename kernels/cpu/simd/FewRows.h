//===- FewRows.h - GEMMs of one or a few rows -------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What one or a few tokens are multiplied by is read once and used at once, so
/// that reading it is all that it costs. Of a packed B that is all; of a plain
/// one, kWidth columns of op(B), which are stored as rows, are turned in
/// registers, a block of kWidth x kWidth at a time. Sums are formed over k in
/// the order of all other tiles, so that a token's result is the same beside
/// any number of others. An element of A and B may be a pair of bf16, two steps
/// of k, instead of a float.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CPU_SIMD_FEWROWS_H
#define HOCKET_KERNELS_CPU_SIMD_FEWROWS_H

#include "kernels/cpu/simd/Vector.h"

#include <algorithm>

namespace hocket::kernels::HOCKET_ISA {
namespace {

/// Columns of a panel of B, as in the packed form.
constexpr int64_t kPanel = 32;

/// Rows whose sums stay in registers, beside a block of B.
constexpr int kFewRows = kWidth == 16 ? 8 : 4;

/// Up to kWidth columns of op(B), and A as f32.
struct FewRowsOperands {
  int64_t k, depth; ///< depth: of a block of sums, a multiple of kWidth
  const float *a;   ///< [rows][k]
  ConstView b;      ///< from the first column on, [columns][k]
  int64_t columns;
  float *sums; ///< [rows][stride]; lanes behind `columns` are unspecified
  int64_t stride;
};

/// Vectors of k by which memory is asked for ahead of its use.
constexpr int64_t kAhead = 4;

/// Of the same columns or, at their end, of those that follow.
HOCKET_INLINE void prefetchBlock(const FewRowsOperands &t, int64_t p,
                                 int64_t element) {
  int64_t at = p + kAhead * kWidth;
  if (at >= t.k)
    at += (kWidth - 1) * t.k;
  const char *start = static_cast<const char *>(t.b.data) + at * element;
#pragma unroll
  for (int64_t i = 0; i < kWidth; ++i)
    __builtin_prefetch(start + i * t.k * element, 0, 3);
}

/// Elements [p, p + n) of all columns, k-major.
template <DType Type>
HOCKET_INLINE void loadBlock(const FewRowsOperands &t, int64_t p, int64_t n,
                             Vec (&block)[kWidth]) {
#pragma unroll
  for (int64_t i = 0; i < kWidth; ++i)
    block[i] = loadFirst(ConstView{t.b.data, Type},
                         std::min(i, t.columns - 1) * t.k + p, n);
  transpose(block);
}

template <bool Pairs> HOCKET_INLINE Vec addProduct(Vec a, Vec b, Vec sum) {
  return Pairs ? dotPairs(a, b, sum) : fma(a, b, sum);
}

/// sum += A's elements at `p` of each row, times one vector of B.
template <int Rows, bool Pairs = false>
HOCKET_INLINE void addProducts(const FewRowsOperands &t, int64_t p, Vec b,
                               Vec (&sum)[Rows]) {
#pragma unroll
  for (int i = 0; i < Rows; ++i)
    sum[i] = addProduct<Pairs>(broadcast(t.a[i * t.k + p]), b, sum[i]);
}

/// Of bf16, as many pairs are turned at once; from `p` while they are whole.
template <int Rows>
HOCKET_INLINE int64_t addPairs(const FewRowsOperands &t, int64_t p, int64_t end,
                               Vec (&sum)[Rows]) {
  const auto *b = static_cast<const uint16_t *>(t.b.data);
  for (; p + 2 * kWidth <= end; p += 2 * kWidth) {
    prefetchBlock(t, p, 2);
    Vec block[kWidth];
#pragma unroll
    for (int64_t i = 0; i < kWidth; ++i)
      block[i] = load(reinterpret_cast<const float *>(
          b + std::min(i, t.columns - 1) * t.k + p));
    transpose(block);
#pragma unroll
    for (int64_t j = 0; j < kWidth; ++j) {
      addProducts<Rows>(t, p + 2 * j, firstOfPairs(block[j]), sum);
      addProducts<Rows>(t, p + 2 * j + 1, secondOfPairs(block[j]), sum);
    }
  }
  return p;
}

template <int Rows, DType Type, bool Pairs>
void multiplyFewRows(const FewRowsOperands &t) {
  constexpr int64_t element = Type == DType::F32 ? 4 : 2;
  for (int64_t begin = 0; begin < t.k; begin += t.depth) {
    Vec sum[Rows];
#pragma unroll
    for (int i = 0; i < Rows; ++i)
      sum[i] = zero();
    int64_t end = std::min(begin + t.depth, t.k), p = begin;
    if constexpr (Type == DType::BF16)
      p = addPairs<Rows>(t, p, end, sum);
    for (; p + kWidth <= end; p += kWidth) {
      prefetchBlock(t, p, element);
      Vec block[kWidth];
      loadBlock<Type>(t, p, kWidth, block);
#pragma unroll
      for (int64_t j = 0; j < kWidth; ++j)
        addProducts<Rows, Pairs>(t, p + j, block[j], sum);
    }
    if (p < end) {
      Vec block[kWidth];
      loadBlock<Type>(t, p, end - p, block);
      for (int64_t j = 0; j < end - p; ++j)
        addProducts<Rows, Pairs>(t, p + j, block[j], sum);
    }
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
      float *to = t.sums + i * t.stride;
      store(to, begin > 0 ? add(load(to), sum[i]) : sum[i]);
    }
  }
}

/// Vectors of a packed panel at a time: as many sums of a row do not wait for
/// each other.
constexpr int64_t kAtOnce = 2;

/// sum += A's elements at `p` of each row, times kAtOnce vectors of B.
template <int Rows, bool Pairs>
HOCKET_INLINE void addPanelProducts(const FewRowsOperands &t, int64_t p,
                                    const Vec (&b)[kAtOnce],
                                    Vec (&sum)[Rows][kAtOnce]) {
#pragma unroll
  for (int i = 0; i < Rows; ++i) {
    Vec a = broadcast(t.a[i * t.k + p]);
#pragma unroll
    for (int v = 0; v < kAtOnce; ++v)
      sum[i][v] = addProduct<Pairs>(a, b[v], sum[i][v]);
  }
}

/// Elements [p, p + 2) of kAtOnce * kWidth columns of a packed panel
/// (kernels/cpu/Gemm.h) times those of A; only the first if `isOdd`.
template <int Rows, DType Type, bool Pairs>
HOCKET_INLINE void addPackedPair(const FewRowsOperands &t, int64_t p,
                                 bool isOdd, Vec (&sum)[Rows][kAtOnce]) {
  Vec first[kAtOnce], second[kAtOnce];
#pragma unroll
  for (int v = 0; v < kAtOnce; ++v) {
    if constexpr (Type == DType::BF16) {
      // A pair of bf16 is as wide as a float.
      Vec pairs = load(static_cast<const float *>(t.b.data) + p / 2 * kPanel +
                       v * kWidth);
      first[v] = firstOfPairs(pairs);
      second[v] = secondOfPairs(pairs);
    } else {
      const float *at =
          static_cast<const float *>(t.b.data) + p * kPanel + v * kWidth;
      first[v] = load(at);
      second[v] = isOdd ? zero() : load(at + kPanel);
    }
  }
  addPanelProducts<Rows, Pairs>(t, p, first, sum);
  if (!isOdd)
    addPanelProducts<Rows, Pairs>(t, p + 1, second, sum);
}

/// kAtOnce * kWidth columns of a packed panel; `b` begins there.
template <int Rows, DType Type, bool Pairs>
void multiplyPacked(const FewRowsOperands &t) {
  for (int64_t begin = 0; begin < t.k; begin += t.depth) {
    Vec sum[Rows][kAtOnce];
#pragma unroll
    for (int i = 0; i < Rows; ++i)
#pragma unroll
      for (int v = 0; v < kAtOnce; ++v)
        sum[i][v] = zero();
    int64_t end = std::min(begin + t.depth, t.k), p = begin;
    for (; p + 2 <= end; p += 2)
      addPackedPair<Rows, Type, Pairs>(t, p, false, sum);
    if (p < end)
      addPackedPair<Rows, Type, Pairs>(t, p, true, sum);
#pragma unroll
    for (int i = 0; i < Rows; ++i)
#pragma unroll
      for (int v = 0; v < kAtOnce; ++v) {
        float *to = t.sums + i * t.stride + v * kWidth;
        store(to, begin > 0 ? add(load(to), sum[i][v]) : sum[i][v]);
      }
  }
}

using FewRowsFunction = void (*)(const FewRowsOperands &);

template <int Rows, DType Type, bool Packed, bool Pairs>
void multiplyRows(const FewRowsOperands &t) {
  if constexpr (Packed)
    multiplyPacked<Rows, Type, Pairs>(t);
  else
    multiplyFewRows<Rows, Type, Pairs>(t);
}

template <DType Type, bool Packed, bool Pairs = false>
FewRowsFunction fewRowsFunction(int64_t rows) {
#define HOCKET_ROWS(n) multiplyRows<n, Type, Packed, Pairs>
  static constexpr FewRowsFunction functions[] = {
      HOCKET_ROWS(1), HOCKET_ROWS(2), HOCKET_ROWS(3), HOCKET_ROWS(4),
#ifdef __AVX512F__
      HOCKET_ROWS(5), HOCKET_ROWS(6), HOCKET_ROWS(7), HOCKET_ROWS(8),
#endif
  };
#undef HOCKET_ROWS
  return functions[rows - 1];
}

/// Of a packed B, which holds f32 unless it was of bf16.
HOCKET_INLINE FewRowsFunction packedRowsFunction(DType type, int64_t rows) {
  return type == DType::BF16 ? fewRowsFunction<DType::BF16, true>(rows)
                             : fewRowsFunction<DType::F32, true>(rows);
}

/// For B of f32, bf16 or f16, and up to kFewRows rows.
HOCKET_INLINE FewRowsFunction fewRowsFunction(DType type, int64_t rows) {
  return type == DType::F32    ? fewRowsFunction<DType::F32, false>(rows)
         : type == DType::BF16 ? fewRowsFunction<DType::BF16, false>(rows)
                               : fewRowsFunction<DType::F16, false>(rows);
}

} // namespace
} // namespace hocket::kernels::HOCKET_ISA

#endif // HOCKET_KERNELS_CPU_SIMD_FEWROWS_H
