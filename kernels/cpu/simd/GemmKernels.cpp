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
constexpr int64_t kPanelFloats = (kPanel + 1) * kDepth;

/// What a worker packs for itself, in floats: A's block, and one panel of B
/// that is not multiplied as it lies.
struct Buffers {
  float *a, *b;
  Buffers(std::byte *scratch)
      : a(reinterpret_cast<float *>(scratch)),
        b(a + (kMostTileRows + 1) * kDepth) {}
};
static_assert(((kMostTileRows + 1) * kDepth + kPanelFloats) *
                  int64_t(sizeof(float)) <=
              kGemmPrivateBytes);

/// A's block where its rows are contiguous: a row goes to all tiles before the
/// next is read. What is written behind a row of a tile its next row
/// overwrites.
void packTransposedA(const PanelSource &source, float *to) {
  int64_t tiles = tileCount(source.lines);
  int64_t begins[kMostTileRows / kTileRows + 2];
  for (int64_t t = 0; t <= tiles; ++t)
    begins[t] = tileBegin(source.lines, tiles, t);
  for (int64_t p = 0; p < source.k; ++p) {
    prefetchRowAhead(source, p, source.lines);
    int64_t row = source.start + p * source.stride;
    bool last = p + 1 == source.k;
    for (int64_t t = 0; t < tiles; ++t) {
      int64_t from = begins[t], rows = begins[t + 1] - from;
      float *at = to + from * source.k + p * rows;
      // A row that is followed by another one may be read past its end.
      Vec x = loadFactor(source.matrix, row + from, last ? rows : kWidth);
      if ((source.k - p) * rows < kWidth)
        storeFirst(at, x, rows); // the next tile is behind it
      else
        store(at, x);
    }
  }
}

/// A's block, a tile of the microkernel after another: [size][rows] of each.
void packA(const GemmArguments &args, const GemmTile &tile, DepthRange block,
           float *to) {
  if (args.transposeA && args.m >= kWidth)
    return packTransposedA({args.a, block.begin * args.m + tile.row, args.m,
                            true, tile.rows, block.size},
                           to);
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

/// B as it lies is multiplied for few rows, which would not pay for packing it.
bool packsB(const GemmArguments &args) {
  bool inPlace = args.b.dtype == DType::F32 && !args.transposeB &&
                 args.n % kPanel == 0 && args.m <= 4 * kTileRows;
  return !args.packedB && !inPlace;
}

/// Where the block of the panel of `column` is.
float *packedBlock(const PackedPart &part, int64_t column, DepthRange block) {
  std::byte *panel = part.panels[(column - part.column) / kPanel];
  return reinterpret_cast<float *>(panel) +
         (block.begin - part.depth.begin) * kPanel;
}

/// Panels of a B whose columns are contiguous, a row of all of them at a time.
void packRows(const GemmArguments &args, const PackedPart &part, int64_t column,
              DepthRange block) {
  float *to[4] = {};
  int64_t columns = std::min(4 * kPanel, part.column + part.columns - column);
  int64_t panels = 0;
  for (int64_t j = 0; j < columns; j += kPanel)
    to[panels++] = packedBlock(part, column + j, block);
  PanelSource source{
      args.b, block.begin * args.n + column, args.n, true, columns, block.size};
  for (int64_t p = 0; p < block.size; ++p) {
    prefetchRowAhead(source, p, columns);
    int64_t row = source.start + p * args.n;
    for (int64_t panel = 0; panel < panels; ++panel)
      for (int64_t j = 0; j < kPanel; j += kWidth) {
        int64_t n = columns - panel * kPanel - j;
        Vec x =
            n > 0 ? loadFactor(args.b, row + panel * kPanel + j, n) : zero();
        store(to[panel] + p * kPanel + j, x);
      }
  }
}

void packPanels(const GemmArguments &args, const PackedPart &part,
                int64_t column, DepthRange block) {
  if (!args.transposeB)
    return packRows(args, part, column, block);
  int64_t end = std::min(column + 4 * kPanel, part.column + part.columns);
  for (; column < end; column += kPanel)
    packPanel({args.b, column * args.k + block.begin, args.k, false,
               std::min(kPanel, args.n - column), block.size},
              packedBlock(part, column, block), kPanel);
}

/// The panel of op(B) from `column` on as f32, in place where it can be.
PanelB panelB(const GemmArguments &args, const PackedPart &part, int64_t column,
              DepthRange block, float *to) {
  if (packsB(args))
    return {packedBlock(part, column, block), kPanel};
  if (!args.packedB)
    return {static_cast<const float *>(args.b.data) + block.begin * args.n +
                column,
            args.n};
  int64_t k = args.k + args.k % 2;
  if (args.b.dtype != DType::BF16)
    return {static_cast<const float *>(args.b.data) + column * k +
                block.begin * kPanel,
            kPanel};
  auto *pairs = static_cast<const uint16_t *>(args.b.data);
  expandPairs(pairs + column * k + block.begin * kPanel, block.size, to);
  return {to, kPanel};
}

/// sums[rows][32] (+)= A's block times one panel of B.
void multiplyStrip(const float *a, int64_t rows, PanelB b, DepthRange block,
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

/// Asks for what is added to a row of a strip: a strip is too narrow for the
/// processor to guess where its rows are.
HOCKET_INLINE void prefetchAddends(const GemmArguments &args, int64_t at) {
  if (args.residual)
    __builtin_prefetch(static_cast<const char *>(args.residual.data) +
                       at * bytesOf(args.residual.dtype));
  if (args.accumulate)
    __builtin_prefetch(static_cast<const char *>(args.d.data) +
                       at * bytesOf(args.d.dtype));
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
  for (int64_t i = 0; i < tile.rows; ++i) {
    int64_t ahead = (tile.row + std::min(i + 16, tile.rows - 1)) * args.n;
    for (int64_t j = 0; j < columns; j += kWidth)
      prefetchAddends(args, ahead + column + j);
    for (int64_t j = 0; j < columns; j += kWidth)
      finish(args, (tile.row + i) * args.n + column + j, columns - j,
             load(sums + i * kPanel + j), bias[j / kWidth]);
  }
}

void gemmBlock(const GemmArguments &args, const GemmTile &tile,
               const PackedPart &part, DepthRange block, float *allSums,
               const Buffers &buffers) {
  int64_t end = std::min(tile.column + tile.columns, args.n);
  bool last = block.begin + block.size == args.k;
  for (int64_t column = tile.column; column < end; column += kPanel) {
    float *sums = allSums + (column - tile.column) * tile.rows;
    multiplyStrip(buffers.a, tile.rows,
                  panelB(args, part, column, block, buffers.b), block, sums);
    if (last)
      finishStrip(args, tile, column, sums);
  }
}

/// Whether the GEMM is one for FewRows.h, and A fits beside the sums.
bool hasFewRows(const GemmArguments &args) {
  auto bytes =
      static_cast<size_t>(args.m * (args.k + kPanel) + kWidth) * sizeof(float);
  return args.m <= kFewRows && (args.transposeB || args.packedB) &&
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

void multiplyVectors(const GemmArguments &args, const GemmTile &tile,
                     const PackedPart &part, float *sums, std::byte *scratch) {
  Buffers buffers(scratch);
  int64_t begin = part.depth.begin, end = begin + part.depth.size;
  do {
    DepthRange block{begin, std::min(kDepth, end - begin)};
    begin += block.size;
    packA(args, tile, block, buffers.a);
    gemmBlock(args, tile, part, block, sums, buffers);
  } while (begin < end);
}

#ifdef HOCKET_TILES

/// The depth of a block of k on AMX, part of the result's bits as kDepth is.
constexpr int64_t kTilesDepth = 512;

/// A's block as pairs of tiles: [rows / 32][depth / 32][2][16][32].
void packTilesA(const GemmArguments &args, const GemmTile &tile,
                DepthRange block, uint16_t *to) {
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
void packPairsOfPanel(const GemmArguments &args, int64_t column,
                      DepthRange block, uint16_t *to) {
  packPairs({args.b,
             args.transposeB ? column * args.k + block.begin
                             : block.begin * args.n + column,
             args.transposeB ? args.k : args.n, !args.transposeB,
             std::min(kPanel, args.n - column), block.size},
            to);
  int64_t filled = (block.size + 1) / 2 * 2,
          depth = (block.size + 31) / 32 * 32;
  for (int64_t i = filled * kPanel; i < depth * kPanel; ++i)
    to[i] = 0;
}

uint16_t *packedPairs(const PackedPart &part, int64_t column,
                      DepthRange block) {
  std::byte *panel = part.panels[(column - part.column) / kPanel];
  return reinterpret_cast<uint16_t *>(panel) +
         (block.begin - part.depth.begin) * kPanel;
}

void packPanelsOfPairs(const GemmArguments &args, const PackedPart &part,
                       int64_t column, DepthRange block) {
  int64_t end = std::min(column + 4 * kPanel, part.column + part.columns);
  for (; column < end; column += kPanel)
    packPairsOfPanel(args, column, block, packedPairs(part, column, block));
}

const uint16_t *tilesB(const GemmArguments &args, const PackedPart &part,
                       int64_t column, DepthRange block, uint16_t *to) {
  if (!args.packedB)
    return packedPairs(part, column, block);
  int64_t k = args.k + args.k % 2, depth = (block.size + 31) / 32 * 32;
  const uint16_t *pairs = static_cast<const uint16_t *>(args.b.data) +
                          column * k + block.begin * kPanel;
  if (depth == block.size)
    return pairs;
  int64_t filled = (block.size + 1) / 2 * 2 * kPanel;
  __builtin_memcpy(to, pairs, static_cast<size_t>(filled) * 2);
  for (int64_t i = filled; i < depth * kPanel; ++i)
    to[i] = 0;
  return to;
}

/// Scratch: A's tiles, a panel of B.
static_assert((kMostTileRows + kPanel) * kTilesDepth * 2 <= kGemmPrivateBytes);

void multiplyTileBlocks(const GemmArguments &args, const GemmTile &tile,
                        const PackedPart &part, float *sums,
                        std::byte *scratch) {
  TileUse use;
  auto *a = reinterpret_cast<uint16_t *>(scratch);
  uint16_t *b = a + kMostTileRows * kTilesDepth;
  int64_t rows = (tile.rows + 31) / 32 * 32;
  int64_t end = std::min(tile.column + tile.columns, args.n);
  int64_t endDepth = part.depth.begin + part.depth.size;
  for (int64_t begin = part.depth.begin; begin < endDepth;
       begin += kTilesDepth) {
    DepthRange block{begin, std::min(kTilesDepth, endDepth - begin)};
    int64_t depth = (block.size + 31) / 32 * 32;
    packTilesA(args, tile, block, a);
    for (int64_t column = tile.column; column < end; column += kPanel) {
      float *strip = sums + (column - tile.column) * rows;
      const uint16_t *panel = tilesB(args, part, column, block, b);
      for (int64_t i = 0; i < rows; i += 32)
        multiplyTiles({a + i * depth, panel, depth}, strip + i * kPanel,
                      begin > 0);
      if (begin + block.size == args.k)
        finishStrip(args, tile, column, strip);
    }
  }
}

#endif

/// Whether AMX multiplies these operands: what 8 bits hold, bf16 holds too.
bool usesTiles([[maybe_unused]] const GemmArguments &args) {
#ifdef HOCKET_TILES
  auto isExact = [](DType dtype) {
    return dtype == DType::BF16 || isF8(dtype);
  };
  return isExact(args.a.dtype) && isExact(args.b.dtype) && args.k > 0;
#else
  return false;
#endif
}

GemmFormat formatOf(const GemmArguments &args) {
#ifdef HOCKET_TILES
  if (usesTiles(args))
    return {!args.packedB, kTilesDepth, 2, kTileDepth};
#endif
  return {packsB(args), kDepth, 4, 1};
}

void packForGemm(const GemmArguments &args, const PackedPart &part,
                 int64_t column, DepthRange block) {
#ifdef HOCKET_TILES
  if (usesTiles(args))
    return packPanelsOfPairs(args, part, column, block);
#endif
  packPanels(args, part, column, block);
}

void multiplyForGemm(const GemmArguments &args, const GemmTile &tile,
                     const PackedPart &part, float *sums, std::byte *scratch) {
#ifdef HOCKET_TILES
  if (usesTiles(args))
    return multiplyTileBlocks(args, tile, part, sums, scratch);
#endif
  multiplyVectors(args, tile, part, sums, scratch);
}

using FewRowsGemm = void (*)(const GemmArguments &, const GemmTile &,
                             std::byte *scratch);
FewRowsGemm fewRowsOf(const GemmArguments &args) {
  return !usesTiles(args) && hasFewRows(args) ? gemmFewRows : nullptr;
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
const GemmKernels gemmKernels = {formatOf, packForGemm, multiplyForGemm,
                                 fewRowsOf, gemmPackPanel};

} // namespace hocket::kernels::HOCKET_ISA
