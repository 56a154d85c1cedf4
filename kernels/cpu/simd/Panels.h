//===- Panels.h - Packing of matrix panels ----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Copies of a part of a matrix into the order in which the microkernel reads
/// it, converted to f32: [k][width], with zeros where the matrix ends.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CPU_SIMD_PANELS_H
#define HOCKET_KERNELS_CPU_SIMD_PANELS_H

#include "kernels/cpu/simd/Vector.h"

#include <algorithm>

namespace hocket::kernels::HOCKET_ISA {
namespace {

/// `lines` x `k` elements of a matrix: element (line, p) is at
/// start + line * stride + p, or at start + p * stride + line if `kMajor`.
struct PanelSource {
  ConstView matrix;
  int64_t start, stride;
  bool kMajor;
  int64_t lines, k;
};

/// Elements i .. i + n - 1 of `v`, of any type that is multiplied; lanes from n
/// on are 0.
HOCKET_INLINE Vec loadFactor(ConstView v, int64_t i, int64_t n) {
  if (!isF8(v.dtype))
    return loadFirst(v, i, n);
  const uint8_t *bytes = static_cast<const uint8_t *>(v.data) + i;
  return v.dtype == DType::F8E4M3 ? fromE4m3(loadFirst(bytes, n))
                                  : fromE5m2(loadFirst(bytes, n));
}

/// Vectors of k by which memory is asked for before it is copied: a panel that
/// was not read lately comes from far away, and from places too many for the
/// processor to guess.
constexpr int64_t kVectorsAhead = 4;
/// The same in rows of k-major sources.
constexpr int64_t kRowsAhead = 8;

/// Asks for kVectorsAhead vectors behind (line, p), or, at the end of these
/// lines, for the beginning of those that follow.
HOCKET_INLINE void prefetchAhead(const PanelSource &s, int64_t line, int64_t p,
                                 int64_t width) {
  int64_t at = p + kVectorsAhead * kWidth;
  if (at >= s.k) {
    at -= s.k;
    line += width;
  }
  int64_t element = bytesOf(s.matrix.dtype);
  const char *start = static_cast<const char *>(s.matrix.data) +
                      (s.start + line * s.stride + at) * element;
  for (int64_t i = 0; i < std::min(width, kWidth); ++i)
    __builtin_prefetch(start + i * s.stride * element, 0, 3);
}

/// Asks for `n` elements of row p + kRowsAhead of a k-major source.
HOCKET_INLINE void prefetchRowAhead(const PanelSource &s, int64_t p,
                                    int64_t n) {
  int64_t element = bytesOf(s.matrix.dtype);
  const char *start = static_cast<const char *>(s.matrix.data) +
                      (s.start + (p + kRowsAhead) * s.stride) * element;
  for (int64_t at = 0; at < n * element; at += 64)
    __builtin_prefetch(start + at, 0, 3);
}

/// to[p * width + line] for k-major sources: rows are copied. Writes whole
/// vectors: up to kWidth - 1 floats behind a row, so rows go in ascending
/// order and the buffer has room for one vector more.
///
/// What is written behind a row is overwritten by the next one, so where a row
/// needs no zeros a whole vector may be read too: its last lanes then come from
/// the next row of the matrix. A part of a vector costs more to read, of 16-bit
/// elements on AVX2 (which has no masked loads of them) much more, and a tile
/// of A is six columns wide there.
HOCKET_INLINE void copyRows(const PanelSource &s, float *to, int64_t width) {
  bool dense = width <= s.lines && s.stride >= kWidth;
  for (int64_t p = 0; p < s.k; ++p)
    for (int64_t i = 0; i < width; i += kWidth) {
      int64_t n = dense && p + 1 < s.k ? kWidth : std::min(kWidth, s.lines - i);
      Vec x =
          n > 0 ? loadFactor(s.matrix, s.start + p * s.stride + i, n) : zero();
      store(to + p * width + i, x);
    }
}

/// One block of kWidth lines from `line`, kWidth elements from `p`.
HOCKET_INLINE void transposeBlock(const PanelSource &s, int64_t line, int64_t p,
                                  float *to, int64_t width) {
  Vec rows[kWidth];
  int64_t n = std::min(kWidth, s.k - p);
#pragma unroll
  for (int64_t i = 0; i < kWidth; ++i)
    rows[i] = line + i < s.lines
                  ? loadFactor(s.matrix, s.start + (line + i) * s.stride + p, n)
                  : zero();
  transpose(rows);
  if (n == kWidth) {
#pragma unroll
    for (int64_t i = 0; i < kWidth; ++i)
      store(to + (p + i) * width + line, rows[i]);
    return;
  }
  for (int64_t i = 0; i < n; ++i)
    store(to + (p + i) * width + line, rows[i]);
}

/// The same for sources with contiguous k: blocks are transposed. Where width
/// is not a multiple of kWidth it is less than that.
HOCKET_INLINE void transposeRows(const PanelSource &s, float *to,
                                 int64_t width) {
  for (int64_t p = 0; p < s.k; p += kWidth)
    for (int64_t line = 0; line < width; line += kWidth) {
      prefetchAhead(s, line, p, width);
      transposeBlock(s, line, p, to, width);
    }
}

/// Packs any source into to[k][width]; `to` has room for k * width + kWidth.
[[gnu::noinline]] void packPanel(const PanelSource &s, float *to,
                                 int64_t width) {
  if (s.kMajor)
    copyRows(s, to, width);
  else
    transposeRows(s, to, width);
}

HOCKET_INLINE void storeWords(uint16_t *to, Vec pairs) {
  store(reinterpret_cast<float *>(to), pairs);
}

/// A panel of up to 32 columns of bf16 as [ceil(k / 2)][32][2]: rows k and
/// k + 1 interleaved.
[[gnu::noinline, maybe_unused]] void packPairs(const PanelSource &source,
                                               uint16_t *to) {
  constexpr int64_t rows = 64, width = 32; // through floats, so many at a time
  float part[rows * width + kWidth];
  for (int64_t p = 0; p < source.k; p += rows) {
    PanelSource some = source;
    some.start += p * (source.kMajor ? source.stride : 1);
    some.k = std::min(rows, source.k - p);
    packPanel(some, part, width);
    for (int64_t i = 0; i < some.k; i += 2)
      for (int64_t j = 0; j < width; j += kWidth)
        storeWords(to + (p + i) * width + 2 * j,
                   pairsOf(load(part + i * width + j),
                           i + 1 < some.k ? load(part + (i + 1) * width + j)
                                          : zero()));
  }
}

} // namespace
} // namespace hocket::kernels::HOCKET_ISA

#endif // HOCKET_KERNELS_CPU_SIMD_PANELS_H
