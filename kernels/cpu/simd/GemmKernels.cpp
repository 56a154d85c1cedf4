//===- GemmKernels.cpp - One tile of a GEMM -------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/simd/FewRows.h"
#include "kernels/cpu/simd/Kernels.h"
#include "kernels/cpu/simd/Microkernel.h"
#include "kernels/cpu/simd/Panels.h"
#include "kernels/cpu/simd/VectorMath.h"
#ifdef HOCKET_TILES
#include "kernels/cpu/simd/TileBlocks.h"
#endif

namespace hocket::kernels::HOCKET_ISA {
namespace {

/// Elements of k that are multiplied before the next panel: a panel of B of
/// this depth stays in the first-level cache. Sums are formed block by block,
/// so this number is part of the result's bits.
constexpr int64_t kDepth = 192;
/// Panels of a plain B that are packed at a time, and room for one.
constexpr int64_t kGroup = 4, kPanelFloats = (kPanel + 1) * kDepth;

/// Scratch of one tile, in floats: A's block, B's panel, the sums of all
/// strips of 32 columns, each [rows][32].
struct Buffers {
  float *a, *b, *sums;
  Buffers(std::byte *scratch)
      : a(reinterpret_cast<float *>(scratch)),
        b(a + (kMostTileRows + 1) * kDepth), sums(b + kGroup * kPanelFloats) {}
};
static_assert(((kMostTileRows + 1) * kDepth + kGroup * kPanelFloats +
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
      store(to + p * kPanel + j, firstOfPairs(both));
      store(to + (p + 1) * kPanel + j, secondOfPairs(both));
    }
}

struct PanelB {
  const float *data;
  int64_t stride;
};

/// Up to kGroup panels of a plain B at once: a row of it is then long enough
/// for the memory system to read well.
void packGroup(const GemmArguments &args, int64_t column, int64_t end,
               DepthBlock block, float *to) {
  int64_t columns = std::min(kGroup * kPanel, end - column);
  int64_t padded = (columns + kPanel - 1) / kPanel * kPanel;
  for (int64_t p = 0; p < block.size; ++p) {
    int64_t row = (block.begin + p) * args.n + column;
    for (int64_t j = 0; j < padded; j += kWidth) {
      Vec x = j < columns ? loadFactor(args.b, row + j, columns - j) : zero();
      store(to + j / kPanel * kPanelFloats + p * kPanel + j % kPanel, x);
    }
  }
}

/// The panel of op(B) from `column` on as f32, in place where it can be.
/// Columns are asked for in order.
PanelB panelB(const GemmArguments &args, const GemmTile &tile, int64_t column,
              DepthBlock block, float *to) {
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
  bool low = args.b.dtype == DType::F32 && tile.rows <= 4 * kTileRows;
  if (low && !args.transposeB && columns == kPanel)
    return {static_cast<const float *>(args.b.data) + block.begin * args.n +
                column,
            args.n};
  if (low || args.transposeB) {
    packPanel({args.b,
               args.transposeB ? column * args.k + block.begin
                               : block.begin * args.n + column,
               args.transposeB ? args.k : args.n, !args.transposeB, columns,
               block.size},
              to, kPanel);
    return {to, kPanel};
  }
  int64_t member = (column - tile.column) / kPanel % kGroup;
  if (member == 0)
    packGroup(args, column, std::min(tile.column + tile.columns, args.n), block,
              to);
  return {to + member * kPanelFloats, kPanel};
}

/// Memory that will be needed soon: rows of bytes.
struct Lines {
  const char *start = nullptr;
  int64_t stride = 0, rows = 0, bytes = 0;

  /// Asks for part `part` of `parts` of it.
  void prefetch(int64_t part, int64_t parts) const {
    for (int64_t r = rows * part / parts; r < rows * (part + 1) / parts; ++r)
      for (int64_t at = 0; at < bytes; at += 64)
        __builtin_prefetch(start + r * stride + at, 0, 2);
  }
};

/// What panelB will read.
Lines linesOfB(const GemmArguments &args, int64_t column, DepthBlock block) {
  auto *base = static_cast<const char *>(args.b.data);
  int64_t element = bytesOf(args.b.dtype), k = args.k + args.k % 2;
  if (args.packedB) {
    element = args.b.dtype == DType::BF16 ? 2 : 4;
    return {base + (column * k + block.begin * kPanel) * element,
            kPanel * element, block.size, kPanel * element};
  }
  int64_t columns = std::min(kPanel, args.n - column);
  if (args.transposeB)
    return {base + (column * args.k + block.begin) * element, args.k * element,
            columns, block.size * element};
  return {base + (block.begin * args.n + column) * element, args.n * element,
          block.size, columns * element};
}

/// One strip of 32 columns of a tile, and what comes after it.
struct Strip {
  const float *a;
  int64_t rows;
  float *sums; ///< [rows][32]
  Lines next, result;
};

/// sums[rows][32] (+)= A's block times one panel of B.
void multiplyStrip(const Strip &strip, DepthBlock block, PanelB b) {
  int64_t tiles = tileCount(strip.rows);
  for (int64_t t = 0; t < tiles; ++t) {
    strip.next.prefetch(t, tiles);
    strip.result.prefetch(t, tiles);
    int64_t from = tileBegin(strip.rows, tiles, t);
    int64_t count = tileBegin(strip.rows, tiles, t + 1) - from;
    TileFunction multiply = tileFunction<kVectors>(count);
    for (int64_t j = 0; j < kPanel; j += kTileColumns)
      multiply({block.size, strip.a + from * block.size, count, b.data + j,
                b.stride, strip.sums + from * kPanel + j, kPanel,
                block.begin > 0});
  }
}

/// Everything that follows the sums, for n lanes of D from `at` on.
HOCKET_INLINE void finish(const GemmArguments &args, int64_t at, int64_t n,
                          Vec x, Vec bias) {
  x = mul(broadcast(args.alpha), x);
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

void finishStrip(const GemmArguments &args, const GemmTile &tile,
                 int64_t column, const float *sums) {
  int64_t columns = std::min(kPanel, args.n - column);
  Vec bias[kPanel / kWidth];
  for (int64_t v = 0; v < kPanel / kWidth; ++v)
    bias[v] =
        args.bias && v * kWidth < columns
            ? loadFirst(args.bias, column + v * kWidth, columns - v * kWidth)
            : zero();
  for (int64_t i = 0; i < tile.rows; ++i)
    for (int64_t j = 0; j < columns; j += kWidth)
      finish(args, (tile.row + i) * args.n + column + j, columns - j,
             load(sums + i * kPanel + j), bias[j / kWidth]);
}

void gemmBlock(const GemmArguments &args, const GemmTile &tile,
               DepthBlock block, const Buffers &buffers) {
  int64_t end = std::min(tile.column + tile.columns, args.n);
  bool last = block.begin + block.size == args.k;
  int64_t element = bytesOf(args.d.dtype);
  for (int64_t column = tile.column; column < end; column += kPanel) {
    float *sums = buffers.sums + (column - tile.column) * tile.rows;
    Strip strip{buffers.a, tile.rows, sums, {}, {}};
    if (column + kPanel < end && (args.packedB || args.transposeB))
      strip.next = linesOfB(args, column + kPanel, block);
    if (last)
      strip.result = {static_cast<const char *>(args.d.data) +
                          (tile.row * args.n + column) * element,
                      args.n * element, tile.rows,
                      std::min(kPanel, args.n - column) * element};
    multiplyStrip(strip, block, panelB(args, tile, column, block, buffers.b));
    if (last)
      finishStrip(args, tile, column, sums);
  }
}

/// Whether a tile is one for FewRows.h, and A fits beside the sums.
bool hasFewRows(const GemmArguments &args, const GemmTile &tile) {
  auto bytes = static_cast<size_t>(tile.rows * (args.k + kPanel) + kWidth) *
               sizeof(float);
  return tile.rows <= kFewRows && (args.transposeB || args.packedB) &&
         !args.transposeA && !isF8(args.a.dtype) && args.k > 0 &&
         bytes <= kScratchBytesPerWorker;
}

/// The sums of a panel's columns below `end`.
void multiplyPlainPanel(const GemmArguments &args, int64_t rows, int64_t column,
                        int64_t end, FewRowsOperands operands) {
  FewRowsFunction multiply = fewRowsFunction(args.b.dtype, rows);
  const auto *start = static_cast<const std::byte *>(args.b.data);
  float *sums = operands.sums;
  for (int64_t j = 0; j < kPanel && column + j < end; j += kWidth) {
    operands.b.data = start + (column + j) * args.k * bytesOf(args.b.dtype);
    operands.columns = std::min(kWidth, end - column - j);
    operands.sums = sums + j;
    multiply(operands);
  }
}

void multiplyPackedPanel(const GemmArguments &args, int64_t rows,
                         int64_t column, FewRowsOperands operands) {
  FewRowsFunction multiply = packedRowsFunction(args.b.dtype, rows);
  // A pair of bf16 is as wide as a float.
  int64_t words = args.k + args.k % 2;
  if (args.b.dtype == DType::BF16)
    words /= 2;
  const float *start = static_cast<const float *>(args.b.data) + column * words;
  float *sums = operands.sums;
  for (int64_t j = 0; j < kPanel; j += kAtOnce * kWidth) {
    operands.b.data = start + j;
    operands.sums = sums + j;
    multiply(operands);
  }
}

void gemmFewRows(const GemmArguments &args, const GemmTile &tile,
                 std::byte *scratch) {
  float *sums = reinterpret_cast<float *>(scratch);
  float *a = sums + tile.rows * kPanel;
  for (int64_t i = 0; i < tile.rows; ++i)
    for (int64_t p = 0; p < args.k; p += kWidth) {
      int64_t n = std::min(kWidth, args.k - p);
      storeFirst(a + i * args.k + p,
                 loadFirst(args.a, (tile.row + i) * args.k + p, n), n);
    }
  int64_t end = std::min(tile.column + tile.columns, args.n);
  FewRowsOperands operands{args.k, kDepth, a, args.b, 0, sums, kPanel};
  for (int64_t column = tile.column; column < end; column += kPanel) {
    if (args.packedB)
      multiplyPackedPanel(args, tile.rows, column, operands);
    else
      multiplyPlainPanel(args, tile.rows, column, end, operands);
    finishStrip(args, tile, column, sums);
  }
}

void gemmVectors(const GemmArguments &args, const GemmTile &tile,
                 std::byte *scratch) {
  if (hasFewRows(args, tile))
    return gemmFewRows(args, tile, scratch);
  Buffers buffers(scratch);
  // At least one round, so that an empty sum still reaches D.
  for (int64_t begin = 0; begin < std::max<int64_t>(args.k, 1);
       begin += kDepth) {
    DepthBlock block{begin, std::min(kDepth, args.k - begin)};
    packA(args, tile, block, buffers.a);
    gemmBlock(args, tile, block, buffers);
  }
}

#ifdef HOCKET_TILES

/// The depth of a block of k on AMX, part of the result's bits as kDepth is.
constexpr int64_t kTilesDepth = 512;

/// A's block as pairs of tiles: [rows / 32][depth / 32][2][16][32].
void packTilesA(const GemmArguments &args, const GemmTile &tile,
                DepthBlock block, uint16_t *to) {
  for (int64_t i = 0; i < tile.rows; i += 32)
    for (int64_t p = 0; p < block.size; p += kTileDepth)
      for (int64_t half = 0; half < 32; half += 16, to += 16 * kTileDepth) {
        int64_t rows = std::clamp<int64_t>(tile.rows - i - half, 0, 16);
        int64_t row = tile.row + i + half, k = block.begin + p;
        packTileA({args.a,
                   args.transposeA ? k * args.m + row : row * args.k + k,
                   args.transposeA ? args.m : args.k, !args.transposeA,
                   std::min(kTileDepth, block.size - p), rows},
                  to);
      }
}

/// A panel of B as pairs, its depth padded with zeros to whole tiles.
const uint16_t *tilesB(const GemmArguments &args, int64_t column,
                       DepthBlock block, uint16_t *to) {
  int64_t k = args.k + args.k % 2, depth = (block.size + 31) / 32 * 32;
  int64_t filled = (block.size + 1) / 2 * 2 * kPanel;
  if (args.packedB) {
    const uint16_t *pairs = static_cast<const uint16_t *>(args.b.data) +
                            column * k + block.begin * kPanel;
    if (depth == block.size)
      return pairs;
    __builtin_memcpy(to, pairs, static_cast<size_t>(filled) * 2);
  } else {
    packPairs({args.b,
               args.transposeB ? column * args.k + block.begin
                               : block.begin * args.n + column,
               args.transposeB ? args.k : args.n, !args.transposeB,
               std::min(kPanel, args.n - column), block.size},
              to);
  }
  for (int64_t i = filled; i < depth * kPanel; ++i)
    to[i] = 0;
  return to;
}

/// Scratch: A's tiles, B's panel, the sums.
static_assert((kMostTileRows + kPanel) * kTilesDepth * 2 +
                  kMostTileRows * kMostTileColumns * 4 <=
              kScratchBytesPerWorker);

void gemmTiles(const GemmArguments &args, const GemmTile &tile,
               std::byte *scratch) {
  TileUse use;
  auto *a = reinterpret_cast<uint16_t *>(scratch);
  uint16_t *b = a + kMostTileRows * kTilesDepth;
  auto *sums = reinterpret_cast<float *>(b + kPanel * kTilesDepth);
  int64_t rows = (tile.rows + 31) / 32 * 32;
  int64_t end = std::min(tile.column + tile.columns, args.n);
  for (int64_t begin = 0; begin < args.k; begin += kTilesDepth) {
    DepthBlock block{begin, std::min(kTilesDepth, args.k - begin)};
    int64_t depth = (block.size + 31) / 32 * 32;
    packTilesA(args, tile, block, a);
    for (int64_t column = tile.column; column < end; column += kPanel) {
      float *strip = sums + (column - tile.column) * rows;
      const uint16_t *panel = tilesB(args, column, block, b);
      for (int64_t i = 0; i < rows; i += 32)
        multiplyTiles({a + i * depth, panel, depth}, strip + i * kPanel,
                      begin > 0);
      if (begin + block.size == args.k)
        finishStrip(args, tile, column, strip);
    }
  }
}

#endif

void gemmTile(const GemmArguments &args, const GemmTile &tile,
              std::byte *scratch) {
#ifdef HOCKET_TILES
  // What 8 bits hold, bf16 holds too.
  auto isExact = [](DType dtype) {
    return dtype == DType::BF16 || isF8(dtype);
  };
  if (isExact(args.a.dtype) && isExact(args.b.dtype) && args.k > 0)
    return gemmTiles(args, tile, scratch);
#endif
  gemmVectors(args, tile, scratch);
}

void gemmPackPairs(const GemmPackArguments &args, int64_t panel) {
  int64_t k = args.k + args.k % 2, column = panel * kPanel;
  packPairs({args.b, args.transpose ? column * args.k : column,
             args.transpose ? args.k : args.n, !args.transpose,
             std::min(kPanel, args.n - column), args.k},
            static_cast<uint16_t *>(args.packed) + column * k);
}

void gemmPackPanel(const GemmPackArguments &args, int64_t panel) {
  if (args.b.dtype == DType::BF16)
    return gemmPackPairs(args, panel);
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

extern const GemmKernels gemmKernels; // also where no header declares it
const GemmKernels gemmKernels = {gemmTile, gemmPackPanel};

} // namespace hocket::kernels::HOCKET_ISA
