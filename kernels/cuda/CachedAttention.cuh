//===- CachedAttention.cuh - Attention over kept keys on the GPU *- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// kernels/reference/CachedAttention.h on the GPU. A page of a cache has as
/// many positions as a tile of keys, so a token's result has the bits that
/// attentionForward and plainAttentionForward give for its whole sequence,
/// whichever tokens stand beside it:
///
///   keepTokens      a block a token: 128 threads. It also reports what is
///                   wrong with a token's place; others pass over such tokens
///   cachedAttention many tokens: a block has some of them and a head, and
///                   walks over the pages of each row that they are of
///   cachedScores    a token of each row: a block has a page, a token and its
///                   query heads of one key head, up to 16 of them
///   cachedSums      then, from their scores: a warp has 16 columns of the
///                   values of all pages, of which several are on their way at
///                   any time. Only the sums over keys are in order: a long row
///                   has many warps
///   plainCachedAttention
///                   in f32, and for heads that fragments do not fit: of many
///                   tokens, or of one and up to 16 of its heads
///
/// `Shape` says what is known at compile time, as in Attention.cuh:
///   T; int heads, kvHeads, dim; Integer window, rows, tablePages,
///   pages, wholeHeads; float scale, softcap; bool causal (true), alibi,
///   biased; int reach; unsigned dropoutThreshold (0)
///
/// A call's heads are `wholeHeads` from `firstHead` on, or all of them.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_CACHEDATTENTION_CUH
#define HOCKET_KERNELS_CUDA_CACHEDATTENTION_CUH

#include "kernels/cuda/Attention.cuh"
#include "kernels/cuda/PlainAttention.cuh"

namespace hocket::cuda {

//===----------------------------------------------------------------------===//
// Places in a cache
//===----------------------------------------------------------------------===//

/// The first position, a multiple of a page, that a query at `position` sees.
template <class Shape> HOCKET_DEVICE int firstPage(int position) {
  if constexpr (Shape::window > 0) {
    int first = position - static_cast<int>(Shape::window) + 1;
    return first > 0 ? first / kTileRows * kTileRows : 0;
  } else {
    return 0;
  }
}

/// Where tokens are: [tokens], [tokens] and [rows, tablePages].
template <class Shape> struct CachePlaces {
  using T = typename Shape::T;
  static constexpr Integer pitch = Integer(Shape::kvHeads) * Shape::dim;
  const int *positions, *rows, *table;

  /// Of a token that is anywhere, else -1.
  HOCKET_MEMBER int rowOf(int token) const {
    int row = rows[token], position = positions[token];
    bool exists = row >= 0 && row < Shape::rows && position >= 0 &&
                  position < Shape::tablePages * kTileRows;
    return exists ? row : -1;
  }
  /// The page of a position of such a row; -1 if the cache has none such.
  HOCKET_MEMBER Integer pageOf(int row, int position) const {
    Integer page = table[row * Shape::tablePages + position / kTileRows];
    return page >= 0 && page < Shape::pages ? page : -1;
  }
  /// What a cache keeps of a key head at positions key .. key + 63 of a row, of
  /// which those up to `last` exist.
  HOCKET_MEMBER HeadRows<T> rowsOf(const T *cache, int row, int key, int last,
                                   int head) const {
    Integer page = pageOf(row, key);
    int count = last - key < kTileRows ? last - key + 1 : kTileRows;
    return {cache + (page < 0 ? 0 : page * kTileRows * pitch) +
                Integer(head) * Shape::dim,
            pitch, page < 0 ? 0 : count};
  }
};

/// Puts a token's key and value into their place.
///
/// Budget: 32 registers; an iteration of 16 bytes: 12 instructions an element,
/// 4 loads.
/// Budget of float: 32 registers; an iteration of 16 bytes: 24 instructions an
/// element, 4 loads.
template <class Shape>
HOCKET_DEVICE void
keepTokens(const typename Shape::T *k, const typename Shape::T *v,
           const int *positions, const int *rows, const int *table,
           const typename Shape::T *keysBefore,
           const typename Shape::T *valuesBefore, typename Shape::T *keys,
           typename Shape::T *values, unsigned *fault) {
  constexpr Integer width = CachePlaces<Shape>::pitch;
  constexpr int N = 16 / sizeof(typename Shape::T);
  CachePlaces<Shape> places{positions, rows, table};
  int token = blockIdx.x, row = places.rowOf(token);
  int position = positions[token];
  if (keysBefore != keys || valuesBefore != values)
    report(fault, Fault::CacheCopy);
  if (row < 0) {
    if (rows[token] != -1)
      report(fault, Fault::CachePlace);
    return;
  }
  // All that the token reads.
  for (Integer key = Integer(threadIdx.x) * kTileRows; key <= position;
       key += kKeepThreads * kTileRows)
    if (places.pageOf(row, static_cast<int>(key)) < 0)
      report(fault, Fault::CachePlace);
  Integer page = places.pageOf(row, position);
  if (page < 0)
    return;
  Integer to = (page * kTileRows + position % kTileRows) * width;
  Integer from = token * width;
  for (Integer column = threadIdx.x * N; column < width;
       column += kKeepThreads * N) {
    store(keys + to + column, load<N>(k + from + column, width - column),
          width - column);
    store(values + to + column, load<N>(v + from + column, width - column),
          width - column);
  }
}

//===----------------------------------------------------------------------===//
// Many tokens
//===----------------------------------------------------------------------===//

/// Tokens of a block that stand side by side and are of one row, at positions
/// from `least` to `last`.
struct TokenRun {
  int first, end, row, least, last;
};

/// What a block must know of its tokens, in shared memory.
template <class Shape, int Tokens> struct BlockTokens {
  int row[Tokens], position[Tokens];

  /// Those from `first` on, of `count` of a call. There must be a barrier
  /// before it is read.
  HOCKET_MEMBER void set(const CachePlaces<Shape> &places, int first,
                         int count) {
    for (int i = threadIdx.x; i < Tokens; i += blockDim.x) {
      bool exists = first + i < count;
      row[i] = exists ? places.rowOf(first + i) : -1;
      position[i] = exists ? places.positions[first + i] : 0;
    }
  }
  /// The first run from `token` on; its first token is `Tokens` if there is
  /// none.
  HOCKET_MEMBER TokenRun runFrom(int token) const {
    while (token < Tokens && row[token] < 0)
      ++token;
    TokenRun run{token, token, token < Tokens ? row[token] : -1, 0x7fffffff, 0};
    for (; run.end < Tokens && row[run.end] == run.row; ++run.end) {
      int at = position[run.end];
      run.least = at < run.least ? at : run.least;
      run.last = at > run.last ? at : run.last;
    }
    return run;
  }
};

/// The pages that a block's tokens see, run by run, as Attention.cuh and
/// PlainAttention.cuh walk. With `OneToken` all rows of queries are of one.
template <class Shape, int Tokens, bool OneToken = false> struct PageWalk {
  using T = typename Shape::T;
  struct Place {
    TokenRun run;
    int key;
  };
  const T *cachedKeys, *cachedValues;
  const CachePlaces<Shape> &places;
  const BlockTokens<Shape, Tokens> &tokens;
  int head;       ///< Of keys.
  int firstQuery; ///< Head, of all, of the first row.
  const float *bias = nullptr; ///< [2 reach + 1, heads], with Shape::biased.

  HOCKET_MEMBER Place begin() const { return startOf(tokens.runFrom(0)); }
  HOCKET_MEMBER Place next(const Place &at) const {
    if (at.run.last - at.key >= kTileRows)
      return {at.run, at.key + kTileRows};
    return startOf(tokens.runFrom(at.run.end));
  }
  HOCKET_MEMBER bool has(const Place &at) const {
    return at.run.first < Tokens;
  }
  HOCKET_MEMBER HeadRows<T> keys(const Place &at) const {
    return places.rowsOf(cachedKeys, at.run.row, at.key, at.run.last, head);
  }
  HOCKET_MEMBER HeadRows<T> values(const Place &at) const {
    return places.rowsOf(cachedValues, at.run.row, at.key, at.run.last, head);
  }
  template <class Rows>
  HOCKET_MEMBER void copyKeys(const Rows &to, const Place &at) const {
    copy(to, keys(at));
  }
  template <class Rows>
  HOCKET_MEMBER void copyValues(const Rows &to, const Place &at) const {
    copy(to, values(at));
  }
  HOCKET_MEMBER bool sees(const Place &at, int row, int key) const {
    int token = OneToken ? 0 : row;
    return token >= at.run.first && token < at.run.end &&
           cuda::sees<Shape>(tokens.position[token], at.key + key);
  }
  /// Of all heads.
  HOCKET_MEMBER int headOf(int row) const {
    return OneToken ? firstQuery + row : firstQuery;
  }
  HOCKET_MEMBER int distanceOf(const Place &at, int row, int key) const {
    return tokens.position[OneToken ? 0 : row] - (at.key + key);
  }
  /// As scores stand.
  HOCKET_MEMBER float biasOf(const Place &at, int row, int key) const {
    int behind = biasRow<Shape>(-distanceOf(at, row, key));
    return bias[behind * Shape::heads + headOf(row)] *
           (1 / scoreScale<Shape>());
  }
  HOCKET_MEMBER void slope(Scores &scores, const Place &at) const {
    if constexpr (Shape::alibi) {
      WarpPlace place(threadIdx.x / 32 * 16, 0);
      float slope = slopeOf<Shape>(headOf(0));
#pragma unroll
      for (int j = 0; j < 8; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          scores[j][i] -= slope * static_cast<float>(distanceOf(
                                      at, place.row(i), place.column(j, i)));
    }
  }
  HOCKET_MEMBER void hide(Scores &scores, const Place &at) const {
    if (at.run.first == 0 && at.run.end == Tokens &&
        at.key + kTileRows - 1 <= at.run.least &&
        (Shape::window == 0 || at.key > at.run.last - Shape::window))
      return;
    WarpPlace place(threadIdx.x / 32 * 16, 0);
#pragma unroll
    for (int j = 0; j < 8; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (!sees(at, place.row(i), place.column(j, i)))
          scores[j][i] = neutral<Max>();
  }
  HOCKET_MEMBER void drop(Scores &, const Place &) const {}

private:
  HOCKET_MEMBER Place startOf(const TokenRun &run) const {
    return {run, firstPage<Shape>(run.least)};
  }
  template <class Rows>
  HOCKET_MEMBER static void copy(const Rows &to, const HeadRows<T> &from) {
    copyRows(to, from.from, from.pitch, 0, from.count);
  }
};

/// Budget of 64: 136 registers; a thread: 1650 instructions, 34 loads, 16
/// stores, 100 shared.
/// Budget of 128: 192 registers; a thread: 2250 instructions, 50 loads, 32
/// stores, 136 shared.
/// Budget of 64 softcap: 136 registers; a thread: 1950 instructions, 34 loads,
/// 16 stores, 100 shared.
/// Budget of 128 softcap: 192 registers; a thread: 2500 instructions, 50 loads,
/// 32 stores, 136 shared.
/// Budget of 128 alibi: 208 registers; a thread: 2250 instructions, 50 loads,
/// 32 stores, 136 shared.
template <class Shape>
HOCKET_DEVICE void
cachedAttention(const typename Shape::T *q, const typename Shape::T *keys,
                const typename Shape::T *values, const int *positions,
                const int *rows, const int *table, typename Shape::T *o,
                Integer tokenCount, Integer firstHead, float *shared) {
  using T = typename Shape::T;
  constexpr Integer pitch = Integer(Shape::heads) * Shape::dim;
  __shared__ BlockTokens<Shape, kTileRows> tokens;
  CachePlaces<Shape> places{positions, rows, table};
  int first = blockIdx.x * kTileRows, head = blockIdx.y;
  int count = static_cast<int>(tokenCount);
  auto queries = tileOf<T, Shape::dim>(shared, 0);
  Integer start = Integer(head) * Shape::dim;
  float sums[Shape::dim / 8][4] = {};
  SoftmaxRows softmax;
  copyRows(queries, q + start, pitch, first, count);
  tokens.set(places, first, count);
  __syncthreads();
  attendToTiles<Shape>(
      PageWalk<Shape, kTileRows>{keys, values, places, tokens,
                                 head / (Shape::heads / Shape::kvHeads),
                                 static_cast<int>(firstHead) + head},
      queries, tileOf<T, Shape::dim>(shared, 1),
      tileOf<T, Shape::dim>(shared, 2), sums, softmax);
  float totals[2], factors[2];
  finishSoftmax(softmax, totals, factors);
  storeRows<T, Shape::dim>(o + start, pitch, first + threadIdx.x / 32 * 16,
                           count, sums, factors[0], factors[1]);
}

/// Budget: 80 registers; a thread: 2100 instructions, 32 loads, 16 stores, 286
/// shared.
/// Budget of true: 48 registers; a thread: 1500 instructions, 26 loads, 4
/// stores, 216 shared.
/// Budget of softcap: 80 registers; a thread: 2450 instructions, 32 loads, 16
/// stores, 286 shared.
/// Budget of true softcap: 48 registers; a thread: 1850 instructions, 26 loads,
/// 4 stores, 216 shared.
/// Budget of alibi: 80 registers; a thread: 2300 instructions, 32 loads, 16
/// stores, 304 shared.
/// Budget of true alibi: 48 registers; a thread: 1700 instructions, 26 loads, 4
/// stores, 216 shared.
template <class Shape, bool OneToken>
HOCKET_DEVICE void
plainCachedAttention(const typename Shape::T *q, const typename Shape::T *keys,
                     const typename Shape::T *values, const float *bias,
                     const int *positions, const int *rows, const int *table,
                     typename Shape::T *o, Integer tokenCount,
                     Integer firstHead, float *shared) {
  constexpr int own = OneToken ? kFewRows : plainRows(Shape::dim);
  constexpr int tokensOfBlock = OneToken ? 1 : own;
  constexpr int group = Shape::heads / Shape::kvHeads;
  __shared__ BlockTokens<Shape, tokensOfBlock> tokens;
  __shared__ PlainSoftmax<own> softmax;
  CachePlaces<Shape> places{positions, rows, table};
  int token = blockIdx.x * tokensOfBlock, head = blockIdx.y / group;
  int count = static_cast<int>(tokenCount);
  HeadRows<typename Shape::T> queries{
      nullptr, Integer(Shape::heads) * Shape::dim, count, token};
  Integer start = Integer(blockIdx.y) * Shape::dim;
  int firstQuery = static_cast<int>(firstHead + blockIdx.y);
  if constexpr (OneToken) {
    constexpr int blocks = (group + kFewRows - 1) / kFewRows;
    head = blockIdx.y / blocks;
    start = (Integer(token) * Shape::heads + head * group) * Shape::dim;
    int member = static_cast<int>(blockIdx.y % blocks) * kFewRows;
    queries = {nullptr, Shape::dim, group, member};
    firstQuery = static_cast<int>(firstHead) + head * group + member;
  }
  queries.from = q + start;
  RowSums<own, Shape::dim> sums;
  tokens.set(places, token, count);
  __syncthreads();
  PageWalk<Shape, tokensOfBlock, OneToken> walk{keys,   values, places,
                                                tokens, head,   firstQuery,
                                                bias};
  plainAttendToTiles<Shape, own>(walk, queries, sums, softmax, shared);
  softmax.end();
  __syncthreads();
  sums.store(o + start, queries.pitch, queries.first, queries.count,
             softmax.before, 1);
}

//===----------------------------------------------------------------------===//
// A token of each row
//===----------------------------------------------------------------------===//

/// The query heads of a token, up to 16, of which a block has a row each.
template <class Shape> struct FewHeads {
  static constexpr int group = Shape::heads / Shape::kvHeads;
  static constexpr int blocks = (group + kFewRows - 1) / kFewRows;
  int token, keyHead, first, count; ///< `first` of all query heads.

  HOCKET_MEMBER FewHeads()
      : token(static_cast<int>(blockIdx.z)),
        keyHead(static_cast<int>(blockIdx.y) / blocks) {
    int member = static_cast<int>(blockIdx.y) % blocks * kFewRows;
    first = keyHead * group + member;
    count = group - member < kFewRows ? group - member : kFewRows;
  }
  /// Row `row` of [tokens, heads, ..].
  HOCKET_MEMBER Integer at(int row) const {
    return Integer(token) * Shape::heads + first + row;
  }
};

/// Scores of a head a row, from `head` of all on, become less by their
/// distances from the token at `position`, where heads have slopes.
template <class Shape>
HOCKET_DEVICE void slopeHeads(float (&scores)[2][4], int head, int position,
                              const WarpPlace &place) {
  if constexpr (Shape::alibi) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float slope = slopeOf<Shape>(head + place.row(i));
#pragma unroll
      for (int j = 0; j < 2; ++j)
        scores[j][i] -=
            slope * static_cast<float>(position - place.column(j, i));
    }
  }
}

/// scores[tokens, heads, positions] of the positions of pages that a token
/// sees, -infinity of those that it does not.
///
/// Budget of 64: 32 registers; a thread: 360 instructions, 12 loads, 4 stores,
/// 8 shared.
/// Budget of 128: 32 registers; a thread: 470 instructions, 16 loads, 4 stores,
/// 16 shared.
/// Budget of 64 softcap: 32 registers; a thread: 380 instructions, 12 loads, 4
/// stores, 8 shared.
/// Budget of 128 softcap: 32 registers; a thread: 480 instructions, 16 loads, 4
/// stores, 16 shared.
/// Budget of 64 alibi: 32 registers; a thread: 390 instructions, 12 loads, 4
/// stores, 8 shared.
/// Budget of 128 alibi: 40 registers; a thread: 500 instructions, 16 loads, 4
/// stores, 16 shared.
template <class Shape>
HOCKET_DEVICE void
cachedScores(const typename Shape::T *q, const typename Shape::T *keys,
             const int *positions, const int *rows, const int *table,
             float *scores, Integer firstHead, float *shared) {
  using T = typename Shape::T;
  CachePlaces<Shape> places{positions, rows, table};
  FewHeads<Shape> heads;
  int row = places.rowOf(heads.token), position = positions[heads.token];
  int key = blockIdx.x * kTileRows;
  if (row < 0 || key > position || key < firstPage<Shape>(position))
    return;
  auto tile = tileOf<T, Shape::dim>(shared, 0);
  auto queries = tileOf<T, Shape::dim>(shared, 1); // Its first 16 rows.
  auto from = places.rowsOf(keys, row, key, position, heads.keyHead);
  copyRows(tile, from.from, from.pitch, 0, from.count);
  constexpr int vectors = Shape::dim / 8;
  for (int i = threadIdx.x; i < kFewRows * vectors; i += kAttentionThreads) {
    int of = i / vectors, column = i % vectors * 8;
    bool exists = of < heads.count;
    copyLater(queries.at(of, column),
              q + heads.at(exists ? of : 0) * Shape::dim + column, exists);
  }
  commitCopies();
  waitForCopies<0>();
  __syncthreads();
  int firstKey = threadIdx.x / 32 * 16;
  float sums[2][4];
  auto leftOf = [&](int k, unsigned(&left)[4]) {
    queries.fragment(left, 0, k);
  };
  multiplyRows<T, Shape::dim>(sums, leftOf, tile, firstKey);
  capScores<Shape>(sums);
  WarpPlace place(0, key + firstKey);
  slopeHeads<Shape>(sums, static_cast<int>(firstHead) + heads.first, position,
                    place);
#pragma unroll
  for (int j = 0; j < 2; ++j)
#pragma unroll
    for (int half = 0; half < 4; half += 2) {
      Pack<float, 2> seen;
#pragma unroll
      for (int i = 0; i < 2; ++i)
        seen.at[i] = sees<Shape>(position, place.column(j, i))
                         ? sums[j][half + i]
                         : neutral<Max>();
      if (place.row(half) < heads.count)
        storeWhole(
            scores + heads.at(place.row(half)) * Shape::tablePages * kTileRows +
                place.column(j, 0),
            seen);
    }
}

/// Attention by such scores: a warp has 16 columns of a block's heads.
///
/// Budget: 112 registers; a thread: 1000 instructions, 41 loads, 2 stores, 20
/// shared.
template <class Shape>
HOCKET_DEVICE void
cachedSums(const float *scores, const typename Shape::T *values,
           const int *positions, const int *rows, const int *table,
           typename Shape::T *o, float *shared) {
  using T = typename Shape::T;
  using Values = Tile<T, kTileRows, kFewColumns, 32>;
  constexpr int stages = kCacheStages;
  static_assert(Values::bytes + kFewRows * kCachedScorePitch * 4 ==
                kCacheStageBytes);
  CachePlaces<Shape> places{positions, rows, table};
  FewHeads<Shape> heads;
  int row = places.rowOf(heads.token), position = positions[heads.token];
  int first = firstPage<Shape>(position);
  int tiles = row < 0 ? 0 : (position - first) / kTileRows + 1;
  int column = blockIdx.x * kFewColumns;
  auto scoresOf = [&](int tile) {
    return shared + tile % stages * (kCacheStageBytes / 4);
  };
  auto valuesOf = [&](int tile) {
    return Values{
        reinterpret_cast<T *>(scoresOf(tile) + kFewRows * kCachedScorePitch)};
  };
  auto fetch = [&](int tile) {
    if (tile < tiles) {
      int key = first + tile * kTileRows;
      auto from = places.rowsOf(values, row, key, position, heads.keyHead);
      valuesOf(tile).template copy<true>(from.from + column, from.pitch, 0,
                                         from.count, 0, kFewColumns);
#pragma unroll
      for (int vector = threadIdx.x; vector < kFewRows * kTileRows / 4;
           vector += 32) {
        int of = vector / (kTileRows / 4), at = vector % (kTileRows / 4) * 4;
        bool exists = of < heads.count;
        copyLater(
            scoresOf(tile) + of * kCachedScorePitch + at,
            scores + heads.at(exists ? of : 0) * Shape::tablePages * kTileRows +
                key + at,
            exists);
      }
    }
    commitCopies();
  };

  float sums[kFewColumns / 8][4] = {};
  SoftmaxRows softmax;
  for (int tile = 0; tile < stages - 1; ++tile)
    fetch(tile);
  for (int tile = 0; tile < tiles; ++tile) {
    waitForCopies<stages - 2>();
    __syncthreads(); // The tile is there; that of the last round has been read.
    fetch(tile + stages - 1);
    WarpPlace place(0, 0);
    Scores own;
#pragma unroll
    for (int j = 0; j < 8; ++j)
#pragma unroll
      for (int half = 0; half < 4; half += 2) {
        auto pair = loadAligned<2>(scoresOf(tile) +
                                   place.row(half) * kCachedScorePitch +
                                   place.column(j, 0));
        own[j][half] = pair.at[0], own[j][half + 1] = pair.at[1];
      }
    softmaxStep<Shape>(own, softmax);
    scaleRows(sums, softmax.before);
    addGemm<T, kFewColumns>(sums, own, valuesOf(tile));
  }
  waitForCopies<0>();
  float totals[2], factors[2];
  finishSoftmax(softmax, totals, factors);
  storeRows<T, kFewColumns>(o + heads.at(0) * Shape::dim + column, Shape::dim,
                            0, heads.count, sums, factors[0], factors[1]);
}

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_CACHEDATTENTION_CUH
