//===- GemmKernels.cpp - One tile of a matrix product ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/simd/Kernels.h"
#include "kernels/cpu/simd/Microkernel.h"
#include "kernels/cpu/simd/Panels.h"
#include "kernels/cpu/simd/VectorMath.h"

namespace hocket::kernels::HOCKET_ISA {
namespace {

/// Columns of a panel of B, as in the packed form.
constexpr int64_t kPanel = 32;
/// Elements of k that are multiplied before the next panel: a panel of B of
/// this depth stays in the first-level cache. Sums are formed block by block,
/// so this number is part of the result's bits.
constexpr int64_t kDepth = 256;

/// Scratch of one tile, in floats: A's block, B's panel, the sums of all
/// strips of 32 columns, each [rows][32].
struct Buffers {
  float *a, *b, *sums;
  Buffers(std::byte *scratch)
      : a(reinterpret_cast<float *>(scratch)),
        b(a + (kMostTileRows + 1) * kDepth), sums(b + (kPanel + 1) * kDepth) {}
};
static_assert(((kMostTileRows + 1 + kPanel + 1) * kDepth +
               kMostTileRows * kMostTileColumns) *
                  sizeof(float) <=
              kScratchBytesPerWorker);

/// The part of k that is being multiplied.
struct DepthBlock {
  int64_t begin, size;
};

void packA(const GemmArguments &args, const GemmTile &tile, DepthBlock block,
           float *to) {
  int64_t tiles = tileCount(tile.rows);
  for (int64_t t = 0; t < tiles; ++t) {
    int64_t from = tileBegin(tile.rows, tiles, t);
    int64_t rows = tileBegin(tile.rows, tiles, t + 1) - from;
    int64_t row = tile.row + from;
    PanelSource source{args.a,
                       args.transposeA ? block.begin * args.m + row
                                       : row * args.k + block.begin,
                       args.transposeA ? args.m : args.k,
                       args.transposeA,
                       rows,
                       block.size};
    packPanel(source, to + from * block.size, rows);
  }
}

/// A packed pair of bf16 rows (k, k + 1) as two rows of floats.
void expandPairs(const uint16_t *pairs, int64_t k, float *to) {
  for (int64_t p = 0; p < k; p += 2, pairs += 2 * kPanel)
    for (int64_t j = 0; j < kPanel; j += kWidth) {
      Vec both = load(reinterpret_cast<const float *>(pairs + 2 * j));
#ifdef __AVX512F__
      IntVec bits = _mm512_castps_si512(both);
      Vec even = _mm512_castsi512_ps(_mm512_slli_epi32(bits, 16));
      Vec odd = _mm512_castsi512_ps(
          _mm512_and_si512(bits, _mm512_set1_epi32(int(0xffff0000))));
#else
      IntVec bits = _mm256_castps_si256(both);
      Vec even = _mm256_castsi256_ps(_mm256_slli_epi32(bits, 16));
      Vec odd = _mm256_castsi256_ps(
          _mm256_and_si256(bits, _mm256_set1_epi32(int(0xffff0000))));
#endif
      store(to + p * kPanel + j, even);
      store(to + (p + 1) * kPanel + j, odd);
    }
}

struct PanelB {
  const float *data;
  int64_t stride;
};

/// The panel of op(B) from `column` on as f32, in place where it can be.
PanelB panelB(const GemmArguments &args, int64_t column, DepthBlock block,
              int64_t tileRows, float *to) {
  int64_t k = args.k + args.k % 2;
  if (args.packedB && args.b.dtype != DType::BF16)
    return {static_cast<const float *>(args.b.data) + column * k +
                block.begin * kPanel,
            kPanel};
  if (args.packedB) {
    auto *pairs = static_cast<const uint16_t *>(args.b.data);
    expandPairs(pairs + column * k + block.begin * kPanel, block.size, to);
    return {to, kPanel};
  }
  int64_t columns = std::min(kPanel, args.n - column);
  bool plain = args.b.dtype == DType::F32 && !args.transposeB;
  if (plain && columns == kPanel && tileRows <= 4 * kTileRows)
    return {static_cast<const float *>(args.b.data) + block.begin * args.n +
                column,
            args.n};
  packPanel({args.b,
             args.transposeB ? column * args.k + block.begin
                             : block.begin * args.n + column,
             args.transposeB ? args.k : args.n, !args.transposeB, columns,
             block.size},
            to, kPanel);
  return {to, kPanel};
}

/// sums[rows][32] (+)= A's block times one panel of B.
void multiplyStrip(const float *a, int64_t rows, DepthBlock block, PanelB b,
                   float *sums) {
  int64_t tiles = tileCount(rows);
  for (int64_t t = 0; t < tiles; ++t) {
    int64_t from = tileBegin(rows, tiles, t);
    int64_t count = tileBegin(rows, tiles, t + 1) - from;
    TileFunction multiply = tileFunction<kVectors>(count);
    for (int64_t j = 0; j < kPanel; j += kTileColumns)
      multiply({block.size, a + from * block.size, count, b.data + j, b.stride,
                sums + from * kPanel + j, kPanel, block.begin > 0});
  }
}

/// Everything that follows the sums, for `columns` columns of one strip.
void finishStrip(const GemmArguments &args, const GemmTile &tile,
                 int64_t column, const float *sums) {
  int64_t columns = std::min(kPanel, args.n - column);
  Vec alpha = broadcast(args.alpha);
  for (int64_t j = 0; j < columns; j += kWidth) {
    int64_t n = std::min(kWidth, columns - j);
    Vec bias = args.bias ? loadFirst(args.bias, column + j, n) : zero();
    for (int64_t i = 0; i < tile.rows; ++i) {
      int64_t at = (tile.row + i) * args.n + column + j;
      Vec x = mul(alpha, load(sums + i * kPanel + j));
      if (args.accumulate)
        x = add(x, loadFirst(args.d, at, n));
      x = add(x, bias);
      if (args.auxiliary)
        storeFirst(args.auxiliary, at, x, n);
      x = activate(args.epilogue, x);
      if (args.residual)
        x = add(x, loadFirst(args.residual, at, n));
      storeFirst(args.d, at, x, n);
    }
  }
}

void gemmTile(const GemmArguments &args, const GemmTile &tile,
              std::byte *scratch) {
  Buffers buffers(scratch);
  int64_t end = std::min(tile.column + tile.columns, args.n);
  // At least one round, so that an empty sum still reaches D.
  for (int64_t begin = 0; begin < std::max<int64_t>(args.k, 1);
       begin += kDepth) {
    DepthBlock block{begin, std::min(kDepth, args.k - begin)};
    packA(args, tile, block, buffers.a);
    for (int64_t column = tile.column; column < end; column += kPanel) {
      PanelB b = panelB(args, column, block, tile.rows, buffers.b);
      float *sums = buffers.sums + (column - tile.column) * tile.rows;
      multiplyStrip(buffers.a, tile.rows, block, b, sums);
      if (block.begin + block.size == args.k)
        finishStrip(args, tile, column, sums);
    }
  }
}

/// Interleaves rows p and p + 1 of a panel of bf16.
void packPairs(const GemmPackArguments &args, int64_t panel) {
  int64_t k = args.k + args.k % 2;
  auto *from = static_cast<const uint16_t *>(args.b.data);
  auto *to = static_cast<uint16_t *>(args.packed) + panel * kPanel * k;
  int64_t line = args.transpose ? args.k : 1,
          step = args.transpose ? 1 : args.n;
  int64_t columns = std::min(kPanel, args.n - panel * kPanel);
  from += panel * kPanel * line;
  for (int64_t p = 0; p < args.k; ++p)
    for (int64_t j = 0; j < kPanel; ++j)
      to[(p / 2 * kPanel + j) * 2 + p % 2] =
          j < columns ? from[j * line + p * step] : 0;
  if (args.k % 2)
    for (int64_t j = 0; j < kPanel; ++j)
      to[((k / 2 - 1) * kPanel + j) * 2 + 1] = 0;
}

void gemmPackPanel(const GemmPackArguments &args, int64_t panel) {
  if (args.b.dtype == DType::BF16)
    return packPairs(args, panel);
  int64_t k = args.k + args.k % 2, column = panel * kPanel;
  float *to = static_cast<float *>(args.packed) + column * k;
  packPanel({args.b, args.transpose ? column * args.k : column,
             args.transpose ? args.k : args.n, !args.transpose,
             std::min(kPanel, args.n - column), args.k},
            to, kPanel);
  if (args.k % 2)
    for (int64_t j = 0; j < kPanel; ++j)
      to[args.k * kPanel + j] = 0;
}

} // namespace

const GemmKernels gemmKernels = {gemmTile, gemmPackPanel};

} // namespace hocket::kernels::HOCKET_ISA
