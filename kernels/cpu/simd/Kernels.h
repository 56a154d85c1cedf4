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

#include "kernels/cpu/Gemm.h"

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

namespace avx2 {
extern const GemmKernels gemmKernels;
} // namespace avx2
namespace avx512 {
extern const GemmKernels gemmKernels;
} // namespace avx512

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_CPU_SIMD_KERNELS_H
