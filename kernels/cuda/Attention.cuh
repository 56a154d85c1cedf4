//===- Attention.cuh - Scaled dot-product attention on the GPU --*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Attention without its matrix of scores (Dao, "FlashAttention-2",
/// arXiv 2307.08691), on tensor cores, for bf16 and f16 and head sizes that
/// are multiples of 16 up to 128. kernels/reference/Attention.h defines the
/// result. Nothing is added atomically: each result is one block's, so two
/// runs give the same bits.
///
///   attentionForward        a block has 64 queries of a head and walks over
///                           the keys:      blocks(queries), heads, batch
///   attentionDelta          delta = do . o, some threads of a warp a row
///   attentionQueryGradient  as forward
///   attentionKeyGradient    a block has 64 keys of a key head and walks over
///                           the queries of its group of query heads:
///                                          blocks(keys), kvHeads, batch
///
/// `Shape` says what is known at compile time:
///   T; int batch, queries, keys, heads, kvHeads, dim, window; bool causal,
///   alibi (heads have slopes), documents (the call has positions: of documents that share sequences where
///   causal, else how many keys a query sees);
///   Integer part, rounds, sequence, wholeHeads; float scale, softcap (0: none),
///   dropoutScale; unsigned dropoutThreshold (0: no dropout)
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_ATTENTION_CUH
#define HOCKET_KERNELS_CUDA_ATTENTION_CUH

#include "kernels/cuda/AttentionScores.cuh"

namespace hocket::cuda {

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// The tiles of keys of one sequence that a tile of queries sees, in order.
template <class Shape> struct SequenceWalk {
  using T = typename Shape::T;
  using Place = int; ///< The first key of a tile.
  const T *k, *v;
  const AttentionCall &call;
  Head<Shape> head;
  int firstQuery;
  TileDocuments documents = tileDocuments<Shape>(call, head.b, firstQuery);
  RowsSee<Shape> see{call, head.b, placeOf(0)};

  HOCKET_MEMBER Place begin() const { return seen(0); }
  HOCKET_MEMBER Place next(Place key) const { return seen(key + kTileRows); }
  HOCKET_MEMBER bool has(Place key) const { return key < Shape::keys; }
  template <class Rows>
  HOCKET_MEMBER void copyKeys(const Rows &to, Place key) const {
    copyRows(to, k + head.key(), head.keyPitch, key, Shape::keys);
  }
  template <class Rows>
  HOCKET_MEMBER void copyValues(const Rows &to, Place key) const {
    copyRows(to, v + head.key(), head.keyPitch, key, Shape::keys);
  }
  HOCKET_MEMBER void slope(Scores &scores, Place key) const {
    slopeScores<Shape, true>(scores, call, placeOf(key), head.h);
  }
  HOCKET_MEMBER void hide(Scores &scores, Place key) const {
    if (!tilesSeeAll<Shape>(call, documents, firstQuery, key))
      hideKeys(scores, neutral<Max>(), call, see, placeOf(key));
  }
  HOCKET_MEMBER void drop(Scores &scores, Place key) const {
    KeptScores<Shape, true, 8>(call, placeOf(key), head).apply(scores);
  }

private:
  HOCKET_MEMBER WarpPlace placeOf(int key) const {
    return {firstQuery + static_cast<int>(threadIdx.x) / 32 * 16, key};
  }
  HOCKET_MEMBER Place seen(int key) const {
#pragma unroll 1
    while (key < Shape::keys &&
           !tilesMeet<Shape>(call, documents, firstQuery, key))
      key += kTileRows;
    return key;
  }
};

/// Attention of a tile of queries, whose copy has begun, to the tiles of keys
/// that `walk` has: the sums of a warp's 16 rows, and their softmax. A tile
/// that a row sees nothing of changes no bit of it.
template <class Shape, class Walk, class Rows>
HOCKET_DEVICE void attendToTiles(const Walk &walk, const Rows &queries,
                                 const Rows &keys, const Rows &values,
                                 float (&sums)[Shape::dim / 8][4],
                                 SoftmaxRows &rows) {
  using T = typename Shape::T;
  using Place = typename Walk::Place;
  auto fetchKeys = [&](Place at) {
    if (walk.has(at))
      walk.copyKeys(keys, at);
    commitCopies();
    return at;
  };
  Place next;
  for (Place at = fetchKeys(walk.begin()); walk.has(at); at = next) {
    waitForCopies<0>();
    __syncthreads(); // The keys are there; the last values have been read.
    walk.copyValues(values, at);
    commitCopies();
    Scores scores;
    multiplyRows<T, Shape::dim>(scores, queries, threadIdx.x / 32 * 16, keys);
    __syncthreads(); // The keys have been read.
    next = fetchKeys(walk.next(at));
    capScores<Shape>(scores);
    walk.slope(scores, at);
    walk.hide(scores, at);
    softmaxStep<Shape>(scores, rows);
    scaleRows(sums, rows.before);
    walk.drop(scores, at);
    waitForCopies<1>();
    __syncthreads(); // The values are there.
    addGemm<T, Shape::dim>(sums, scores, values);
  }
  waitForCopies<0>(); // Of the queries, where no key was met.
}

/// Budget of 128: 216 registers; a thread: 1900 instructions, 32 loads, 34
/// stores, 72 shared.
/// Budget of 128 documents: 216 registers; a thread: 1900 instructions, 36
/// loads, 34 stores, 72 shared.
/// Budget of 128 softcap: 216 registers; a thread: 1950 instructions, 32 loads,
/// 34 stores, 72 shared.
/// Budget of 64: 136 registers; a thread: 1350 instructions, 16 loads, 18
/// stores, 36 shared.
/// Budget of 64 dropout: 128 registers; a thread: 2700 instructions, 16 loads,
/// 18 stores, 36 shared.
/// Budget of 64 documents: 136 registers; a thread: 1350 instructions, 20 loads,
/// 18 stores, 36 shared.
/// Budget of 64 softcap: 136 registers; a thread: 1450 instructions, 16 loads,
/// 18 stores, 36 shared.
/// Budget of 64 dropout documents: 128 registers; a thread: 2700 instructions,
/// 20 loads, 18 stores, 36 shared.
template <class Shape>
HOCKET_DEVICE void
attentionForward(const typename Shape::T *q, const typename Shape::T *k,
                 const typename Shape::T *v, typename Shape::T *o, float *lse,
                 const AttentionCall &call, float *shared) {
  using T = typename Shape::T;
  auto queries = tileOf<T, Shape::dim>(shared, 0);
  auto keys = tileOf<T, Shape::dim>(shared, 1);
  auto values = tileOf<T, Shape::dim>(shared, 2);
  Head<Shape> head{static_cast<int>(blockIdx.z), static_cast<int>(blockIdx.y)};
  int firstRow = queryTile<Shape>() * kTileRows;
  float sums[Shape::dim / 8][4] = {};
  SoftmaxRows rows;
  copyRows(queries, q + head.query(), head.queryPitch, firstRow,
           Shape::queries);
  attendToTiles<Shape>(SequenceWalk<Shape>{k, v, call, head, firstRow}, queries,
                       keys, values, sums, rows);
  int warpRow = firstRow + threadIdx.x / 32 * 16;
  float factors[2];
  finishSoftmax<Shape>(rows, factors, lse, head, warpRow);
  storeRows<T, Shape::dim>(o + head.query(), head.queryPitch, warpRow,
                           Shape::queries, sums, factors[0], factors[1]);
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

/// Of scores in p and of do . v in ds, of the tiles of queries and keys that
/// begin at `query` and `key`, 8 NTiles of those in columns: p, the
/// probabilities with dropout, and ds, the gradient of the scores. Of what does
/// not see each other hide(numbers, place) makes 0; lseOf(place, j, i) and
/// deltaOf(place, j, i) are those of a number's query, and anything finite
/// where it does not exist.
template <class Shape, bool queriesInRows, int NTiles, class Hide, class Lse,
          class Delta>
HOCKET_DEVICE void
gradientOfTiles(float (&p)[NTiles][4], float (&ds)[NTiles][4],
                const AttentionCall &call, int query, int key,
                const Head<Shape> &head, const TileDocuments &documents,
                Hide hide, Lse lseOf, Delta deltaOf) {
  constexpr int columns = 8 * NTiles;
  constexpr int queries = queriesInRows ? kTileRows : columns;
  constexpr int keys = queriesInRows ? columns : kTileRows;
  int warpRow = threadIdx.x / 32 * 16;
  WarpPlace place((queriesInRows ? query : key) + warpRow,
                  queriesInRows ? key : query);
  auto lse = [&](int j, int i) { return lseOf(place, j, i); };
  findProbabilities<Shape, queriesInRows>(p, call, place, head.h, lse);
  if (query + queries > Shape::queries ||
      !tilesSeeAll<Shape, queries, keys>(call, documents, query, key))
    hide(p, place);
  KeptScores<Shape, queriesInRows, NTiles> kept(call, place, head);
  gradientOfScores<Shape>(p, ds, kept, lse, [&](int j, int i) {
    return deltaOf(place, j, i);
  });
  kept.apply(p);
}

/// A number of query `query` of a head, of [batch, heads, queries]; 0 where the
/// query does not exist.
template <class Shape>
HOCKET_DEVICE float statisticOf(const float *statistic, const Head<Shape> &head,
                                int query) {
  return Shape::queries % kTileRows == 0 || query < Shape::queries
             ? statistic[head.statistic() + query]
             : 0.0f;
}

/// Budget of 64: 176 registers; a thread: 1100 instructions, 20 loads, 16
/// stores, 56 shared.
/// Budget of 64 dropout: 176 registers; a thread: 2750 instructions, 20 loads,
/// 16 stores, 56 shared.
/// Budget of 64 dropout documents: 176 registers; a thread: 2750 instructions,
/// 24 loads, 16 stores, 56 shared.
/// Budget of 128: 255 registers; a thread: 1550 instructions, 36 loads, 32
/// stores, 112 shared.
/// Budget of 128 documents: 255 registers; a thread: 1600 instructions, 40
/// loads, 32 stores, 112 shared.
/// Budget of 64 softcap: 176 registers; a thread: 1350 instructions, 20 loads,
/// 16 stores, 56 shared.
/// Budget of 128 softcap: 255 registers; a thread: 1850 instructions, 36 loads,
/// 32 stores, 112 shared.
template <class Shape>
HOCKET_DEVICE void
attentionQueryGradient(const typename Shape::T *q, const typename Shape::T *k,
                       const typename Shape::T *v, const float *lse,
                       const typename Shape::T *dO, const float *delta,
                       typename Shape::T *dq, const AttentionCall &call,
                       float *shared) {
  using T = typename Shape::T;
  auto queries = tileOf<T, Shape::dim>(shared, 0);
  auto gradients = tileOf<T, Shape::dim>(shared, 1);
  auto keys = tileOf<T, Shape::dim>(shared, 2);
  auto values = tileOf<T, Shape::dim>(shared, 3);
  Head<Shape> head{static_cast<int>(blockIdx.z), static_cast<int>(blockIdx.y)};
  int firstRow = queryTile<Shape>() * kTileRows;
  int warpRow = threadIdx.x / 32 * 16;
  float sums[Shape::dim / 8][4] = {};
  TileDocuments documents = tileDocuments<Shape>(call, head.b, firstRow);
  RowsSee<Shape> see(call, head.b, {firstRow + warpRow, 0});
  auto hide = [&](Scores &p, const WarpPlace &place) {
    hideKeys(p, 0.0f, call, see, place);
  };
  // Read once, as the queries stay.
  float lseOfRows[2], deltaOfRows[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    int row = WarpPlace(firstRow + warpRow, 0).row(2 * half);
    lseOfRows[half] = statisticOf(lse, head, row);
    deltaOfRows[half] = statisticOf(delta, head, row);
  }
  auto of = [](const float(&rows)[2]) {
    return [&rows](const WarpPlace &, int, int i) { return rows[i / 2]; };
  };

  copyRows(queries, q + head.query(), head.queryPitch, firstRow,
           Shape::queries);
  copyRows(gradients, dO + head.query(), head.queryPitch, firstRow,
           Shape::queries);
#pragma unroll 1 // A few tiles of keys are a loop as well.
  for (int key = 0; key < Shape::keys; key += kTileRows) {
    if (!tilesMeet<Shape>(call, documents, firstRow, key))
      continue;
    __syncthreads(); // The tiles of the last round have been read.
    copyRows(keys, k + head.key(), head.keyPitch, key, Shape::keys);
    copyRows(values, v + head.key(), head.keyPitch, key, Shape::keys);
    commitCopies();
    waitForCopies<0>();
    __syncthreads();
    Scores p, ds;
    multiplyRows<T, Shape::dim>(p, queries, warpRow, keys);
    multiplyRows<T, Shape::dim>(ds, gradients, warpRow, values);
    gradientOfTiles<Shape, true>(p, ds, call, firstRow, key, head, documents,
                                 hide, of(lseOfRows), of(deltaOfRows));
    addGemm<T, Shape::dim>(sums, ds, keys);
  }
  commitCopies(); // Where no key was met, of the queries.
  waitForCopies<0>();
  storeRows<T, Shape::dim>(dq + head.query(), head.queryPitch,
                           firstRow + warpRow, Shape::queries, sums,
                           Shape::scale, Shape::scale);
}

/// Budget of 64: 176 registers; a thread: 1000 instructions, 32 loads, 32
/// stores, 40 shared. Over: 48 loads: where all keys are seen, those behind the
/// end of a sequence are told apart as the kernel runs.
/// Budget of 64 dropout: 176 registers; a thread: 2250 instructions, 32 loads,
/// 32 stores, 40 shared.
/// Budget of 64 dropout documents: 176 registers; a thread: 2250 instructions,
/// 50 loads, 32 stores, 40 shared.
/// Budget of 128: 255 registers; a thread: 1400 instructions, 48 loads, 64
/// stores, 80 shared.
/// Budget of 128 documents: 255 registers; a thread: 1500 instructions, 66
/// loads, 64 stores, 80 shared. Over: 32 bytes spilled, 16 bytes of stack: of as
/// many heads of keys as of queries the assembler keeps one number too many.
/// Budget of 128 softcap: 255 registers; a thread: 1500 instructions, 48 loads,
/// 64 stores, 80 shared.
template <class Shape>
HOCKET_DEVICE void
attentionKeyGradient(const typename Shape::T *q, const typename Shape::T *k,
                     const typename Shape::T *v, const float *lse,
                     const typename Shape::T *dO, const float *delta,
                     typename Shape::T *dk, typename Shape::T *dv,
                     const AttentionCall &call, float *shared) {
  using T = typename Shape::T;
  constexpr int group = Shape::heads / Shape::kvHeads;
  auto keys = tileOf<T, Shape::dim>(shared, 0);
  auto values = tileOf<T, Shape::dim>(shared, 1);
  auto queries = tileOf<T, Shape::dim>(shared, 2);
  auto gradients = tileOf<T, Shape::dim>(shared, 3);
  Head<Shape> head{static_cast<int>(blockIdx.z),
                   static_cast<int>(blockIdx.y) * group};
  Integer start = head.key();
  int firstRow = blockIdx.x * kTileRows, warpRow = threadIdx.x / 32 * 16;
  float keySums[Shape::dim / 8][4] = {}, valueSums[Shape::dim / 8][4] = {};

  copyRows(keys, k + start, head.keyPitch, firstRow, Shape::keys);
  copyRows(values, v + start, head.keyPitch, firstRow, Shape::keys);
  for (int member = 0; member < group; ++member, ++head.h)
    for (int query = 0; query < Shape::queries; query += kTileRows) {
      TileDocuments documents = tileDocuments<Shape>(call, head.b, query);
      if (!tilesMeet<Shape>(call, documents, query, firstRow))
        continue;
      __syncthreads(); // The tiles of the last round have been read.
      copyRows(queries, q + head.query(), head.queryPitch, query,
               Shape::queries);
      copyRows(gradients, dO + head.query(), head.queryPitch, query,
               Shape::queries);
      commitCopies();
      waitForCopies<0>();
      __syncthreads();
      // Half a tile at a time, so that all numbers have registers.
      constexpr int columns = kTileRows / 2;
      using HalfScores = float[columns / 8][4];
      auto hide = [&](HalfScores &p, const WarpPlace &place) {
        hideQueries<Shape>(p, call, place, [&](int j, int i) {
          return documentOf<Shape>(call, head.b, place.column(j, i));
        });
      };
      auto of = [&](const float *statistic) {
        return [&head, statistic](const WarpPlace &place, int j, int i) {
          return statisticOf(statistic, head, place.column(j, i));
        };
      };
#pragma unroll 1
      for (int first = 0; first < kTileRows; first += columns) {
        HalfScores p, ds;
        multiplyRows<T, Shape::dim>(p, keys, warpRow, queries, first);
        multiplyRows<T, Shape::dim>(ds, values, warpRow, gradients, first);
        gradientOfTiles<Shape, false>(p, ds, call, query + first, firstRow,
                                      head, documents, hide, of(lse),
                                      of(delta));
        addGemm<T, Shape::dim>(valueSums, p, gradients, first);
        addGemm<T, Shape::dim>(keySums, ds, queries, first);
      }
    }
  commitCopies(); // Where no query was met, of the keys.
  waitForCopies<0>();
  storeRows<T, Shape::dim>(dk + start, head.keyPitch, firstRow + warpRow,
                           Shape::keys, keySums, Shape::scale, Shape::scale);
  storeRows<T, Shape::dim>(dv + start, head.keyPitch, firstRow + warpRow,
                           Shape::keys, valueSums, 1.0f, 1.0f);
}

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_ATTENTION_CUH
