//===- GemmKernels.cpp - One tile of a GEMM -------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/simd/GemmPacking.h"
#include "kernels/cpu/simd/VectorMath.h"
#ifdef HOCKET_TILES
#include "kernels/cpu/simd/TileBlocks.h"
#endif

namespace hocket::kernels::HOCKET_ISA {
namespace {

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

/// The panel of op(B) from `column` on as f32, in place where it can be.
PanelB panelB(const GemmArguments &args, const PackedPart &part, int64_t column,
              DepthRange block, float *to) {
  if (packsB(args))
    return {packedBlock<false>(part, column, block), kPanel};
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

/// sums[rows][32] (+)= A's block times one panel of B, of `depth` floats or
/// pairs each.
template <bool Pairs>
void multiplyStrip(const float *a, int64_t rows, PanelB b, int64_t depth,
                   bool accumulate, float *sums) {
  int64_t tiles = tileCount(rows);
  for (int64_t t = 0; t < tiles; ++t) {
    int64_t from = tileBegin(rows, tiles, t);
    int64_t count = tileBegin(rows, tiles, t + 1) - from;
    TileFunction multiply = tileFunction<kVectors, Pairs>(count);
    for (int64_t j = 0; j < kPanel; j += kTileColumns)
      multiply({depth, a + from * depth, count, b.data + j, b.stride,
                sums + from * kPanel + j, kPanel, accumulate});
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

/// Whether operands are multiplied as pairs of bf16.
bool usesPairs([[maybe_unused]] const GemmArguments &args) {
#ifdef HOCKET_PAIRS
  return args.a.dtype == DType::BF16 && args.b.dtype == DType::BF16 &&
         args.k > 0;
#else
  return false;
#endif
}

/// A panel of a packed B, or of what was packed of it, as pairs.
PanelB panelOfPairs(const GemmArguments &args, const PackedPart &part,
                    int64_t column, DepthRange block) {
  if (!args.packedB)
    return {packedBlock<true>(part, column, block), kPanel};
  return {static_cast<const float *>(args.b.data) + column * pairsIn(args.k) +
              block.begin / 2 * kPanel,
          kPanel};
}

template <bool Pairs>
void gemmBlock(const GemmArguments &args, const GemmTile &tile,
               const PackedPart &part, DepthRange block, float *allSums,
               const Buffers &buffers) {
  packA<Pairs>(args, tile, block, buffers.a);
  int64_t end = std::min(tile.column + tile.columns, args.n);
  bool last = block.begin + block.size == args.k;
  for (int64_t column = tile.column; column < end; column += kPanel) {
    float *sums = allSums + (column - tile.column) * tile.rows;
    PanelB b = Pairs ? panelOfPairs(args, part, column, block)
                     : panelB(args, part, column, block, buffers.b);
    multiplyStrip<Pairs>(buffers.a, tile.rows, b,
                         Pairs ? pairsIn(block.size) : block.size,
                         block.begin > 0, sums);
    if (last)
      finishStrip(args, tile, column, sums);
  }
}

/// Whether the GEMM is one for FewRows.h, and A fits beside the sums.
bool hasFewRows(const GemmArguments &args) {
  auto bytes =
      static_cast<size_t>(args.m * (args.k + kPanel) + kWidth) * sizeof(float);
  // Half a pair of a plain B cannot be read alone.
  bool whole = !usesPairs(args) || args.packedB || args.k % 2 == 0;
  return args.m <= kFewRows && (args.transposeB || args.packedB) &&
         !args.transposeA && !isF8(args.a.dtype) && args.k > 0 && whole &&
         bytes <= kScratchBytesPerWorker;
}

/// The sums of a panel's columns below `end`.
void multiplyPlainPanel(const GemmArguments &args, int64_t rows, int64_t column,
                        int64_t end, FewRowsOperands operands) {
  FewRowsFunction multiply =
      usesPairs(args) ? fewRowsFunction<DType::F32, false, true>(rows)
                      : fewRowsFunction(args.b.dtype, rows);
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
  FewRowsFunction multiply = usesPairs(args)
                                 ? fewRowsFunction<DType::F32, true, true>(rows)
                                 : packedRowsFunction(args.b.dtype, rows);
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

/// A few rows of A as words, [rows][words]; how many words.
int64_t copyRowsOfA(const GemmArguments &args, const GemmTile &tile,
                    float *to) {
  if (usesPairs(args)) {
    int64_t words = pairsIn(args.k);
    auto *from = static_cast<const uint16_t *>(args.a.data) + tile.row * args.k;
    auto *halves = reinterpret_cast<uint16_t *>(to);
    for (int64_t i = 0; i < tile.rows; ++i, halves += 2 * words) {
      halves[2 * words - 1] = 0;
      __builtin_memcpy(halves, from + i * args.k,
                       static_cast<size_t>(args.k) * sizeof(uint16_t));
    }
    return words;
  }
  for (int64_t i = 0; i < tile.rows; ++i)
    for (int64_t p = 0; p < args.k; p += kWidth) {
      int64_t n = std::min(kWidth, args.k - p);
      storeFirst(to + i * args.k + p,
                 loadFirst(args.a, (tile.row + i) * args.k + p, n), n);
    }
  return args.k;
}

void gemmFewRows(const GemmArguments &args, const GemmTile &tile,
                 std::byte *scratch) {
  float *sums = reinterpret_cast<float *>(scratch);
  float *a = sums + tile.rows * kPanel;
  int64_t words = copyRowsOfA(args, tile, a);
  int64_t end = std::min(tile.column + tile.columns, args.n);
  FewRowsOperands operands{words, kDepth, a, args.b, 0, sums, kPanel};
  for (int64_t column = tile.column; column < end; column += kPanel) {
    if (args.packedB)
      multiplyPackedPanel(args, tile.rows, column, operands);
    else
      multiplyPlainPanel(args, tile.rows, column, end, operands);
    finishStrip(args, tile, column, sums);
  }
}

template <bool Pairs>
void multiplyVectors(const GemmArguments &args, const GemmTile &tile,
                     const PackedPart &part, float *sums, std::byte *scratch) {
  Buffers buffers(scratch);
  int64_t begin = part.depth.begin, end = begin + part.depth.size;
  do {
    DepthRange block{begin, std::min(kDepth * kElements<Pairs>, end - begin)};
    begin += block.size;
    gemmBlock<Pairs>(args, tile, part, block, sums, buffers);
  } while (begin < end);
}

#ifdef HOCKET_TILES

/// The depth of a block of k on AMX, part of the result's bits as kDepth is: a
/// panel of B and 32 rows of A lie in the first-level cache together.
constexpr int64_t kTilesDepth = 256;
constexpr int64_t kRowsOfTiles = 32;

/// Whether rows of A are tiles as they lie.
bool hasTilesA(const GemmArguments &args, DepthRange block) {
  return !args.transposeA && args.a.dtype == DType::BF16 &&
         block.size % kTileDepth == 0;
}

/// 32 rows of A from `row` on as pairs of tiles: [depth / 32][2][16][32].
void packTilesA(const GemmArguments &args, int64_t row, int64_t rows,
                DepthRange block, uint16_t *to) {
  for (int64_t p = 0; p < block.size; p += kTileDepth)
    for (int64_t half = 0; half < kRowsOfTiles;
         half += 16, to += 16 * kTileDepth) {
      int64_t first = row + half, k = block.begin + p;
      packTileA({args.a,
                 args.transposeA ? k * args.m + first : first * args.k + k,
                 args.transposeA ? args.m : args.k, args.transposeA,
                 std::clamp<int64_t>(rows - half, 0, 16),
                 std::min(kTileDepth, block.size - p)},
                to);
    }
}

/// 32 rows of A from row i of the tile on: where they lie, or, packed into
/// their part of `packed` before, there.
TileOperand tilesA(const GemmArguments &args, const GemmTile &tile, int64_t i,
                   DepthRange block, uint16_t *packed) {
  if (hasTilesA(args, block) && i + kRowsOfTiles <= tile.rows)
    return {static_cast<const uint16_t *>(args.a.data) +
                (tile.row + i) * args.k + block.begin,
            args.k * 2,
            16 * args.k,
            kTileDepth,
            nullptr,
            block.size};
  int64_t depth = divideUp(block.size, kTileDepth) * kTileDepth;
  return {packed + i * depth, 64,      16 * kTileDepth,
          32 * kTileDepth,    nullptr, depth};
}

void packPanelsOfTiles(const GemmArguments &args, const PackedPart &part,
                       int64_t column, DepthRange block) {
  packPanels<true>(args, part, column, block);
  int64_t end = std::min(column + 4 * kPanel, part.column + part.columns);
  for (; column < end; column += kPanel) {
    float *words = packedBlock<true>(part, column, block);
    int64_t depth = divideUp(block.size, kTileDepth) * kTileDepth;
    for (int64_t p = pairsIn(block.size); p < depth / 2; ++p)
      for (int64_t j = 0; j < kPanel; j += kWidth)
        store(words + p * kPanel + j, zero());
  }
}

const uint16_t *tilesB(const GemmArguments &args, const PackedPart &part,
                       int64_t column, DepthRange block, uint16_t *to) {
  if (!args.packedB)
    return reinterpret_cast<const uint16_t *>(
        packedBlock<true>(part, column, block));
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
  int64_t rows = divideUp(tile.rows, kRowsOfTiles) * kRowsOfTiles;
  int64_t end = std::min(tile.column + tile.columns, args.n);
  int64_t endDepth = part.depth.begin + part.depth.size;
  for (int64_t begin = part.depth.begin; begin < endDepth;
       begin += kTilesDepth) {
    DepthRange block{begin, std::min(kTilesDepth, endDepth - begin)};
    TileOperand operands[kMostTileRows / kRowsOfTiles];
    for (int64_t i = 0; i < rows; i += kRowsOfTiles) {
      operands[i / kRowsOfTiles] = tilesA(args, tile, i, block, a);
      uint16_t *to = a + i * operands[i / kRowsOfTiles].depth;
      if (operands[i / kRowsOfTiles].a == to)
        packTilesA(args, tile.row + i, tile.rows - i, block, to);
    }
    for (int64_t column = tile.column; column < end; column += kPanel) {
      float *strip = sums + (column - tile.column) * rows;
      const uint16_t *panel = tilesB(args, part, column, block, b);
      for (int64_t i = 0; i < rows; i += kRowsOfTiles) {
        TileOperand &operand = operands[i / kRowsOfTiles];
        operand.b = panel;
        multiplyTiles(operand, strip + i * kPanel, begin > 0);
      }
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
    return {!args.packedB, kTilesDepth, 2, kTileDepth, kRowsOfTiles};
#endif
  if (usesPairs(args))
    return {!args.packedB, 2 * kDepth, 2, 2};
  return {packsB(args), kDepth, 4, 1};
}

void packForGemm(const GemmArguments &args, const PackedPart &part,
                 int64_t column, DepthRange block) {
#ifdef HOCKET_TILES
  if (usesTiles(args))
    return packPanelsOfTiles(args, part, column, block);
#endif
  if (usesPairs(args))
    return packPanels<true>(args, part, column, block);
  packPanels<false>(args, part, column, block);
}

void multiplyForGemm(const GemmArguments &args, const GemmTile &tile,
                     const PackedPart &part, float *sums, std::byte *scratch) {
#ifdef HOCKET_TILES
  if (usesTiles(args))
    return multiplyTileBlocks(args, tile, part, sums, scratch);
#endif
  if (usesPairs(args))
    return multiplyVectors<true>(args, tile, part, sums, scratch);
  multiplyVectors<false>(args, tile, part, sums, scratch);
}

/// Rows of A up to which vectors multiply where there are tiles: a tile has 16,
/// used or not, and B has to be packed for it.
constexpr int64_t kTooFewRowsForTiles = 8;

using FewRowsGemm = void (*)(const GemmArguments &, const GemmTile &,
                             std::byte *scratch);
FewRowsGemm fewRowsOf(const GemmArguments &args) {
  bool wantsTiles = usesTiles(args) && args.m > kTooFewRowsForTiles;
  return !wantsTiles && hasFewRows(args) ? gemmFewRows : nullptr;
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
