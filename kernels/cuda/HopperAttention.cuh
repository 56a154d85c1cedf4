//===- HopperAttention.cuh - Attention by warp groups -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Attention.cuh with wgmma, for heads of 64 and 128 (Shah et al.,
/// "FlashAttention-3", arXiv 2407.08608). A block has two warp groups, each
/// with 64 of its 128 rows, and walks over the others. While a group computes
/// probabilities of one tile, its products with the next and the last one run;
/// copies run a tile ahead of them. 256 threads a block:
///
///   hopperAttentionForward, hopperAttentionQueryGradient
///                               blocks(queries), heads, batch
///   hopperAttentionKeyGradient  blocks(keys), kvHeads, batch
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_HOPPERATTENTION_CUH
#define HOCKET_KERNELS_CUDA_HOPPERATTENTION_CUH

#include "kernels/cuda/AttentionScores.cuh"
#include "kernels/cuda/Hopper.cuh"

#ifdef HOCKET_HOPPER

namespace hocket::cuda {

/// A group's scores of 64 rows with Others others, and sums of 64 rows.
template <int Others> using GroupScores = float[Others / 8][4];
template <class Shape> using GroupSums = float[Shape::dim / 8][4];
/// Scores as the operand of a product.
template <int Others> using PackedScores = unsigned[Others / 16][4];

/// Some rows of a head.
template <class Shape, int Rows = kHopperRows>
using HeadPanels = PanelTile<typename Shape::T, Rows, Shape::dim>;

template <class T, int Pieces>
HOCKET_DEVICE void packScores(const float (&scores)[Pieces][4],
                              unsigned (&packed)[Pieces / 2][4]) {
#pragma unroll
  for (int k = 0; k < Pieces / 2; ++k)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float *pair = &scores[2 * k + i / 2][2 * (i % 2)];
      packed[k][i] = packPair<T>(pair[0], pair[1]);
    }
}

/// Begins scores = rows row .. row + 63 of `a` times all of `b`, transposed.
template <class T, int Dim, int Rows, int Others>
HOCKET_DEVICE void beginDots(GroupProducts &products,
                             float (&scores)[Others / 8][4],
                             const PanelTile<T, Rows, Dim> &a, int row,
                             const PanelTile<T, Others, Dim> &b) {
  products.add<T, true, true, false>(scores, a.rows(row, 0), b.rows(0, 0));
#pragma unroll
  for (int k = 16; k < Dim; k += 16)
    products.add<T, true, true, true>(scores, a.rows(row, k), b.rows(0, k));
  products.commit();
}

/// Begins sums += packed scores times the rows of `b`.
template <class T, int Dim, int Others>
HOCKET_DEVICE void beginSums(GroupProducts &products, float (&sums)[Dim / 8][4],
                             const unsigned (&packed)[Others / 16][4],
                             const PanelTile<T, Others, Dim> &b) {
#pragma unroll
  for (int k = 0; k < Others / 16; ++k)
    products.add<T, false>(sums, packed[k], b.columns(16 * k, 0));
  products.commit();
}

/// What was copied is there, for everyone, and all threads have come this far.
HOCKET_DEVICE void meetCopies() {
  waitForCopies<0>();
  showCopiesToProducts();
  __syncthreads();
}

template <class Shape>
HOCKET_DEVICE void
hopperAttentionForward(const typename Shape::T *q, const typename Shape::T *k,
                       const typename Shape::T *v, typename Shape::T *o,
                       float *lse, const AttentionCall &call, float *shared) {
  using T = typename Shape::T;
  using Tile = HeadPanels<Shape>;
  constexpr int side = kHopperRows;
  char *start = alignPanels(shared);
  Tile queries{start};
  auto keys = [&](int i) { return Tile{start + (1 + i % 2) * Tile::bytes}; };
  auto values = [&](int i) { return Tile{start + (3 + i % 2) * Tile::bytes}; };
  Head<Shape> head{static_cast<int>(blockIdx.z), static_cast<int>(blockIdx.y)};
  int firstRow = queryTile<Shape>() * side, groupRow = threadIdx.x / 128 * 64;
  int warpRow = firstRow + threadIdx.x / 32 * 16;
  GroupSums<Shape> sums = {};
  SoftmaxRows rows;
  GroupProducts products;

  // The first tile of keys from `key` on that any query sees.
  auto meet = [&](int key) {
    while (key < Shape::keys &&
           !tilesMeet<Shape, side, side>(call, firstRow, key))
      key += side;
    return key;
  };
  auto fetch = [&](const Tile &tile, const T *from, int row) {
    if (row < Shape::keys)
      tile.template copy<kHopperThreads>(from + head.key(), head.keyPitch, row,
                                         Shape::keys);
  };
  auto soften = [&](GroupScores<side> &scores, int key) {
    WarpPlace place(warpRow, key);
    if (!tilesSeeAll<Shape, side, side>(call, firstRow, key))
      hideScores<Shape>(scores, call, place);
    softmaxStep<Shape>(scores, rows);
    KeptScores<Shape, true, side / 8>(call, place, head).apply(scores);
  };

  int key = meet(0), tile = 0;
  queries.template copy<kHopperThreads>(q + head.query(), head.queryPitch,
                                        firstRow, Shape::queries);
  fetch(keys(0), k, key);
  commitCopies();
  if (key < Shape::keys) {
    GroupScores<side> scores;
    PackedScores<side> packed;
    meetCopies();
    int next = meet(key + side);
    fetch(values(0), v, key);
    fetch(keys(1), k, next);
    commitCopies();
    products.begin();
    beginDots(products, scores, queries, groupRow, keys(0));
    products.wait<0>(scores);
    soften(scores, key);
    packScores<T>(scores, packed);
    for (tile = 1; next < Shape::keys; ++tile) {
      key = next, next = meet(key + side);
      meetCopies();
      fetch(values(tile), v, key);
      fetch(keys(tile + 1), k, next);
      commitCopies();
      products.begin();
      beginDots(products, scores, queries, groupRow, keys(tile));
      beginSums(products, sums, packed, values(tile - 1));
      products.wait<1>(scores);
      soften(scores, key);
      // Else the compiler waits first, and the last products run beside
      // nothing.
      computeBefore(rows.sum[0] + rows.sum[1]);
      products.wait<0>(sums);
      scaleRows(sums, rows.before);
      packScores<T>(scores, packed);
    }
    meetCopies();
    products.begin();
    beginSums(products, sums, packed, values(tile - 1));
    products.wait<0>(sums);
  }
  waitForCopies<0>(); // Of the queries, where no key was met.

  float factors[2];
  finishSoftmax<Shape>(rows, factors, lse, head, warpRow);
  storeRows<T, Shape::dim>(o + head.query(), head.queryPitch, warpRow,
                           Shape::queries, sums, factors[0], factors[1]);
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

template <class Shape>
HOCKET_DEVICE void hopperAttentionQueryGradient(
    const typename Shape::T *q, const typename Shape::T *k,
    const typename Shape::T *v, const float *lse, const typename Shape::T *dO,
    const float *delta, typename Shape::T *dq, const AttentionCall &call,
    float *shared) {
  using T = typename Shape::T;
  constexpr int side = kHopperRows, others = hopperKeys(Shape::dim);
  using Own = HeadPanels<Shape>;
  using Other = HeadPanels<Shape, others>;
  char *start = alignPanels(shared);
  Own queries{start}, gradients{start + Own::bytes};
  start += 2 * Own::bytes;
  // A tile of keys is read until the next but one is fetched.
  auto keys = [&](int i) { return Other{start + i % 3 * Other::bytes}; };
  auto values = [&](int i) {
    return Other{start + (3 + i % 2) * Other::bytes};
  };
  Head<Shape> head{static_cast<int>(blockIdx.z), static_cast<int>(blockIdx.y)};
  int firstRow = queryTile<Shape>() * side, groupRow = threadIdx.x / 128 * 64;
  int warpRow = firstRow + threadIdx.x / 32 * 16;
  GroupSums<Shape> sums = {};
  PackedScores<others> packed;
  GroupProducts products;

  float lseOfRows[2], deltaOfRows[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    int row = warpRow + static_cast<int>(threadIdx.x % 32 / 4) + 8 * half;
    bool exists = row < Shape::queries;
    lseOfRows[half] = exists ? lse[head.statistic() + row] : 0.0f;
    deltaOfRows[half] = exists ? delta[head.statistic() + row] : 0.0f;
  }
  // The first tile of keys from `key` on that any query sees, on its way to
  // the places of tile i.
  auto fetch = [&](int key, int i) {
    while (key < Shape::keys &&
           !tilesMeet<Shape, side, others>(call, firstRow, key))
      key += others;
    if (key < Shape::keys) {
      keys(i).template copy<kHopperThreads>(k + head.key(), head.keyPitch, key,
                                            Shape::keys);
      values(i).template copy<kHopperThreads>(v + head.key(), head.keyPitch,
                                              key, Shape::keys);
    }
    commitCopies();
    return key;
  };

  queries.template copy<kHopperThreads>(q + head.query(), head.queryPitch,
                                        firstRow, Shape::queries);
  gradients.template copy<kHopperThreads>(dO + head.query(), head.queryPitch,
                                          firstRow, Shape::queries);
  auto lseOf = [&](int, int i) { return lseOfRows[i / 2]; };
  auto deltaOf = [&](int, int i) { return deltaOfRows[i / 2]; };
  // Makes probabilities of scores, and says which dropout keeps.
  auto find = [&](GroupScores<others> &p, int key) {
    WarpPlace place(warpRow, key);
    bool all = firstRow + side <= Shape::queries &&
               tilesSeeAll<Shape, side, others>(call, firstRow, key);
    findProbabilities<Shape, true>(p, call, place, all, lseOf);
    return KeptScores<Shape, true, others / 8>(call, place, head);
  };
  if (int key = fetch(0, 0); key < Shape::keys) {
    GroupScores<others> p, ds;
    meetCopies();
    int next = fetch(key + others, 1), tile = 1;
    products.begin();
    beginDots(products, p, queries, groupRow, keys(0));
    beginDots(products, ds, gradients, groupRow, values(0));
    products.wait<1>(p);
    auto kept = find(p, key);
    products.wait<0>(ds);
    gradientOfScores(p, ds, kept, deltaOf);
    packScores<T>(ds, packed);
    for (; next < Shape::keys; ++tile) {
      key = next;
      meetCopies();
      next = fetch(key + others, tile + 1);
      products.begin();
      beginDots(products, p, queries, groupRow, keys(tile));
      beginDots(products, ds, gradients, groupRow, values(tile));
      beginSums(products, sums, packed, keys(tile - 1));
      products.wait<2>(p);
      kept = find(p, key);
      products.wait<1>(ds);
      gradientOfScores(p, ds, kept, deltaOf);
      products.wait<0>(sums);
      packScores<T>(ds, packed);
    }
    products.begin();
    beginSums(products, sums, packed, keys(tile - 1));
    products.wait<0>(sums);
  }
  waitForCopies<0>(); // Of the queries, where no key was met.
  storeRows<T, Shape::dim>(dq + head.query(), head.queryPitch, warpRow,
                           Shape::queries, sums, Shape::scale, Shape::scale);
}

template <class Shape>
HOCKET_DEVICE void hopperAttentionKeyGradient(
    const typename Shape::T *q, const typename Shape::T *k,
    const typename Shape::T *v, const float *lse, const typename Shape::T *dO,
    const float *delta, typename Shape::T *dk, typename Shape::T *dv,
    const AttentionCall &call, float *shared) {
  using T = typename Shape::T;
  constexpr int side = kHopperRows, others = kHopperQueries;
  constexpr int group = Shape::heads / Shape::kvHeads;
  using Own = HeadPanels<Shape>;
  using Other = HeadPanels<Shape, others>;
  __shared__ float statistics[2][2][others]; ///< [tile % 2][lse, delta]
  char *start = alignPanels(shared);
  Own keys{start}, values{start + Own::bytes};
  start += 2 * Own::bytes;
  auto queries = [&](int i) { return Other{start + i % 2 * Other::bytes}; };
  auto gradients = [&](int i) {
    return Other{start + (2 + i % 2) * Other::bytes};
  };
  Head<Shape> head{static_cast<int>(blockIdx.z),
                   static_cast<int>(blockIdx.y) * group};
  Integer own = head.key();
  int firstRow = blockIdx.x * side, groupRow = threadIdx.x / 128 * 64;
  int warpRow = firstRow + threadIdx.x / 32 * 16;
  GroupSums<Shape> keySums = {}, valueSums = {};
  GroupProducts products;

  // Tiles are those of all heads of the group, one after another: the first
  // one from `query` on that sees any key, on its way to the places of tile i.
  constexpr int each = (Shape::queries + others - 1) / others * others;
  auto headOf = [&](int query) {
    return Head<Shape>{head.b, head.h + query / each};
  };
  auto fetch = [&](int query, int i) {
    while (query < group * each &&
           !tilesMeet<Shape, others, side>(call, query % each, firstRow))
      query += others;
    if (query < group * each) {
      Head<Shape> from = headOf(query);
      int row = query % each, thread = threadIdx.x;
      queries(i).template copy<kHopperThreads>(
          q + from.query(), from.queryPitch, row, Shape::queries);
      gradients(i).template copy<kHopperThreads>(
          dO + from.query(), from.queryPitch, row, Shape::queries);
      if (thread < 2 * others) {
        int at = row + thread % others;
        const float *of = thread < others ? lse : delta;
        statistics[i % 2][thread / others][thread % others] =
            at < Shape::queries ? of[from.statistic() + at] : 0.0f;
      }
    }
    commitCopies();
    return query;
  };

  keys.template copy<kHopperThreads>(k + own, head.keyPitch, firstRow,
                                     Shape::keys);
  values.template copy<kHopperThreads>(v + own, head.keyPitch, firstRow,
                                       Shape::keys);
  int tile = 0;
  for (int query = fetch(0, 0), next; query < group * each;
       query = next, ++tile) {
    GroupScores<others> p, ds;
    PackedScores<others> packed, packedDs;
    meetCopies();
    next = fetch(query + others, tile + 1);
    int row = query % each, lane = 2 * (threadIdx.x % 4);
    const auto &statistic = statistics[tile % 2];
    auto lseOf = [&](int j, int i) {
      return statistic[0][lane + 8 * j + i % 2];
    };
    auto deltaOf = [&](int j, int i) {
      return statistic[1][lane + 8 * j + i % 2];
    };
    bool all = row + others <= Shape::queries &&
               tilesSeeAll<Shape, others, side>(call, row, firstRow);
    WarpPlace place(warpRow, row);
    products.begin();
    beginDots(products, p, keys, groupRow, queries(tile));
    beginDots(products, ds, values, groupRow, gradients(tile));
    products.wait<1>(p);
    findProbabilities<Shape, false>(p, call, place, all, lseOf);
    KeptScores<Shape, false, others / 8> kept(call, place, headOf(query));
    GroupScores<others> dropped;
#pragma unroll
    for (int i = 0; i < others / 2; ++i)
      dropped[i / 4][i % 4] = p[i / 4][i % 4];
    kept.apply(dropped);
    packScores<T>(dropped, packed);
    products.begin();
    beginSums(products, valueSums, packed, gradients(tile));
    products.wait<1>(ds);
    gradientOfScores(p, ds, kept, deltaOf);
    packScores<T>(ds, packedDs);
    products.begin();
    beginSums(products, keySums, packedDs, queries(tile));
    products.wait<0>(valueSums);
    products.wait<0>(keySums);
  }
  waitForCopies<0>(); // Of the keys, where no query was met.
  storeRows<T, Shape::dim>(dk + own, head.keyPitch, warpRow, Shape::keys,
                           keySums, Shape::scale, Shape::scale);
  storeRows<T, Shape::dim>(dv + own, head.keyPitch, warpRow, Shape::keys,
                           valueSums, 1.0f, 1.0f);
}

} // namespace hocket::cuda

#endif // HOCKET_HOPPER

#endif // HOCKET_KERNELS_CUDA_HOPPERATTENTION_CUH
