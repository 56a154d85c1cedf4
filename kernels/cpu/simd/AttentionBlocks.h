//===- AttentionBlocks.h - Blocks of attention in scratch -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the forward and the backward kernels of attention share: blocks of 64
/// queries or keys as floats in scratch, the mask, and dropout.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CPU_SIMD_ATTENTIONBLOCKS_H
#define HOCKET_KERNELS_CPU_SIMD_ATTENTIONBLOCKS_H

#include "kernels/cpu/simd/Kernels.h"
#include "kernels/cpu/simd/Microkernel.h"
#include "kernels/cpu/simd/Panels.h"
#include "kernels/cpu/simd/VectorMath.h"

namespace hocket::kernels::HOCKET_ISA {
namespace {

/// Queries, and keys, of one block. Blocks begin at multiples of it, so that
/// sums have one order however the work is cut.
constexpr int64_t kBlock = kAttentionBlock;

constexpr float kInfinity = __builtin_inff();

/// Hands out parts of scratch, 64-byte aligned, with room for the vector
/// that packPanel may write behind the last row.
struct Scratch {
  std::byte *next;
  float *floats(int64_t n) {
    auto *array = reinterpret_cast<float *>(next);
    next += attentionScratchBytes(n);
    return array;
  }
};

HOCKET_INLINE int64_t paddedDim(const AttentionShape &s) {
  return (s.headDim + kWidth - 1) / kWidth * kWidth;
}

/// C[rows][columns] (+)= A^T B, A [k][lda], B [k][ldb]; columns is a multiple
/// of kWidth.
void multiply(int64_t rows, int64_t columns, const TileOperands &all) {
  int64_t tiles = tileCount(rows);
  for (int64_t j = 0; j < columns; j += kTileColumns)
    for (int64_t t = 0; t < tiles; ++t) {
      int64_t from = tileBegin(rows, tiles, t);
      int64_t count = tileBegin(rows, tiles, t + 1) - from;
      bool whole = j + kTileColumns <= columns;
      TileOperands tile = all;
      tile.a += from;
      tile.b += j;
      tile.c += from * all.ldc + j;
      (whole ? tileFunction<kVectors>(count) : tileFunction<1>(count))(tile);
    }
}

/// Rows [begin, begin + count) of one head of a [batch, length, heads, d]
/// tensor.
struct HeadRows {
  ConstView tensor;
  int64_t length, heads, b, h, begin, count;
};

HOCKET_INLINE PanelSource panelOf(const AttentionShape &s, const HeadRows &r,
                                  bool transposed) {
  int64_t stride = r.heads * s.headDim;
  int64_t start = (r.b * r.length + r.begin) * stride + r.h * s.headDim;
  return {r.tensor,
          start,
          stride,
          !transposed,
          transposed ? r.count : s.headDim,
          transposed ? s.headDim : r.count};
}

/// to[row][paddedDim], zeros in the padding.
void loadRows(const AttentionShape &s, const HeadRows &r, float *to) {
  packPanel(panelOf(s, r, false), to, paddedDim(s));
}

/// to[d][kBlock], zeros for the missing rows of a last block.
void loadColumns(const AttentionShape &s, const HeadRows &r, float *to) {
  packPanel(panelOf(s, r, true), to, kBlock);
}

void scaleBy(float factor, float *x, int64_t n) {
  for (int64_t i = 0; i < n; i += kWidth)
    store(x + i, mul(load(x + i), broadcast(factor)));
}

/// The tensor rows [begin, begin + count), times factor.
void storeRows(const AttentionShape &s, View tensor, const HeadRows &r,
               const float *from, float factor) {
  for (int64_t row = 0; row < r.count; ++row) {
    int64_t at = ((r.b * r.length + r.begin + row) * r.heads + r.h) * s.headDim;
    for (int64_t c = 0; c < s.headDim; c += kWidth) {
      Vec x = load(from + row * paddedDim(s) + c);
      storeFirst(tensor, at + c, mul(x, broadcast(factor)), s.headDim - c);
    }
  }
}

/// At most `most` rows from `row` on, before `end` and of one part.
HOCKET_INLINE int64_t rowsFrom(const AttentionShape &s, int64_t row,
                               int64_t end, int64_t most) {
  int64_t count = std::min(most, end - row), part = s.place.part;
  return part > 0 ? std::min(count, part - row % part) : count;
}

/// The queries [query, query + queries) and keys [key, key + keys) of a tile;
/// each are rows of one part, so that their positions follow each other.
struct Tile {
  int64_t b, query, queries, key, keys;
  int64_t queryAt, keyAt; ///< positions of the first ones

  Tile(const AttentionShape &s, int64_t b, int64_t query, int64_t queries,
       int64_t key, int64_t keys)
      : b(b), query(query), queries(queries), key(key), keys(keys),
        queryAt(positionOf(s, s.place.firstQuery, query)),
        keyAt(positionOf(s, s.place.firstKey, key)) {}

  /// Whether any query sees any key.
  bool visible(const AttentionShape &s) const {
    return keyAt < lastKeyOf(s, queries - 1) && keyAt + keys > firstKeyOf(s, 0);
  }
  /// Whether every query sees every key.
  bool whole(const AttentionShape &s) const {
    return keyAt + keys <= lastKeyOf(s, 0) &&
           keyAt >= firstKeyOf(s, queries - 1);
  }
  /// The first position that query `i` of the tile sees.
  int64_t firstKeyOf(const AttentionShape &s, int64_t i) const {
    return firstKey(s, b, query + i, queryAt + i);
  }
  /// One past the last.
  int64_t lastKeyOf(const AttentionShape &s, int64_t i) const {
    return lastKey(s, b, query + i, queryAt + i);
  }
};

/// The lanes 0, 1, 2, ... plus `first`.
HOCKET_INLINE Vec lanesFrom(int64_t first) {
  alignas(64) static constexpr float lanes[16] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                  8, 9, 10, 11, 12, 13, 14, 15};
  return add(load(lanes), broadcast(static_cast<float>(first)));
}

/// to[kBlock + d], for -kBlock < d < kBlock: what head `h` adds to the score of
/// a query of the tile and a key that is `sign` * d positions behind it,
/// further by as much as the tile's keys are behind its queries.
HOCKET_INLINE void loadBias(const AttentionShape &s, const Tile &tile,
                            int64_t h, int64_t sign, float *to) {
  for (int64_t d = 1 - kBlock; d < kBlock; ++d) {
    int64_t behind = tile.keyAt - tile.queryAt + sign * d;
    to[kBlock + d] = s.bias[biasRow(s, behind) * s.heads + h];
  }
}

/// Random words of `count` Philox counters from `block` on, in element order.
HOCKET_INLINE void randomWords(const RandomStream &stream, uint64_t block,
                               int64_t count, uint32_t *words) {
  constexpr int64_t lanes = 16;
  for (int64_t first = 0; first < count; first += lanes) {
    uint32_t c[4][lanes], k0 = uint32_t(stream.seed),
                          k1 = uint32_t(stream.seed >> 32);
    for (int64_t t = 0; t < lanes; ++t) {
      uint64_t counter = block + uint64_t(first + t);
      c[0][t] = uint32_t(counter), c[1][t] = uint32_t(counter >> 32);
      c[2][t] = stream.stream, c[3][t] = stream.step;
    }
    for (int round = 0; round < 10; ++round) {
      for (int64_t t = 0; t < lanes; ++t) {
        uint64_t p0 = uint64_t(0xD2511F53u) * c[0][t];
        uint64_t p1 = uint64_t(0xCD9E8D57u) * c[2][t];
        c[0][t] = uint32_t(p1 >> 32) ^ c[1][t] ^ k0;
        c[2][t] = uint32_t(p0 >> 32) ^ c[3][t] ^ k1;
        c[1][t] = uint32_t(p1), c[3][t] = uint32_t(p0);
      }
      k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    for (int64_t t = 0; t < lanes; ++t)
      for (int word = 0; word < 4; ++word)
        words[4 * (first + t) + word] = c[word][t];
  }
}

/// The dropout factors of a tile of head h of sequence b: to[query][kBlock],
/// 0 or 1 / (1 - p).
void dropoutRows(const AttentionShape &s, int64_t b, int64_t h,
                 const Tile &tile, float *to) {
  uint32_t threshold = dropoutThreshold(s.dropout);
  float kept = 1.0f / (1.0f - s.dropout);
  uint32_t words[4 * 32];
  for (int64_t row = 0; row < tile.queries; ++row) {
    auto element =
        uint64_t(randomElement(s, b, h, tile.queryAt + row, tile.keyAt));
    uint64_t skipped = element & 3;
    randomWords(s.random, element >> 2, (skipped + tile.keys + 3) / 4, words);
    for (int64_t j = 0; j < tile.keys; ++j)
      to[row * kBlock + j] = words[skipped + j] >= threshold ? kept : 0.0f;
  }
}

/// to[c][kBlock] = from[row][c] for `rows` rows of `columns` columns.
void transposeTile(const float *from, int64_t rows, int64_t columns,
                   float *to) {
  packPanel({{from, DType::F32}, 0, kBlock, false, rows, columns}, to, kBlock);
}

} // namespace
} // namespace hocket::kernels::HOCKET_ISA

#endif // HOCKET_KERNELS_CPU_SIMD_ATTENTIONBLOCKS_H
