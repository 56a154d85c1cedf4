//===- Kernels.h - What is compiled per instruction set ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The pieces of work that the sources of this folder do for one task, once
/// per instruction set. The sources beside this folder cut an op into tasks
/// and call the table of the instruction set they are asked for.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CPU_SIMD_KERNELS_H
#define HOCKET_KERNELS_CPU_SIMD_KERNELS_H

#include "kernels/cpu/CrossEntropy.h"
#include "kernels/cpu/Gemm.h"
#include "kernels/cpu/Rope.h"

namespace hocket::kernels {

/// A rectangle of D. Columns begin at a multiple of 32.
struct GemmTile {
  int64_t row = 0, rows = 0;       ///< rows <= kMostTileRows
  int64_t column = 0, columns = 0; ///< columns <= kMostTileColumns
};
inline constexpr int64_t kMostTileRows = 256, kMostTileColumns = 1024;

/// Computes one tile of D. Any tiling gives the same bits.
using GemmTileFn = void (*)(const GemmArguments &, const GemmTile &,
                            std::byte *scratch);

struct GemmKernels {
  GemmTileFn tile;
  /// Packs columns 32 * panel .. of op(B).
  void (*pack)(const GemmPackArguments &, int64_t panel);
};

/// Of n logits: the largest, and the sum of exp(logit - largest).
struct ExpSum {
  float largest, sum;
};

struct RowKernels {
  /// to[at ..] = from[start ..], n elements, converted.
  void (*copy)(ConstView from, int64_t start, View to, int64_t at, int64_t n);
  /// to[i] += from[start + i].
  void (*add)(ConstView from, int64_t start, float *to, int64_t n);
  /// All heads of token `token` of batch x sequence.
  void (*rope)(const RopeArguments &, int64_t token);
  ExpSum (*expSum)(ConstView logits, int64_t start, int64_t n);
  /// One row of dlogits; `mean` is dloss over the number of labels.
  void (*softmaxGradient)(const CrossEntropyBackwardArguments &, int64_t token,
                          float mean);
  /// In double, in an order that depends on n alone.
  double (*sumOfSquares)(ConstView, int64_t start, int64_t n);
};

namespace avx2 {
extern const GemmKernels gemmKernels;
extern const RowKernels rowKernels;
} // namespace avx2
namespace avx512 {
extern const GemmKernels gemmKernels;
extern const RowKernels rowKernels;
} // namespace avx512

/// The table for the instruction set that `workers` ask for.
inline const GemmKernels &gemmKernelsOf(const Workers &workers) {
  return workers.isa() >= Isa::Avx512 ? avx512::gemmKernels : avx2::gemmKernels;
}
inline const RowKernels &rowKernelsOf(const Workers &workers) {
  return workers.isa() >= Isa::Avx512 ? avx512::rowKernels : avx2::rowKernels;
}

/// Null, or why no kernel runs here.
inline KernelError checkProcessor() {
  return cpuSupports(Isa::Avx2) ? nullptr
                                : "this processor has no AVX2 and FMA";
}

/// Whether kernels take tensors of `dtype`.
constexpr bool isFloating(DType dtype) {
  return dtype == DType::F32 || dtype == DType::BF16 || dtype == DType::F16;
}

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_CPU_SIMD_KERNELS_H
