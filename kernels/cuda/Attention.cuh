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
///   documents (that share sequences, of which the call has the positions);
///   Integer part, sequence, wholeHeads; float scale, dropoutScale;
///   unsigned dropoutThreshold (0: no dropout)
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
  HOCKET_MEMBER void hide(Scores &scores, Place key) const {
    if (!tilesSeeAll<Shape>(call, head.b, firstQuery, key))
      hideScores<Shape>(scores, call, head.b, placeOf(key));
  }
  HOCKET_MEMBER void drop(Scores &scores, Place key) const {
    KeptScores<Shape, true, 8>(call, placeOf(key), head).apply(scores);
  }

private:
  HOCKET_MEMBER WarpPlace placeOf(int key) const {
    return {firstQuery + static_cast<int>(threadIdx.x) / 32 * 16, key};
  }
  HOCKET_MEMBER Place seen(int key) const {
    while (key < Shape::keys &&
           !tilesMeet<Shape>(call, head.b, firstQuery, key))
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

/// Budget of 128: 200 registers; a thread: 1900 instructions, 32 loads, 34
/// stores, 72 shared.
/// Budget of 64: 136 registers; a thread: 2200 instructions, 16 loads, 18
/// stores, 36 shared.
/// Budget of 64 dropout: 128 registers; a thread: 3350 instructions, 16 loads,
/// 18 stores, 36 shared.
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
/// begin at `query` and `key`: p, the probabilities with dropout, and ds, the
/// gradient of the scores.
template <class Shape, bool queriesInRows>
HOCKET_DEVICE void gradientOfTiles(Scores &p, Scores &ds,
                                   const AttentionCall &call, int query,
                                   int key, const Head<Shape> &head,
                                   const float *lse, const float *delta) {
  int warpRow = threadIdx.x / 32 * 16;
  WarpPlace place((queriesInRows ? query : key) + warpRow,
                  queriesInRows ? key : query);
  auto queryOf = [=](int j, int i) {
    return queriesInRows ? place.row(i) : place.column(j, i);
  };
  bool all = query + kTileRows <= Shape::queries &&
             tilesSeeAll<Shape>(call, head.b, query, key);
  // What does not exist has probability 0, whatever is read for it.
  auto of = [&](const float *statistic) {
    return [=](int j, int i) {
      return all || queryOf(j, i) < Shape::queries
                 ? statistic[head.statistic() + queryOf(j, i)]
                 : 0.0f;
    };
  };
  findProbabilities<Shape, queriesInRows>(p, call, head.b, place, all, of(lse));
  KeptScores<Shape, queriesInRows, 8> kept(call, place, head);
  gradientOfScores(p, ds, kept, of(delta));
  kept.apply(p);
}

/// Budget of 64: 176 registers; a thread: 1950 instructions, 84 loads, 16
/// stores, 56 shared.
/// Budget of 64 dropout: 176 registers; a thread: 3250 instructions, 84 loads,
/// 16 stores, 56 shared.
/// Budget of 128: 255 registers; a thread: 1850 instructions, 100 loads, 32
/// stores, 112 shared.
/// Over: 64 bytes spilled, 24 bytes of stack: fragments of two gradients of 128
/// columns and of their operands are more than 255 numbers.
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

  copyRows(queries, q + head.query(), head.queryPitch, firstRow,
           Shape::queries);
  copyRows(gradients, dO + head.query(), head.queryPitch, firstRow,
           Shape::queries);
  for (int key = 0; key < Shape::keys; key += kTileRows) {
    if (!tilesMeet<Shape>(call, head.b, firstRow, key))
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
    gradientOfTiles<Shape, true>(p, ds, call, firstRow, key, head, lse, delta);
    addGemm<T, Shape::dim>(sums, ds, keys);
  }
  commitCopies(); // Where no key was met, of the queries.
  waitForCopies<0>();
  storeRows<T, Shape::dim>(dq + head.query(), head.queryPitch,
                           firstRow + warpRow, Shape::queries, sums,
                           Shape::scale, Shape::scale);
}

/// Budget of 64 dropout: 255 registers; a thread: 3650 instructions, 80 loads,
/// 32 stores, 72 shared.
/// Budget of 128: 255 registers; a thread: 2100 instructions, 96 loads, 64
/// stores, 144 shared.
/// Over: 248 bytes spilled, 128 bytes of stack: fragments of two gradients of
/// 128 columns and of their operands are more than 255 numbers.
/// Budget of 64: 240 registers; a thread: 2000 instructions, 80 loads, 32
/// stores, 72 shared.
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
      if (!tilesMeet<Shape>(call, head.b, query, firstRow))
        continue;
      __syncthreads(); // The tiles of the last round have been read.
      copyRows(queries, q + head.query(), head.queryPitch, query,
               Shape::queries);
      copyRows(gradients, dO + head.query(), head.queryPitch, query,
               Shape::queries);
      commitCopies();
      waitForCopies<0>();
      __syncthreads();
      Scores p, ds;
      multiplyRows<T, Shape::dim>(p, keys, warpRow, queries);
      multiplyRows<T, Shape::dim>(ds, values, warpRow, gradients);
      gradientOfTiles<Shape, false>(p, ds, call, query, firstRow, head, lse,
                                    delta);
      addGemm<T, Shape::dim>(valueSums, p, gradients);
      addGemm<T, Shape::dim>(keySums, ds, queries);
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
