//===- Vector.h - Vectors of floats -----------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A register of floats and what kernels do with it, for the instruction set
/// that a source of this folder is compiled for. Each of these sources is
/// compiled once per instruction set, inside a namespace of its own
/// (HOCKET_ISA), and everything here is internal to its source: two sources
/// must never share a copy of one function.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CPU_SIMD_VECTOR_H
#define HOCKET_KERNELS_CPU_SIMD_VECTOR_H

#include "kernels/reference/Element.h"

#include <immintrin.h>

#define HOCKET_INLINE [[gnu::always_inline]] static inline

namespace hocket::kernels::HOCKET_ISA {
namespace {

#ifdef __AVX512F__

using Vec = __m512;
using IntVec = __m512i;
constexpr int64_t kWidth = 16;

/// The first n lanes, 0 <= n; all of them from n = 16 on.
HOCKET_INLINE __mmask16 firstLanes(int64_t n) {
  return n >= 16 ? __mmask16(0xffff) : __mmask16((1u << n) - 1);
}

HOCKET_INLINE Vec zero() { return _mm512_setzero_ps(); }
HOCKET_INLINE Vec broadcast(float x) { return _mm512_set1_ps(x); }
HOCKET_INLINE Vec load(const float *p) { return _mm512_loadu_ps(p); }
HOCKET_INLINE void store(float *p, Vec x) { _mm512_storeu_ps(p, x); }
HOCKET_INLINE Vec add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
HOCKET_INLINE Vec sub(Vec a, Vec b) { return _mm512_sub_ps(a, b); }
HOCKET_INLINE Vec mul(Vec a, Vec b) { return _mm512_mul_ps(a, b); }
HOCKET_INLINE Vec div(Vec a, Vec b) { return _mm512_div_ps(a, b); }
HOCKET_INLINE Vec fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
/// c - a * b.
HOCKET_INLINE Vec fnma(Vec a, Vec b, Vec c) {
  return _mm512_fnmadd_ps(a, b, c);
}
/// The second operand where either is a NaN.
HOCKET_INLINE Vec max(Vec a, Vec b) { return _mm512_max_ps(a, b); }
HOCKET_INLINE Vec min(Vec a, Vec b) { return _mm512_min_ps(a, b); }
HOCKET_INLINE Vec abs(Vec a) { return _mm512_abs_ps(a); }
/// a < b ? x : y.
HOCKET_INLINE Vec selectLess(Vec a, Vec b, Vec x, Vec y) {
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), y, x);
}
HOCKET_INLINE float sumOf(Vec a) { return _mm512_reduce_add_ps(a); }
HOCKET_INLINE float maxOf(Vec a) { return _mm512_reduce_max_ps(a); }
HOCKET_INLINE Vec round(Vec a) {
  return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT);
}
/// a * 2^n for integral n, with underflow to 0 and overflow to infinity.
HOCKET_INLINE Vec scaleByPowerOfTwo(Vec a, Vec n) {
  return _mm512_scalef_ps(a, n);
}
HOCKET_INLINE Vec loadFirst(const float *p, int64_t n) {
  return _mm512_maskz_loadu_ps(firstLanes(n), p);
}
HOCKET_INLINE void storeFirst(float *p, Vec x, int64_t n) {
  _mm512_mask_storeu_ps(p, firstLanes(n), x);
}

using HalfVec = __m256i; // kWidth 16-bit elements
HOCKET_INLINE HalfVec loadFirst(const uint16_t *p, int64_t n) {
  return _mm256_maskz_loadu_epi16(firstLanes(n), p);
}
HOCKET_INLINE void storeFirst(uint16_t *p, HalfVec x, int64_t n) {
  _mm256_mask_storeu_epi16(p, firstLanes(n), x);
}
/// Bytes, each zero-extended to 16 bits.
HOCKET_INLINE HalfVec loadFirst(const uint8_t *p, int64_t n) {
  return _mm256_cvtepu8_epi16(
      _mm_maskz_loadu_epi8(static_cast<__mmask16>(firstLanes(n)), p));
}
HOCKET_INLINE Vec fromE5m2(HalfVec codes) {
  return _mm512_cvtph_ps(_mm256_slli_epi16(codes, 8));
}
/// As e4m3ToFloat() has it: halves that stand for 2^-8 of the number.
HOCKET_INLINE Vec fromE4m3(HalfVec codes) {
  HalfVec number = _mm256_and_si256(codes, _mm256_set1_epi16(0x7f));
  HalfVec sign = _mm256_and_si256(codes, _mm256_set1_epi16(0x80));
  HalfVec half =
      _mm256_or_si256(_mm256_slli_epi16(number, 7), _mm256_slli_epi16(sign, 8));
  __mmask16 isNan = _mm256_cmpeq_epi16_mask(number, _mm256_set1_epi16(0x7f));
  return _mm512_mask_mov_ps(
      _mm512_mul_ps(_mm512_cvtph_ps(half), _mm512_set1_ps(0x1p8f)), isNan,
      _mm512_set1_ps(__builtin_nanf("")));
}
HOCKET_INLINE Vec fromBf16(HalfVec x) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
}
HOCKET_INLINE HalfVec toBf16(Vec x) {
  IntVec bits = _mm512_castps_si512(x);
  IntVec odd =
      _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  IntVec sum =
      _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  IntVec quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
  sum =
      _mm512_mask_mov_epi32(sum, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), quiet);
  return _mm512_cvtepi32_epi16(_mm512_srli_epi32(sum, 16));
}
HOCKET_INLINE Vec fromF16(HalfVec x) { return _mm512_cvtph_ps(x); }
HOCKET_INLINE HalfVec toF16(Vec x) {
  return _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT);
}

/// Sums of double halves, for reductions that must not lose bits.
struct DoubleSum {
  __m512d low = _mm512_setzero_pd(), high = _mm512_setzero_pd();
};
HOCKET_INLINE void addSquares(DoubleSum &sum, Vec x) {
  __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(x));
  __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1));
  sum.low = _mm512_fmadd_pd(low, low, sum.low);
  sum.high = _mm512_fmadd_pd(high, high, sum.high);
}
HOCKET_INLINE double sumOf(const DoubleSum &sum) {
  return _mm512_reduce_add_pd(_mm512_add_pd(sum.low, sum.high));
}

/// Turns 16 rows of 16 into columns, in registers.
HOCKET_INLINE void transpose(Vec (&r)[16]) {
  Vec t[16];
#pragma unroll
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
#pragma unroll
  for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
    r[i + 1] = _mm512_shuffle_ps(t[i], t[i + 2], 0xee);
    r[i + 2] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    r[i + 3] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    r[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
    r[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
  }
}

#else // AVX2

using Vec = __m256;
using IntVec = __m256i;
constexpr int64_t kWidth = 8;

/// All bits set in the first n lanes.
HOCKET_INLINE IntVec firstLanes(int64_t n) {
  IntVec lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n > 8 ? 8 : int(n)), lanes);
}

HOCKET_INLINE Vec zero() { return _mm256_setzero_ps(); }
HOCKET_INLINE Vec broadcast(float x) { return _mm256_set1_ps(x); }
HOCKET_INLINE Vec load(const float *p) { return _mm256_loadu_ps(p); }
HOCKET_INLINE void store(float *p, Vec x) { _mm256_storeu_ps(p, x); }
HOCKET_INLINE Vec add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
HOCKET_INLINE Vec sub(Vec a, Vec b) { return _mm256_sub_ps(a, b); }
HOCKET_INLINE Vec mul(Vec a, Vec b) { return _mm256_mul_ps(a, b); }
HOCKET_INLINE Vec div(Vec a, Vec b) { return _mm256_div_ps(a, b); }
HOCKET_INLINE Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
/// c - a * b.
HOCKET_INLINE Vec fnma(Vec a, Vec b, Vec c) {
  return _mm256_fnmadd_ps(a, b, c);
}
/// The second operand where either is a NaN.
HOCKET_INLINE Vec max(Vec a, Vec b) { return _mm256_max_ps(a, b); }
HOCKET_INLINE Vec min(Vec a, Vec b) { return _mm256_min_ps(a, b); }
HOCKET_INLINE Vec abs(Vec a) {
  return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}
/// a < b ? x : y.
HOCKET_INLINE Vec selectLess(Vec a, Vec b, Vec x, Vec y) {
  return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
}
HOCKET_INLINE float sumOf(Vec a) {
  __m128 x = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  x = _mm_add_ps(x, _mm_movehl_ps(x, x));
  return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}
HOCKET_INLINE float maxOf(Vec a) {
  __m128 x = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  x = _mm_max_ps(x, _mm_movehl_ps(x, x));
  return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
}
HOCKET_INLINE Vec round(Vec a) {
  return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
/// a * 2^n for integral n in [-252, 254], in two steps, so that overflow and
/// underflow come out right.
HOCKET_INLINE Vec scaleByPowerOfTwo(Vec a, Vec n) {
  IntVec whole = _mm256_cvtps_epi32(n);
  IntVec half = _mm256_srai_epi32(whole, 1);
  IntVec rest = _mm256_sub_epi32(whole, half), bias = _mm256_set1_epi32(127);
  Vec x =
      _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
  Vec y =
      _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23));
  return mul(mul(a, x), y);
}
// A store through a mask is tens of micro-operations on AMD's processors.
HOCKET_INLINE Vec loadFirst(const float *p, int64_t n) {
  return n >= 8 ? load(p) : _mm256_maskload_ps(p, firstLanes(n));
}
HOCKET_INLINE void storeFirst(float *p, Vec x, int64_t n) {
  if (n >= 8)
    return store(p, x);
  _mm256_maskstore_ps(p, firstLanes(n), x);
}

using HalfVec = __m128i; // kWidth 16-bit elements
HOCKET_INLINE HalfVec loadFirst(const uint16_t *p, int64_t n) {
  if (n >= 8)
    return _mm_loadu_si128(reinterpret_cast<const __m128i *>(p));
  alignas(16) uint16_t part[8] = {};
  for (int64_t i = 0; i < n; ++i)
    part[i] = p[i];
  return _mm_load_si128(reinterpret_cast<const __m128i *>(part));
}
HOCKET_INLINE void storeFirst(uint16_t *p, HalfVec x, int64_t n) {
  if (n >= 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i *>(p), x);
    return;
  }
  alignas(16) uint16_t part[8];
  _mm_store_si128(reinterpret_cast<__m128i *>(part), x);
  for (int64_t i = 0; i < n; ++i)
    p[i] = part[i];
}
HOCKET_INLINE HalfVec loadFirst(const uint8_t *p, int64_t n) {
  alignas(8) uint8_t part[8] = {};
  __builtin_memcpy(part, p, static_cast<size_t>(n < 8 ? n : 8));
  return _mm_cvtepu8_epi16(
      _mm_loadl_epi64(reinterpret_cast<const __m128i *>(part)));
}
HOCKET_INLINE Vec fromE5m2(HalfVec codes) {
  return _mm256_cvtph_ps(_mm_slli_epi16(codes, 8));
}
HOCKET_INLINE Vec fromE4m3(HalfVec codes) {
  HalfVec number = _mm_and_si128(codes, _mm_set1_epi16(0x7f));
  HalfVec sign = _mm_and_si128(codes, _mm_set1_epi16(0x80));
  HalfVec half =
      _mm_or_si128(_mm_slli_epi16(number, 7), _mm_slli_epi16(sign, 8));
  IntVec isNan =
      _mm256_cvtepi16_epi32(_mm_cmpeq_epi16(number, _mm_set1_epi16(0x7f)));
  return _mm256_blendv_ps(
      _mm256_mul_ps(_mm256_cvtph_ps(half), _mm256_set1_ps(0x1p8f)),
      _mm256_set1_ps(__builtin_nanf("")), _mm256_castsi256_ps(isNan));
}
HOCKET_INLINE Vec fromBf16(HalfVec x) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16));
}
HOCKET_INLINE HalfVec toBf16(Vec x) {
  IntVec bits = _mm256_castps_si256(x);
  IntVec odd =
      _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  IntVec sum =
      _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  Vec quiet = _mm256_or_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(0x400000)));
  Vec unordered = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
  sum = _mm256_castps_si256(
      _mm256_blendv_ps(_mm256_castsi256_ps(sum), quiet, unordered));
  sum = _mm256_srli_epi32(sum, 16);
  return _mm_packus_epi32(_mm256_castsi256_si128(sum),
                          _mm256_extracti128_si256(sum, 1));
}
HOCKET_INLINE Vec fromF16(HalfVec x) { return _mm256_cvtph_ps(x); }
HOCKET_INLINE HalfVec toF16(Vec x) {
  return _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT);
}

/// Sums of double halves, for reductions that must not lose bits.
struct DoubleSum {
  __m256d low = _mm256_setzero_pd(), high = _mm256_setzero_pd();
};
HOCKET_INLINE void addSquares(DoubleSum &sum, Vec x) {
  __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(x));
  __m256d high = _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
  sum.low = _mm256_fmadd_pd(low, low, sum.low);
  sum.high = _mm256_fmadd_pd(high, high, sum.high);
}
HOCKET_INLINE double sumOf(const DoubleSum &sum) {
  __m256d x = _mm256_add_pd(sum.low, sum.high);
  __m128d y =
      _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
  return _mm_cvtsd_f64(_mm_add_sd(y, _mm_unpackhi_pd(y, y)));
}

/// Turns 8 rows of 8 into columns, in registers.
HOCKET_INLINE void transpose(Vec (&r)[8]) {
  Vec t[8];
#pragma unroll
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
#pragma unroll
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
    r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
    t[i + 4] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
  }
#pragma unroll
  for (int i = 0; i < 8; ++i)
    r[i] = t[i];
}

#endif

/// Of lanes that hold two bf16, the one in the lower 16 bits.
HOCKET_INLINE Vec firstOfPairs(Vec pairs) {
#ifdef __AVX512F__
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(pairs), 16));
#else
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(pairs), 16));
#endif
}
/// The other one.
HOCKET_INLINE Vec secondOfPairs(Vec pairs) {
  constexpr int upper = int(0xffff0000);
#ifdef __AVX512F__
  return _mm512_castsi512_ps(
      _mm512_and_si512(_mm512_castps_si512(pairs), _mm512_set1_epi32(upper)));
#else
  return _mm256_castsi256_ps(
      _mm256_and_si256(_mm256_castps_si256(pairs), _mm256_set1_epi32(upper)));
#endif
}

/// Lanes that hold two bf16, the first of them in the lower 16 bits; both are
/// floats that a bf16 can hold.
HOCKET_INLINE Vec pairsOf(Vec first, Vec second) {
#ifdef __AVX512F__
  IntVec low = _mm512_srli_epi32(_mm512_castps_si512(first), 16);
  return _mm512_castsi512_ps(_mm512_or_si512(low, _mm512_castps_si512(second)));
#else
  IntVec low = _mm256_srli_epi32(_mm256_castps_si256(first), 16);
  return _mm256_castsi256_ps(_mm256_or_si256(low, _mm256_castps_si256(second)));
#endif
}
/// c plus both products of pairs of bf16, the second first, as VDPBF16PS of
/// AVX-512 has it (which takes subnormal numbers for zero).
HOCKET_INLINE Vec dotPairs(Vec a, Vec b, Vec c) {
#ifdef __AVX512BF16__
  return _mm512_dpbf16_ps(c, __m512bh(a), __m512bh(b));
#else
  return fma(firstOfPairs(a), firstOfPairs(b),
             fma(secondOfPairs(a), secondOfPairs(b), c));
#endif
}

//===----------------------------------------------------------------------===//
// Typed memory
//===----------------------------------------------------------------------===//

/// Elements i .. i + n - 1 of `v` (f32, bf16 or f16); lanes from n on are 0.
HOCKET_INLINE Vec loadFirst(ConstView v, int64_t i, int64_t n) {
  if (v.dtype == DType::F32)
    return loadFirst(static_cast<const float *>(v.data) + i, n);
  HalfVec half = loadFirst(static_cast<const uint16_t *>(v.data) + i, n);
  return v.dtype == DType::BF16 ? fromBf16(half) : fromF16(half);
}

/// The reverse.
HOCKET_INLINE void storeFirst(View v, int64_t i, Vec x, int64_t n) {
  if (v.dtype == DType::F32)
    return storeFirst(static_cast<float *>(v.data) + i, x, n);
  storeFirst(static_cast<uint16_t *>(v.data) + i,
             v.dtype == DType::BF16 ? toBf16(x) : toF16(x), n);
}

} // namespace
} // namespace hocket::kernels::HOCKET_ISA

#endif // HOCKET_KERNELS_CPU_SIMD_VECTOR_H
