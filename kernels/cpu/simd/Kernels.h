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

#include "kernels/cpu/simd/Workers.h"
#include "kernels/library/Library.h"
#include "kernels/reference/Attention.h"
#include "kernels/reference/CrossEntropy.h"
#include "kernels/reference/Gemm.h"
#include "kernels/reference/Rope.h"

namespace hocket::kernels {

constexpr int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Packs op(B) of a GEMM, in the form that kernels/cpu/Gemm.h describes.
struct GemmPackArguments {
  int64_t n = 0, k = 0;
  bool transpose = false; ///< b is stored [n, k], else [k, n]
  ConstView b;
  void *packed = nullptr; ///< packedBytes(b.dtype, n, k), 64-byte aligned
};

/// How op(B) is packed for the kernel that multiplies these operands: in panels
/// of 32 columns, each [depth][32] (or pairs of bf16, as Gemm.h says), padded
/// with zeros to 32 columns and to a multiple of `multiple` of k.
struct GemmFormat {
  bool packs = true;        ///< else B is multiplied as it lies
  int64_t depth = 0;        ///< of a block of k: sums are formed block by block
  int64_t elementBytes = 4; ///< of what is packed
  int64_t multiple = 1;
  int64_t rows = 1; ///< tiles of D have a multiple of so many, but for the last

  /// Of a panel with `k` elements of k.
  int64_t bytesOfPanel(int64_t k) const {
    return divideUp(k, multiple) * multiple * 32 * elementBytes;
  }
};

/// Elements [begin, begin + size) of k.
struct DepthRange {
  int64_t begin = 0, size = 0;
};

/// Equal pieces of memory in the scratch of all workers, as many in each.
class SharedPieces {
public:
  SharedPieces(Workers &workers, int64_t offset, int64_t bytesOfWorker,
               int64_t bytes)
      : workers(workers), offset(offset), bytes(bytes),
        each(bytesOfWorker / bytes) {}

  int64_t count() const { return each * workers.count(); }
  std::byte *operator[](int64_t i) const {
    return workers.scratch(int(i / each)).data() + offset + i % each * bytes;
  }

private:
  Workers &workers;
  int64_t offset, bytes, each;
};

/// The part of op(B) that is packed at a time: the panels of some columns.
struct PackedPart {
  const SharedPieces &panels;
  int64_t column = 0, columns = 0; ///< the last panel may be cut
  DepthRange depth; ///< begins at a multiple of GemmFormat::depth
};

/// A rectangle of D. Columns begin at a multiple of 32.
struct GemmTile {
  int64_t row = 0, rows = 0;       ///< rows <= kMostTileRows
  int64_t column = 0, columns = 0; ///< columns <= kMostTileColumns
};
inline constexpr int64_t kMostTileRows = 256, kMostTileColumns = 1024;

/// The sums of one tile: [columns / 32][rows rounded up to 32][32].
constexpr int64_t gemmSumBytes(int64_t rows, int64_t columns) {
  return divideUp(rows, 32) * 32 * columns * 4;
}

/// Room in the scratch of a worker for what it packs for itself.
inline constexpr int64_t kGemmPrivateBytes = int64_t(320) << 10;

/// Adds the GEMM over a part of k to the sums of a tile (the first part sets
/// them), and with the last part of k writes the tile of D. Any tiling and any
/// parts give the same bits.
using GemmMultiplyFn = void (*)(const GemmArguments &, const GemmTile &,
                                const PackedPart &, float *sums,
                                std::byte *scratch);

struct GemmKernels {
  GemmFormat (*format)(const GemmArguments &);
  /// Packs one block of k of up to four panels, from `column` on.
  void (*packPanels)(const GemmArguments &, const PackedPart &, int64_t column,
                     DepthRange block);
  GemmMultiplyFn multiply;
  /// Null, or what computes a tile of these few rows at once.
  void (*(*fewRows)(const GemmArguments &))(const GemmArguments &,
                                            const GemmTile &,
                                            std::byte *scratch);
  /// Packs columns 32 * panel .. of op(B), for as long as B does not change.
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

namespace avx512_bf16 {
extern const GemmKernels gemmKernels;
} // namespace avx512_bf16

namespace amx {
extern const GemmKernels gemmKernels;
} // namespace amx

/// The table for the instruction set that `workers` ask for.
inline const GemmKernels &gemmKernelsOf(const Workers &workers) {
  if (workers.isa() == Isa::Amx)
    return amx::gemmKernels;
  if (workers.isa() == Isa::Avx512Bf16)
    return avx512_bf16::gemmKernels;
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
