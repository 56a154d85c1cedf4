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

/// to[p * width + line] for k-major sources: rows are copied. Writes whole
/// vectors: up to kWidth - 1 floats behind a row, so rows go in ascending
/// order and the buffer has room for one vector more.
HOCKET_INLINE void copyRows(const PanelSource &s, float *to, int64_t width) {
  for (int64_t p = 0; p < s.k; ++p)
    for (int64_t i = 0; i < width; i += kWidth) {
      int64_t n = std::min(kWidth, s.lines - i);
      Vec x =
          n > 0 ? loadFirst(s.matrix, s.start + p * s.stride + i, n) : zero();
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
                  ? loadFirst(s.matrix, s.start + (line + i) * s.stride + p, n)
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
    for (int64_t line = 0; line < width; line += kWidth)
      transposeBlock(s, line, p, to, width);
}

/// Packs any source into to[k][width]; `to` has room for k * width + kWidth.
[[gnu::noinline]] void packPanel(const PanelSource &s, float *to,
                                 int64_t width) {
  if (s.kMajor)
    copyRows(s, to, width);
  else
    transposeRows(s, to, width);
}

} // namespace
} // namespace hocket::kernels::HOCKET_ISA

#endif // HOCKET_KERNELS_CPU_SIMD_PANELS_H
