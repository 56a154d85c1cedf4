//===- Kernels.h - What is compiled per instruction set ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The parts of the work that the sources of this folder do for one task, once
/// per instruction set. The sources beside this folder cut an op into tasks
/// and call the table of the instruction set they are asked for.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CPU_SIMD_KERNELS_H
#define HOCKET_KERNELS_CPU_SIMD_KERNELS_H

#include "kernels/cpu/Attention.h"
#include "kernels/cpu/CrossEntropy.h"
#include "kernels/cpu/Gemm.h"
#include "kernels/cpu/Rope.h"

namespace hocket::kernels {

constexpr int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

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

/// Attention is computed in blocks of this many queries and keys.
inline constexpr int64_t kAttentionBlock = 64;

/// Scratch for n floats, with room for one vector more.
constexpr int64_t attentionScratchBytes(int64_t n) {
  return ((n + 16) * 4 + 63) / 64 * 64;
}

/// The queries [query, query + queries) of head h of sequence b, all of one
/// part (AttentionPlace); query is a multiple of kAttentionBlock from its
/// start.
struct AttentionTask {
  int64_t b = 0, h = 0, query = 0, queries = 0;
};

using AttentionForwardFn = void (*)(const AttentionForwardArguments &,
                                    const AttentionTask &, std::byte *scratch);

/// A part of the gradient of key/value head g of sequence b: what the queries
/// [query, queryEnd) of the query heads [head, headEnd) and the keys
/// [key, keyEnd) give each other. All begin at multiples of kAttentionBlock
/// from the start of a part.
struct AttentionBackwardTask {
  int64_t b = 0, g = 0;
  int64_t head = 0, headEnd = 0;
  int64_t query = 0, queryEnd = 0;
  int64_t key = 0, keyEnd = 0;
  int64_t chunk = 0;      ///< queries held in scratch at a time
  bool wantQuery = false; ///< write dq: all keys are in the task
  bool wantKey = false;   ///< write dk, dv: all heads and queries are
};

using AttentionBackwardFn = void (*)(const AttentionBackwardArguments &,
                                     const AttentionBackwardTask &,
                                     std::byte *scratch);

/// Scratch of a task of `keys` keys.
constexpr int64_t attentionBackwardScratch(int64_t headDim, int64_t chunk,
                                           int64_t keys) {
  int64_t d = (headDim + 15) / 16 * 16, block = kAttentionBlock;
  return 5 * attentionScratchBytes(chunk * d) +
         2 * attentionScratchBytes((keys + block) * d) +
         3 * attentionScratchBytes(block * d) +
         5 * attentionScratchBytes(block * block);
}

/// delta[b, h, i] for all heads of token `token` of batch x sequence.
using AttentionDeltaFn = void (*)(const AttentionBackwardArguments &,
                                  int64_t token);

namespace avx2 {
extern const GemmKernels gemmKernels;
extern const RowKernels rowKernels;
extern const AttentionForwardFn attentionForwardChunk;
extern const AttentionBackwardFn attentionBackwardPart;
extern const AttentionDeltaFn attentionDelta;
} // namespace avx2
namespace avx512 {
extern const GemmKernels gemmKernels;
extern const RowKernels rowKernels;
extern const AttentionForwardFn attentionForwardChunk;
extern const AttentionBackwardFn attentionBackwardPart;
extern const AttentionDeltaFn attentionDelta;
} // namespace avx512

namespace amx {
extern const GemmKernels gemmKernels;
} // namespace amx

/// The table for the instruction set that `workers` ask for.
inline const GemmKernels &gemmKernelsOf(const Workers &workers) {
  if (workers.isa() == Isa::Amx)
    return amx::gemmKernels;
  return workers.isa() == Isa::Avx512 ? avx512::gemmKernels : avx2::gemmKernels;
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
