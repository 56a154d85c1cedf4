//===- HopperAttention.cuh - Attention by warpgroups ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Attention.cuh with wgmma, for heads of 64 and 128 (Shah et al.,
/// "FlashAttention-3", arXiv 2407.08608). One warpgroup of a block fetches
/// tiles through TMA, into rings of stages; the others multiply,
/// each with 64 of the block's own rows, and walk over the others. While a
/// group computes probabilities of one tile, its MMAs with the next and the
/// last one run; forward, groups take turns at beginning MMAs, so that
/// one's run while another's are waited for. Blocks of 128 threads for each
/// group:
///
///   hopperAttentionForward, hopperAttentionQueryGradient
///                               blocks(queries), heads, batch
///   hopperAttentionKeyGradient  blocks(keys), kvHeads, batch
///
/// `q`, `k`, `v` and `dO` are tensors of [batch, rows, heads, dim], of which
/// boxes are 64 numbers of as many rows as the kernel has in a tile.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_HOPPERATTENTION_CUH
#define HOCKET_KERNELS_CUDA_HOPPERATTENTION_CUH

#include "kernels/cuda/AttentionScores.cuh"
#include "kernels/cuda/TensorCopies.cuh"

#ifdef HOCKET_HOPPER

namespace hocket::cuda {

/// A group's scores of 64 rows with Others others, and sums of 64 rows.
template <int Others> using GroupScores = float[Others / 8][4];
template <class Shape> using GroupSums = float[Shape::dim / 8][4];
/// Scores as the operand of an MMA.
template <int Others> using PackedScores = unsigned[Others / 16][4];
/// Both, with the keys that the gradient of queries has at a time. Of Shape, as
/// NVRTC 12 crashes over GroupScores<side> where `side` depends on it.
template <class Shape> using KeyScores = float[hopperKeys(Shape::dim) / 8][4];
template <class Shape>
using PackedKeyScores = unsigned[hopperKeys(Shape::dim) / 16][4];

/// Some rows of a head.
template <class Shape, int Rows = kHopperRows>
using SwizzledHeadTile = SwizzledTile<typename Shape::T, Rows, Shape::dim>;

template <class T, int NTiles>
HOCKET_DEVICE void packScores(const float (&scores)[NTiles][4],
                              unsigned (&packed)[NTiles / 2][4]) {
#pragma unroll
  for (int k = 0; k < NTiles / 2; ++k)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float *pair = &scores[2 * k + i / 2][2 * (i % 2)];
      packed[k][i] = packPair<T>(pair[0], pair[1]);
    }
}

/// Begins scores = rows row .. row + 63 of `a` times all of `b`, transposed.
template <class T, int Dim, int Rows, int Others>
HOCKET_DEVICE void beginDots(Wgmma &wgmma, float (&scores)[Others / 8][4],
                             const SwizzledTile<T, Rows, Dim> &a, int row,
                             const SwizzledTile<T, Others, Dim> &b) {
  wgmma.add<T, true, true, false>(scores, a.rows(row, 0), b.rows(0, 0));
#pragma unroll
  for (int k = 16; k < Dim; k += 16)
    wgmma.add<T, true, true, true>(scores, a.rows(row, k), b.rows(0, k));
  wgmma.commit();
}

/// Begins sums += packed scores times the rows of `b`.
template <class T, int Dim, int Others>
HOCKET_DEVICE void beginSums(Wgmma &wgmma, float (&sums)[Dim / 8][4],
                             const unsigned (&packed)[Others / 16][4],
                             const SwizzledTile<T, Others, Dim> &b) {
#pragma unroll
  for (int k = 0; k < Others / 16; ++k)
    wgmma.add<T, false>(sums, packed[k], b.columns(16 * k, 0));
  wgmma.commit();
}

/// Begins to copy the rows of a head from `row` on, of sequence `b`.
template <class T, int Rows, int Dim>
HOCKET_DEVICE void fetchRows(const SwizzledTile<T, Rows, Dim> &to,
                             const TensorMap &from, Mbarrier &barrier, int head,
                             int row, int b) {
#pragma unroll
  for (int column = 0; column < Dim; column += 64)
    copyBox(to.vector(0, column / 8), from, barrier, column, head, row, b);
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// Budget of 64: 168 registers, 160 of 160 registers, 24 of 24 registers, 240
/// of 240 registers; a thread: 2800 instructions, 5 loads, 18 stores. Over: 11
/// loads: where all keys are seen, those behind the end of a sequence are told
/// apart as the kernel runs.
/// Budget of 64 dropout: 168 registers, 24 of 24 registers, 232 of 240
/// registers; a thread: 7600 instructions, 5 loads, 18 stores.
/// Budget of 64 documents: 168 registers, 160 of 160 registers, 24 of 24
/// registers; a thread: 2800 instructions, 9 loads, 18 stores.
/// Budget of 64 dropout documents: 168 registers, 24 of 24 registers, 232 of
/// 240 registers; a thread: 7600 instructions, 9 loads, 18 stores.
/// Budget of 128: 168 registers, 24 of 24 registers, 192 of 240 registers; a
/// thread: 2300 instructions, 8 loads, 34 stores.
/// Budget of 128 documents: 168 registers, 24 of 24 registers, 192 of 240
/// registers; a thread: 2300 instructions, 12 loads, 34 stores.
/// Budget of 64 softcap: 168 registers, 160 of 160 registers, 24 of 24
/// registers; a thread: 2850 instructions, 5 loads, 18 stores.
/// Budget of 128 softcap: 168 registers, 24 of 24 registers, 200 of 240
/// registers; a thread: 3050 instructions, 8 loads, 34 stores.
/// Budget of 128 alibi: 168 registers, 24 of 24 registers, 200 of 240
/// registers; a thread: 2450 instructions, 8 loads, 34 stores.
template <class Shape>
HOCKET_DEVICE void
hopperAttentionForward(const TensorMap &q, const TensorMap &k,
                       const TensorMap &v, typename Shape::T *o, float *lse,
                       const AttentionCall &call, float *shared) {
  using T = typename Shape::T;
  constexpr int groups =
      hopperGroups(Shape::dim, Shape::dropoutThreshold > 0, Shape::part);
  constexpr int own = 64 * groups;
  constexpr int side = kHopperKeys, stages = hopperStages(Shape::dim);
  using Roles = WarpRoles<groups>;
  using Own = SwizzledHeadTile<Shape, own>;
  using Tile = SwizzledHeadTile<Shape, side>;
  __shared__ TileRing<stages> keyRing, valueRing;
  __shared__ Mbarrier queriesThere;
  char *start = alignTiles(shared);
  Own queries{start};
  start += Own::bytes;
  auto keys = [&](int i) { return Tile{start + i % stages * Tile::bytes}; };
  auto values = [&](int i) {
    return Tile{start + (stages + i % stages) * Tile::bytes};
  };
  Head<Shape> head{static_cast<int>(blockIdx.z), static_cast<int>(blockIdx.y)};
  int firstRow = queryTile<Shape>() * own;
  TileDocuments documents = tileDocuments<Shape, own>(call, head.b, firstRow);
  // The first tile of keys from `key` on that any query sees.
  auto seen = [&](int key) {
#pragma unroll 1
    while (key < Shape::keys &&
           !tilesMeet<Shape, own, side>(call, documents, firstRow, key))
      key += side;
    return key;
  };

  if (threadIdx.x == 0) {
    queriesThere.begin(1);
    keyRing.begin(1, 4 * groups);
    valueRing.begin(1, 4 * groups);
    fenceBarrierInit();
  }
  __syncthreads();
  if (Roles::fetches()) {
    Roles::beginToFetch();
    if (!Roles::isFetcher())
      return;
    int group = head.h / (Shape::heads / Shape::kvHeads);
    auto fetchKeys = [&](int key, int i) {
      if (key >= Shape::keys)
        return;
      keyRing.producerAcquire(i);
      keyRing.barrier(i).expect(Tile::bytes);
      fetchRows(keys(i), k, keyRing.barrier(i), group, key, head.b);
    };
    int key = seen(0);
    if (key < Shape::keys) {
      queriesThere.expect(Own::bytes);
      fetchRows(queries, q, queriesThere, head.h, firstRow, head.b);
    }
    fetchKeys(key, 0);
    for (int tile = 0; key < Shape::keys; ++tile) {
      int next = seen(key + side);
      fetchKeys(next, tile + 1);
      valueRing.producerAcquire(tile);
      valueRing.barrier(tile).expect(Tile::bytes);
      fetchRows(values(tile), v, valueRing.barrier(tile), group, key, head.b);
      key = next;
    }
  } else {
    Roles::beginToMultiply();
    int groupRow = warpgroup() * 64, warpRow = firstRow + threadIdx.x / 32 * 16;
    GroupSums<Shape> sums = {};
    SoftmaxRows rows;
    RowsSee<Shape> see(call, head.b, {warpRow, 0});
    Wgmma wgmma;
    auto soften = [&](GroupScores<side> &scores, int key) {
      WarpPlace place(warpRow, key);
      capScores<Shape>(scores);
      slopeScores<Shape, true>(scores, call, place, head.h);
      if (!tilesSeeAll<Shape, own, side>(call, documents, firstRow, key))
        hideKeys(scores, neutral<Max>(), call, see, place);
      softmaxStep<Shape>(scores, rows);
      KeptScores<Shape, true, side / 8>(call, place, head).apply(scores);
    };
    if (int key = seen(0); key < Shape::keys) {
      GroupScores<side> scores;
      PackedScores<side> packed;
      OrderedSequence<groups> order;
      int tile = 1;
      queriesThere.wait(0);
      keyRing.consumerWait(0);
      wgmma.begin();
      beginDots(wgmma, scores, queries, groupRow, keys(0));
      wgmma.wait<0>(scores);
      keyRing.consumerRelease(0);
      soften(scores, key);
      packScores<T>(scores, packed);
      for (key = seen(key + side); key < Shape::keys; ++tile) {
        int next = seen(key + side);
        keyRing.consumerWait(tile);
        order.begin();
        wgmma.begin();
        beginDots(wgmma, scores, queries, groupRow, keys(tile));
        valueRing.consumerWait(tile - 1);
        wgmma.begin();
        beginSums(wgmma, sums, packed, values(tile - 1));
        order.end(next >= Shape::keys);
        wgmma.wait<1>(scores);
        keyRing.consumerRelease(tile);
        soften(scores, key);
        // Else the compiler waits first, and the last MMAs run beside
        // nothing.
        computeBefore(rows.sum[0] + rows.sum[1]);
        wgmma.wait<0>(sums);
        valueRing.consumerRelease(tile - 1);
        scaleRows(sums, rows.before);
        packScores<T>(scores, packed);
        key = next;
      }
      valueRing.consumerWait(tile - 1);
      wgmma.begin();
      beginSums(wgmma, sums, packed, values(tile - 1));
      wgmma.wait<0>(sums);
    }
    float factors[2];
    finishSoftmax<Shape>(rows, factors, lse, head, warpRow);
    storeRows<T, Shape::dim>(o + head.query(), head.queryPitch, warpRow,
                             Shape::queries, sums, factors[0], factors[1]);
  }
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

/// Budget of 64: 168 registers, 24 of 24 registers, 240 of 240 registers; a
/// thread: 2500 instructions, 10 loads, 16 stores. Over: 14 loads: where all
/// keys are seen, those behind the end of a sequence are told apart as the
/// kernel runs.
/// Budget of 64 dropout: 168 registers, 24 of 24 registers, 240 of 240
/// registers; a thread: 7500 instructions, 10 loads, 16 stores.
/// Budget of 64 dropout documents: 168 registers, 24 of 24 registers, 240 of
/// 240 registers; a thread: 7500 instructions, 14 loads, 16 stores.
/// Budget of 128: 168 registers, 24 of 24 registers, 152 of 240 registers; a
/// thread: 1450 instructions, 12 loads, 32 stores.
/// Budget of 128 documents: 168 registers, 24 of 24 registers, 176 of 240
/// registers; a thread: 1600 instructions, 16 loads, 32 stores.
/// Budget of 64 softcap: 168 registers, 24 of 24 registers, 240 of 240
/// registers; a thread: 3400 instructions, 10 loads, 16 stores.
/// Budget of 128 softcap: 168 registers, 24 of 24 registers, 192 of 240
/// registers; a thread: 2350 instructions, 12 loads, 32 stores.
/// Budget of 128 alibi: 168 registers, 24 of 24 registers, 192 of 240
/// registers; a thread: 1600 instructions, 12 loads, 32 stores.
template <class Shape>
HOCKET_DEVICE void hopperAttentionQueryGradient(
    const TensorMap &q, const TensorMap &k, const TensorMap &v,
    const TensorMap &dO, const float *lse, const float *delta,
    typename Shape::T *dq, const AttentionCall &call, float *shared) {
  using T = typename Shape::T;
  constexpr int own = kHopperRows, side = hopperKeys(Shape::dim);
  using Roles = WarpRoles<own / 64>;
  using Own = SwizzledHeadTile<Shape, own>;
  using Tile = SwizzledHeadTile<Shape, side>;
  // A tile of keys is read until the next one has been.
  constexpr int keyStages = 3, valueStages = 2;
  static_assert(keyStages + valueStages == kHopperGradientStages);
  __shared__ TileRing<keyStages> keyRing;
  __shared__ TileRing<valueStages> valueRing;
  __shared__ Mbarrier ownThere;
  char *start = alignTiles(shared);
  Own queries{start}, gradients{start + Own::bytes};
  start += 2 * Own::bytes;
  auto keys = [&](int i) { return Tile{start + i % keyStages * Tile::bytes}; };
  auto values = [&](int i) {
    return Tile{start + (keyStages + i % valueStages) * Tile::bytes};
  };
  Head<Shape> head{static_cast<int>(blockIdx.z), static_cast<int>(blockIdx.y)};
  int firstRow = queryTile<Shape>() * own;
  TileDocuments documents = tileDocuments<Shape, own>(call, head.b, firstRow);
  // The first tile of keys from `key` on that any query sees.
  auto seen = [&](int key) {
#pragma unroll 1
    while (key < Shape::keys &&
           !tilesMeet<Shape, own, side>(call, documents, firstRow, key))
      key += side;
    return key;
  };

  if (threadIdx.x == 0) {
    ownThere.begin(1);
    keyRing.begin(1, own / 16);
    valueRing.begin(1, own / 16);
    fenceBarrierInit();
  }
  __syncthreads();
  if (Roles::fetches()) {
    Roles::beginToFetch();
    if (!Roles::isFetcher())
      return;
    int group = head.h / (Shape::heads / Shape::kvHeads), key = seen(0);
    if (key < Shape::keys) {
      ownThere.expect(2 * Own::bytes);
      fetchRows(queries, q, ownThere, head.h, firstRow, head.b);
      fetchRows(gradients, dO, ownThere, head.h, firstRow, head.b);
    }
    for (int tile = 0; key < Shape::keys; ++tile, key = seen(key + side)) {
      keyRing.producerAcquire(tile);
      keyRing.barrier(tile).expect(Tile::bytes);
      fetchRows(keys(tile), k, keyRing.barrier(tile), group, key, head.b);
      valueRing.producerAcquire(tile);
      valueRing.barrier(tile).expect(Tile::bytes);
      fetchRows(values(tile), v, valueRing.barrier(tile), group, key, head.b);
    }
  } else {
    Roles::beginToMultiply();
    int groupRow = warpgroup() * 64, warpRow = firstRow + threadIdx.x / 32 * 16;
    GroupSums<Shape> sums = {};
    PackedKeyScores<Shape> packed;
    RowsSee<Shape> see(call, head.b, {warpRow, 0});
    Wgmma wgmma;
    float lseOfRows[2], deltaOfRows[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      int row = warpRow + static_cast<int>(threadIdx.x % 32 / 4) + 8 * half;
      bool exists = row < Shape::queries;
      lseOfRows[half] = exists ? lse[head.statistic() + row] : 0.0f;
      deltaOfRows[half] = exists ? delta[head.statistic() + row] : 0.0f;
    }
    auto lseOf = [&](int, int i) { return lseOfRows[i / 2]; };
    auto deltaOf = [&](int, int i) { return deltaOfRows[i / 2]; };
    // Makes probabilities of scores, and says which dropout keeps.
    auto find = [&](KeyScores<Shape> &p, int key) {
      WarpPlace place(warpRow, key);
      bool all = firstRow + own <= Shape::queries &&
                 tilesSeeAll<Shape, own, side>(call, documents, firstRow, key);
      findProbabilities<Shape, true>(p, call, place, head.h, lseOf);
      if (!all)
        hideKeys(p, 0.0f, call, see, place);
      return KeptScores<Shape, true, side / 8>(call, place, head);
    };
    if (int key = seen(0); key < Shape::keys) {
      KeyScores<Shape> p, ds;
      auto beginTile = [&](int tile) {
        keyRing.consumerWait(tile);
        wgmma.begin();
        beginDots(wgmma, p, queries, groupRow, keys(tile));
        valueRing.consumerWait(tile);
        wgmma.begin();
        beginDots(wgmma, ds, gradients, groupRow, values(tile));
      };
      int tile = 1;
      ownThere.wait(0);
      beginTile(0);
      wgmma.wait<1>(p);
      auto kept = find(p, key);
      wgmma.wait<0>(ds);
      valueRing.consumerRelease(0);
      gradientOfScores<Shape>(p, ds, kept, lseOf, deltaOf);
      packScores<T>(ds, packed);
      for (key = seen(key + side); key < Shape::keys;
           key = seen(key + side), ++tile) {
        beginTile(tile);
        beginSums(wgmma, sums, packed, keys(tile - 1));
        wgmma.wait<2>(p);
        kept = find(p, key);
        wgmma.wait<1>(ds);
        valueRing.consumerRelease(tile);
        gradientOfScores<Shape>(p, ds, kept, lseOf, deltaOf);
        wgmma.wait<0>(sums);
        keyRing.consumerRelease(tile - 1);
        packScores<T>(ds, packed);
      }
      wgmma.begin();
      beginSums(wgmma, sums, packed, keys(tile - 1));
      wgmma.wait<0>(sums);
    }
    storeRows<T, Shape::dim>(dq + head.query(), head.queryPitch, warpRow,
                             Shape::queries, sums, Shape::scale, Shape::scale);
  }
}

/// Budget of 64: 168 registers, 24 of 24 registers, 184 of 240 registers; a
/// thread: 1350 instructions, 14 loads, 32 stores, 40 shared.
/// Budget of 64 dropout: 168 registers, 24 of 24 registers, 216 of 240
/// registers; a thread: 3750 instructions, 14 loads, 32 stores, 40 shared.
/// Budget of 64 dropout documents: 168 registers, 24 of 24 registers, 216 of
/// 240 registers; a thread: 3850 instructions, 19 loads, 32 stores, 54 shared.
/// Budget of 128: 168 registers, 24 of 24 registers, 232 of 240 registers; a
/// thread: 1300 instructions, 12 loads, 64 stores, 20 shared.
/// Budget of 128 documents: 168 registers, 24 of 24 registers, 232 of 240
/// registers; a thread: 1450 instructions, 19 loads, 64 stores, 30 shared.
/// Budget of 64 softcap: 168 registers, 24 of 24 registers, 184 of 240
/// registers; a thread: 2250 instructions, 14 loads, 32 stores, 52 shared.
/// Budget of 128 softcap: 168 registers, 24 of 24 registers, 232 of 240
/// registers; a thread: 1650 instructions, 12 loads, 64 stores, 28 shared.
/// Budget of 64 alibi: 168 registers, 24 of 24 registers, 200 of 240 registers;
/// a thread: 1600 instructions, 14 loads, 32 stores, 40 shared.
template <class Shape>
HOCKET_DEVICE void
hopperAttentionKeyGradient(const TensorMap &q, const TensorMap &k,
                           const TensorMap &v, const TensorMap &dO,
                           const float *lse, const float *delta,
                           typename Shape::T *dk, typename Shape::T *dv,
                           const AttentionCall &call, float *shared) {
  using T = typename Shape::T;
  constexpr int own = kHopperRows, side = kHopperQueries;
  constexpr int group = Shape::heads / Shape::kvHeads;
  constexpr int stages = kHopperQueryStages;
  using Roles = WarpRoles<own / 64>;
  using Own = SwizzledHeadTile<Shape, own>;
  using Tile = SwizzledHeadTile<Shape, side>;
  using Kept = KeptScores<Shape, false, side / 8>;
  // Whether the sums of keys of a tile run beside the probabilities of the next
  // one: there are registers for its gradients of scores until then.
  constexpr bool besideNext = Shape::dim <= 64;
  __shared__ TileRing<stages> ring;
  __shared__ Mbarrier ownThere;
  __shared__ float statistics[stages][2][side]; ///< [tile][lse, delta]
  __shared__ int documents[stages][Shape::documents ? side : 1];
  char *start = alignTiles(shared);
  Own keys{start}, values{start + Own::bytes};
  start += 2 * Own::bytes;
  auto queries = [&](int i) { return Tile{start + i % stages * Tile::bytes}; };
  auto gradients = [&](int i) {
    return Tile{start + (stages + i % stages) * Tile::bytes};
  };
  Head<Shape> head{static_cast<int>(blockIdx.z),
                   static_cast<int>(blockIdx.y) * group};
  int firstRow = blockIdx.x * own;
  // Tiles are those of all heads of the group, one after another: the first
  // one from `query` on that sees any key.
  constexpr int each = (Shape::queries + side - 1) / side * side;
  auto documentsOf = [&](int row) {
    return tileDocuments<Shape, side>(call, head.b, row);
  };
  auto seeing = [&](int query) {
#pragma unroll 1
    while (query < group * each &&
           !tilesMeet<Shape, side, own>(call, documentsOf(query % each),
                                        query % each, firstRow))
      query += side;
    return query;
  };
  auto headOf = [&](int query) {
    return Head<Shape>{head.b, head.h + query / each};
  };

  if (threadIdx.x == 0) {
    ownThere.begin(1);
    ring.begin(32, own / 16);
    fenceBarrierInit();
  }
  __syncthreads();
  if (Roles::fetches()) {
    Roles::beginToFetch();
    if (!Roles::isOfFetchingWarp())
      return;
    int query = seeing(0), lane = threadIdx.x % 32;
    if (query < group * each && Roles::isFetcher()) {
      ownThere.expect(2 * Own::bytes);
      fetchRows(keys, k, ownThere, blockIdx.y, firstRow, head.b);
      fetchRows(values, v, ownThere, blockIdx.y, firstRow, head.b);
    }
    for (int tile = 0; query < group * each;
         ++tile, query = seeing(query + side)) {
      Head<Shape> from = headOf(query);
      int row = query % each;
      ring.producerAcquire(tile);
      for (int i = lane; i < 2 * side; i += 32) {
        int at = row + i % side;
        const float *of = i < side ? lse : delta;
        statistics[tile % stages][i / side][i % side] =
            at < Shape::queries ? of[from.statistic() + at] : 0.0f;
      }
      if constexpr (Shape::documents)
        for (int i = lane; i < side; i += 32)
          documents[tile % stages][i] =
              documentOf<Shape>(call, head.b, row + i);
      Mbarrier &barrier = ring.barrier(tile);
      if (Roles::isFetcher()) {
        barrier.expect(2 * Tile::bytes);
        fetchRows(queries(tile), q, barrier, from.h, row, head.b);
        fetchRows(gradients(tile), dO, barrier, from.h, row, head.b);
      } else {
        barrier.arrive();
      }
    }
  } else {
    Roles::beginToMultiply();
    int groupRow = warpgroup() * 64, warpRow = firstRow + threadIdx.x / 32 * 16;
    GroupSums<Shape> keySums = {}, valueSums = {};
    Wgmma wgmma;
    if (int query = seeing(0); query < group * each) {
      GroupScores<side> p, ds;
      PackedScores<side> packed, packedDs;
      auto beginTile = [&](int tile) {
        ring.consumerWait(tile);
        wgmma.begin();
        beginDots(wgmma, p, keys, groupRow, queries(tile));
        beginDots(wgmma, ds, values, groupRow, gradients(tile));
      };
      // Makes probabilities of scores and packs those that dropout keeps; says
      // which these are.
      auto find = [&](int tile) {
        int row = query % each, lane = 2 * (threadIdx.x % 4);
        auto lseOf = [&](int j, int i) {
          return statistics[tile % stages][0][lane + 8 * j + i % 2];
        };
        bool all = row + side <= Shape::queries &&
                   tilesSeeAll<Shape, side, own>(call, documentsOf(row), row,
                                                 firstRow);
        WarpPlace place(warpRow, row);
        findProbabilities<Shape, false>(p, call, place, headOf(query).h, lseOf);
        if (!all)
          hideQueries<Shape>(p, call, place, [&](int j, int i) {
            return documents[tile % stages][lane + 8 * j + i % 2];
          });
        Kept kept(call, place, headOf(query));
        GroupScores<side> dropped;
#pragma unroll
        for (int i = 0; i < side / 2; ++i)
          dropped[i / 4][i % 4] = p[i / 4][i % 4];
        kept.apply(dropped);
        packScores<T>(dropped, packed);
        return kept;
      };
      auto differentiate = [&](int tile, const Kept &kept) {
        int lane = 2 * (threadIdx.x % 4);
        auto lseOf = [&](int j, int i) {
          return statistics[tile % stages][0][lane + 8 * j + i % 2];
        };
        auto deltaOf = [&](int j, int i) {
          return statistics[tile % stages][1][lane + 8 * j + i % 2];
        };
        gradientOfScores<Shape>(p, ds, kept, lseOf, deltaOf);
      };
      ownThere.wait(0);
      if constexpr (besideNext) {
        int tile = 1;
        beginTile(0);
        wgmma.wait<1>(p);
        Kept kept = find(0);
        wgmma.begin();
        beginSums(wgmma, valueSums, packed, gradients(0));
        wgmma.wait<1>(ds);
        differentiate(0, kept);
        wgmma.wait<0>(valueSums);
        packScores<T>(ds, packedDs);
        for (query = seeing(query + side); query < group * each;
             query = seeing(query + side), ++tile) {
          beginTile(tile);
          beginSums(wgmma, keySums, packedDs, queries(tile - 1));
          wgmma.wait<2>(p);
          kept = find(tile);
          wgmma.begin();
          beginSums(wgmma, valueSums, packed, gradients(tile));
          wgmma.wait<2>(ds);
          differentiate(tile, kept);
          wgmma.wait<0>(keySums);
          wgmma.wait<0>(valueSums);
          ring.consumerRelease(tile - 1);
          packScores<T>(ds, packedDs);
        }
        wgmma.begin();
        beginSums(wgmma, keySums, packedDs, queries(tile - 1));
        wgmma.wait<0>(keySums);
      } else {
        for (int tile = 0; query < group * each;
             ++tile, query = seeing(query + side)) {
          beginTile(tile);
          wgmma.wait<1>(p);
          Kept kept = find(tile);
          wgmma.begin();
          beginSums(wgmma, valueSums, packed, gradients(tile));
          wgmma.wait<1>(ds);
          differentiate(tile, kept);
          packScores<T>(ds, packedDs);
          wgmma.begin();
          beginSums(wgmma, keySums, packedDs, queries(tile));
          wgmma.wait<0>(valueSums);
          wgmma.wait<0>(keySums);
          ring.consumerRelease(tile);
        }
      }
    }
    storeRows<T, Shape::dim>(dk + head.key(), head.keyPitch, warpRow,
                             Shape::keys, keySums, Shape::scale, Shape::scale);
    storeRows<T, Shape::dim>(dv + head.key(), head.keyPitch, warpRow,
                             Shape::keys, valueSums, 1.0f, 1.0f);
  }
}

} // namespace hocket::cuda

#endif // HOCKET_HOPPER

#endif // HOCKET_KERNELS_CUDA_HOPPERATTENTION_CUH
