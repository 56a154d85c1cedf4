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
///   attentionDelta          delta = do . o, a warp a row
///   attentionQueryGradient  as forward
///   attentionKeyGradient    a block has 64 keys of a key head and walks over
///                           the queries of its group of query heads:
///                                          blocks(keys), kvHeads, batch
///
/// `Shape` says what is known at compile time:
///   T; int batch, queries, keys, heads, kvHeads, dim, window; bool causal;
///   Integer part, sequence, wholeHeads; float scale, dropoutScale;
///   unsigned stream, dropoutThreshold (0: no dropout)
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_ATTENTION_CUH
#define HOCKET_KERNELS_CUDA_ATTENTION_CUH

#include "kernels/cuda/AttentionTiles.cuh"

namespace hocket::cuda {

constexpr float kLog2e = 1.44269504f;

/// The rows and columns of a warp's 16 x 64 numbers: entry i of fragment j is
/// at row firstRow + 8 * (i / 2), column firstColumn + 8 * j + i % 2.
struct WarpPlace {
  int firstRow, firstColumn;
  HOCKET_MEMBER WarpPlace(int row, int column)
      : firstRow(row + static_cast<int>(threadIdx.x % 32 / 4)),
        firstColumn(column + static_cast<int>(threadIdx.x % 4 * 2)) {}
  HOCKET_MEMBER int row(int i) const { return firstRow + 8 * (i / 2); }
  HOCKET_MEMBER int column(int j, int i) const {
    return firstColumn + 8 * j + i % 2;
  }
};

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// The running maximum and sum of a thread's two rows.
struct SoftmaxRows {
  float greatest[2], sum[2];
};

/// Turns scores into exp(score - greatest so far) and brings what was summed
/// before to the new maximum.
template <class Shape>
HOCKET_DEVICE void softmaxStep(Scores &scores, SoftmaxRows &rows,
                               float (&sums)[Shape::dim / 8][4]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float greatest = rows.greatest[half];
#pragma unroll
    for (int j = 0; j < 8; ++j)
      greatest =
          fmaxf(greatest, fmaxf(scores[j][2 * half], scores[j][2 * half + 1]));
    greatest = fmaxf(greatest, __shfl_xor_sync(0xffffffffu, greatest, 1));
    greatest = fmaxf(greatest, __shfl_xor_sync(0xffffffffu, greatest, 2));
    // A row that has seen no key yet has no maximum to subtract.
    bool empty = greatest == neutral<Max>();
    float shift = empty ? 0.0f : greatest * (Shape::scale * kLog2e);
    float before =
        empty ? 1.0f
              : exp2f(rows.greatest[half] * (Shape::scale * kLog2e) - shift);
    float sum = 0;
#pragma unroll
    for (int j = 0; j < 8; ++j)
#pragma unroll
      for (int i = 2 * half; i < 2 * half + 2; ++i) {
        scores[j][i] = exp2f(scores[j][i] * (Shape::scale * kLog2e) - shift);
        sum += scores[j][i];
      }
    rows.greatest[half] = greatest;
    rows.sum[half] = rows.sum[half] * before + sum;
#pragma unroll
    for (int j = 0; j < Shape::dim / 8; ++j) {
      sums[j][2 * half] *= before;
      sums[j][2 * half + 1] *= before;
    }
  }
}

/// Scores of keys that a query does not see, or that do not exist, become
/// -infinity.
template <class Shape>
HOCKET_DEVICE void hideScores(Scores &scores, const AttentionCall &call,
                              const WarpPlace &place) {
#pragma unroll
  for (int j = 0; j < 8; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      int query = place.row(i), key = place.column(j, i);
      bool seen = key < Shape::keys &&
                  sees<Shape>(positionOf<Shape>(call.firstQuery, query),
                              positionOf<Shape>(call.firstKey, key));
      if (!seen)
        scores[j][i] = neutral<Max>();
    }
}

/// Multiplies by dropout's factors; `queriesInRows` says which way round the
/// numbers are.
template <class Shape, bool queriesInRows>
HOCKET_DEVICE void dropScores(Scores &scores, const AttentionCall &call,
                              const WarpPlace &place, const Head<Shape> &head) {
  if constexpr (Shape::dropoutThreshold > 0) {
#pragma unroll
    for (int j = 0; j < 8; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        int row = place.row(i), column = place.column(j, i);
        int query = queriesInRows ? row : column;
        int key = queriesInRows ? column : row;
        scores[j][i] *= keepScale<Shape>(
            call, head.b, head.h, positionOf<Shape>(call.firstQuery, query),
            positionOf<Shape>(call.firstKey, key));
      }
  }
}

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
  int warpRow = threadIdx.x / 32 * 16;
  float sums[Shape::dim / 8][4] = {};
  SoftmaxRows rows = {{neutral<Max>(), neutral<Max>()}, {0, 0}};

  // The first tile of keys from `key` on that any query sees, on its way.
  auto fetchKeys = [&](int key) {
    while (key < Shape::keys && !tilesMeet<Shape>(call, firstRow, key))
      key += kTileRows;
    if (key < Shape::keys)
      copyRows(keys, k + head.key(), head.keyPitch, key, Shape::keys);
    commitCopies();
    return key;
  };
  copyRows(queries, q + head.query(), head.queryPitch, firstRow,
           Shape::queries);
  for (int key = fetchKeys(0), next; key < Shape::keys; key = next) {
    waitForCopies<0>();
    __syncthreads(); // The keys are there; the last values have been read.
    copyRows(values, v + head.key(), head.keyPitch, key, Shape::keys);
    commitCopies();
    Scores scores;
    multiplyRows<T, Shape::dim>(scores, queries, warpRow, keys);
    __syncthreads(); // The keys have been read.
    next = fetchKeys(key + kTileRows);
    WarpPlace place(firstRow + warpRow, key);
    if (!tilesSeeAll<Shape>(call, firstRow, key))
      hideScores<Shape>(scores, call, place);
    softmaxStep<Shape>(scores, rows, sums);
    dropScores<Shape, true>(scores, call, place, head);
    waitForCopies<1>();
    __syncthreads(); // The values are there.
    addProduct<T, Shape::dim>(sums, scores, values);
  }
  waitForCopies<0>(); // Of the queries, where no key was met.

  float factors[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = rows.sum[half];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    factors[half] = sum > 0 ? 1 / sum : 0.0f;
    int row = firstRow + warpRow + threadIdx.x % 32 / 4 + 8 * half;
    if (threadIdx.x % 4 == 0 && row < Shape::queries)
      lse[head.statistic() + row] =
          sum > 0 ? rows.greatest[half] * Shape::scale + logf(sum)
                  : neutral<Max>();
  }
  storeRows<T, Shape::dim>(o + head.query(), head.queryPitch,
                           firstRow + warpRow, Shape::queries, sums, factors[0],
                           factors[1]);
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

/// Of scores: p, the probabilities, and ds = p * (mask * dp - delta), with
/// lse and delta of the query of each number. Numbers of queries or keys that
/// do not exist, or do not see each other, become 0; All: there are none.
template <class Shape, bool queriesInRows, bool All>
HOCKET_DEVICE void
gradientOfNumbers(Scores &p, Scores &ds, const AttentionCall &call,
                  const WarpPlace &place, const Head<Shape> &head,
                  const float *lse, const float *delta) {
#pragma unroll
  for (int j = 0; j < 8; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      int row = place.row(i), column = place.column(j, i);
      int query = queriesInRows ? row : column;
      int key = queriesInRows ? column : row;
      Integer at = positionOf<Shape>(call.firstQuery, query);
      Integer of = positionOf<Shape>(call.firstKey, key);
      if (!All && (query >= Shape::queries || key >= Shape::keys ||
                   !sees<Shape>(at, of))) {
        p[j][i] = ds[j][i] = 0;
        continue;
      }
      float probability = exp2f(p[j][i] * (Shape::scale * kLog2e) -
                                lse[head.statistic() + query] * kLog2e);
      float mask = 1;
      if constexpr (Shape::dropoutThreshold > 0)
        mask = keepScale<Shape>(call, head.b, head.h, at, of);
      ds[j][i] =
          probability * (mask * ds[j][i] - delta[head.statistic() + query]);
      p[j][i] = probability * mask;
    }
}

/// The same of the tiles of queries and keys that begin at `query` and `key`.
template <class Shape, bool queriesInRows>
HOCKET_DEVICE void gradientOfScores(Scores &p, Scores &ds,
                                    const AttentionCall &call, int query,
                                    int key, const Head<Shape> &head,
                                    const float *lse, const float *delta) {
  int warpRow = threadIdx.x / 32 * 16;
  WarpPlace place((queriesInRows ? query : key) + warpRow,
                  queriesInRows ? key : query);
  if (query + kTileRows <= Shape::queries &&
      tilesSeeAll<Shape>(call, query, key))
    gradientOfNumbers<Shape, queriesInRows, true>(p, ds, call, place, head, lse,
                                                  delta);
  else
    gradientOfNumbers<Shape, queriesInRows, false>(p, ds, call, place, head,
                                                   lse, delta);
}

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
    if (!tilesMeet<Shape>(call, firstRow, key))
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
    gradientOfScores<Shape, true>(p, ds, call, firstRow, key, head, lse, delta);
    addProduct<T, Shape::dim>(sums, ds, keys);
  }
  commitCopies(); // Where no key was met, of the queries.
  waitForCopies<0>();
  storeRows<T, Shape::dim>(dq + head.query(), head.queryPitch,
                           firstRow + warpRow, Shape::queries, sums,
                           Shape::scale, Shape::scale);
}

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
      if (!tilesMeet<Shape>(call, query, firstRow))
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
      gradientOfScores<Shape, false>(p, ds, call, query, firstRow, head, lse,
                                     delta);
      addProduct<T, Shape::dim>(valueSums, p, gradients);
      addProduct<T, Shape::dim>(keySums, ds, queries);
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
