//===- GemmPacking.h - Packing of the operands of GEMMs ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A's block of a tile and B's panels (kernels/cpu/Gemm.h), as floats or as
/// pairs of bf16: words of 32 bits, of one element of k or of two.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CPU_SIMD_GEMMPACKING_H
#define HOCKET_KERNELS_CPU_SIMD_GEMMPACKING_H

#include "kernels/cpu/simd/FewRows.h"
#include "kernels/cpu/simd/Kernels.h"
#include "kernels/cpu/simd/Microkernel.h"
#include "kernels/cpu/simd/Panels.h"

namespace hocket::kernels::HOCKET_ISA {
namespace {

/// Words of k that are multiplied before the next panel: a panel of B of this
/// depth stays in the first-level cache. Sums are formed block by block, so
/// this number is part of the result's bits.
constexpr int64_t kDepth = 192;

/// Elements of k of a word.
template <bool Pairs> constexpr int64_t kElements = Pairs ? 2 : 1;

HOCKET_INLINE int64_t pairsIn(int64_t k) { return (k + 1) / 2; }

/// Pairs of bf16 along k, which lie side by side where k is contiguous and a
/// row has no half pair, as the floats that are as wide.
HOCKET_INLINE PanelSource asWords(const PanelSource &s) {
  return {{s.matrix.data, DType::F32},
          s.start / 2,
          s.stride / 2,
          s.kMajor,
          s.lines,
          pairsIn(s.k)};
}

/// A word of n lines, from line `at` on, of a k-major source.
template <bool Pairs>
HOCKET_INLINE Vec loadWord(const PanelSource &s, int64_t word, int64_t at,
                           int64_t n) {
  // A row that is followed by another one may be read past its end.
  auto row = [&](int64_t p) {
    return loadFactor(s.matrix, s.start + p * s.stride + at,
                      p + 1 < s.k ? kWidth : n);
  };
  if constexpr (!Pairs)
    return row(word);
  return pairsOf(row(2 * word),
                 2 * word + 1 < s.k ? row(2 * word + 1) : zero());
}

/// A's block where its rows are contiguous: a row goes to all tiles before the
/// next is read. What is written behind a row of a tile its next row
/// overwrites.
template <bool Pairs>
void packTransposedA(const PanelSource &source, float *to) {
  int64_t tiles = tileCount(source.lines);
  int64_t begins[kMostTileRows / kTileRows + 2];
  for (int64_t t = 0; t <= tiles; ++t)
    begins[t] = tileBegin(source.lines, tiles, t);
  int64_t words = Pairs ? pairsIn(source.k) : source.k;
  for (int64_t word = 0; word < words; ++word) {
    for (int64_t i = 0; i < kElements<Pairs>; ++i)
      prefetchRowAhead(source, word * kElements<Pairs> + i, source.lines);
    for (int64_t t = 0; t < tiles; ++t) {
      int64_t from = begins[t], rows = begins[t + 1] - from;
      float *at = to + from * words + word * rows;
      Vec x = loadWord<Pairs>(source, word, from, rows);
      if ((words - word) * rows < kWidth)
        storeFirst(at, x, rows); // the next tile is behind it
      else
        store(at, x);
    }
  }
}

/// Any tile of A as pairs, through floats.
void packPairsThroughFloats(const PanelSource &source, float *to) {
  float part[kTileRows * 2 * kDepth + kWidth];
  packPanel(source, part, source.lines);
  int64_t rows = source.lines;
  for (int64_t p = 0; p < source.k; p += 2) {
    Vec second = p + 1 < source.k ? load(part + (p + 1) * rows) : zero();
    storeFirst(to + p / 2 * rows, pairsOf(load(part + p * rows), second), rows);
  }
}

/// A's block, a tile of the microkernel after another: [words][rows] of each.
template <bool Pairs>
void packA(const GemmArguments &args, const GemmTile &tile, DepthRange block,
           float *to) {
  if (args.transposeA && args.m >= kWidth)
    return packTransposedA<Pairs>({args.a, block.begin * args.m + tile.row,
                                   args.m, true, tile.rows, block.size},
                                  to);
  int64_t tiles = tileCount(tile.rows);
  int64_t words = Pairs ? pairsIn(block.size) : block.size;
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
    if (!Pairs)
      packPanel(source, to + from * words, rows);
    else if (!args.transposeA && args.k % 2 == 0)
      packPanel(asWords(source), to + from * words, rows);
    else
      packPairsThroughFloats(source, to + from * words);
  }
}

/// Where the block of the panel of `column` is.
template <bool Pairs>
float *packedBlock(const PackedPart &part, int64_t column, DepthRange block) {
  std::byte *panel = part.panels[(column - part.column) / kPanel];
  return reinterpret_cast<float *>(panel) +
         (block.begin - part.depth.begin) / kElements<Pairs> * kPanel;
}

/// Panels of a B whose columns are contiguous, a row of all of them at a time.
template <bool Pairs>
void packRows(const GemmArguments &args, const PackedPart &part, int64_t column,
              DepthRange block) {
  float *to[4] = {};
  int64_t columns = std::min(4 * kPanel, part.column + part.columns - column);
  int64_t panels = 0;
  for (int64_t j = 0; j < columns; j += kPanel)
    to[panels++] = packedBlock<Pairs>(part, column + j, block);
  PanelSource source{
      args.b, block.begin * args.n + column, args.n, true, columns, block.size};
  auto word = [&](int64_t p, int64_t at) {
    int64_t n = columns - at;
    auto row = [&](int64_t k) {
      return loadFactor(args.b, source.start + k * args.n + at, n);
    };
    if (n <= 0)
      return zero();
    if constexpr (!Pairs)
      return row(p);
    return pairsOf(row(2 * p),
                   2 * p + 1 < block.size ? row(2 * p + 1) : zero());
  };
  int64_t words = Pairs ? pairsIn(block.size) : block.size;
  for (int64_t p = 0; p < words; ++p) {
    for (int64_t i = 0; i < kElements<Pairs>; ++i)
      prefetchRowAhead(source, p * kElements<Pairs> + i, columns);
    for (int64_t panel = 0; panel < panels; ++panel)
      for (int64_t j = 0; j < kPanel; j += kWidth)
        store(to[panel] + p * kPanel + j, word(p, panel * kPanel + j));
  }
}

/// One block of k of up to four panels, from `column` on.
template <bool Pairs>
void packPanels(const GemmArguments &args, const PackedPart &part,
                int64_t column, DepthRange block) {
  if (!args.transposeB)
    return packRows<Pairs>(args, part, column, block);
  int64_t end = std::min(column + 4 * kPanel, part.column + part.columns);
  for (; column < end; column += kPanel) {
    PanelSource source{args.b, column * args.k + block.begin,     args.k,
                       false,  std::min(kPanel, args.n - column), block.size};
    float *to = packedBlock<Pairs>(part, column, block);
    if (!Pairs)
      packPanel(source, to, kPanel);
    else if (args.k % 2 == 0 && args.b.dtype == DType::BF16)
      packPanel(asWords(source), to, kPanel);
    else
      packPairs(source, reinterpret_cast<uint16_t *>(to));
  }
}

} // namespace
} // namespace hocket::kernels::HOCKET_ISA

#endif // HOCKET_KERNELS_CPU_SIMD_GEMMPACKING_H
