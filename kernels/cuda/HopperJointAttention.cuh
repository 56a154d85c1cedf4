//===- HopperJointAttention.cuh - A head's gradients at once ----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The gradient of HopperAttention.cuh in one kernel with five GEMMs
/// instead of two with seven: scores, and the gradients of probabilities, are
/// found once for the gradients of keys, values and queries. For causal
/// attention of whole sequences with as many heads of keys as of queries.
///
///   hopperAttentionJointGradient   batch * heads along x, persistent
///
/// A block has all rows of a head, tile of keys after tile of keys. So what
/// they add to the gradient of a query is added by one thread, in one order: no
/// block waits for another one, nothing is added atomically, and two runs give
/// the same bits. These sums are f32, and stay as threads have them in
/// registers: those of the last queries, which most tiles of keys add to, in
/// shared memory, others in a block's part of the workspace, which is small
/// enough for the second cache.
///
/// A group multiplies 64 keys of a tile by tiles of 64 queries. The gradient of
/// queries sums over both groups' keys: gradients of scores of two tiles of
/// queries go through shared memory, then each group has the products of one of
/// these tiles. That a pair's are there is said by named barriers 1 and 2, one
/// a group that waits, and that they have been read by 3 and 4.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_HOPPERJOINTATTENTION_CUH
#define HOCKET_KERNELS_CUDA_HOPPERJOINTATTENTION_CUH

#include "kernels/cuda/HopperAttention.cuh"

#ifdef HOCKET_HOPPER

namespace hocket::cuda {

/// The thread's lane, read where it is needed: what is computed from it is then
/// in no register of the loops around that.
HOCKET_DEVICE int laneHere() {
#ifdef HOCKET_EMULATED
  return threadIdx.x % 32;
#else
  int lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
#endif
}

/// The same of the block.
HOCKET_DEVICE int blockHere() {
#ifdef HOCKET_EMULATED
  return blockIdx.x;
#else
  int block;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
  return block;
#endif
}

/// A number as if it were known only as the kernel runs: a loop up to it is not
/// unrolled, whose steps together would have too few registers.
HOCKET_DEVICE int atRuntime(int number) {
#ifndef HOCKET_EMULATED
  asm volatile("" : "+r"(number));
#endif
  return number;
}

/// Stores packed scores into rows row .. row + 15 of the warp, columns
/// `column` ...
template <class T, int Rows, int Columns, int Fragments>
HOCKET_DEVICE void storePacked(const SwizzledTile<T, Rows, Columns> &to,
                               int row, int column,
                               const unsigned (&packed)[Fragments][4]) {
  int lane = laneHere();
#pragma unroll
  for (int k = 0; k < Fragments; ++k)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      void *vector = to.vector(row + lane / 4 + 8 * (i % 2),
                               column / 8 + 2 * k + i / 2);
      static_cast<unsigned *>(vector)[lane % 4] = packed[k][i];
    }
}

/// Begins sums = the transpose of columns column .. column + 63 of `a` times
/// `b`.
template <class T, int Dim, int Rows, int Columns>
HOCKET_DEVICE void
beginProducts(Wgmma &wgmma, float (&sums)[Dim / 8][4],
              const SwizzledTile<T, Rows, Columns> &a, int column,
              const SwizzledTile<T, Rows, Dim> &b) {
  wgmma.add<T, false, false, false>(sums, a.columns(0, column),
                                    b.columns(0, 0));
#pragma unroll
  for (int k = 16; k < Rows; k += 16)
    wgmma.add<T, false, false, true>(sums, a.columns(k, column),
                                     b.columns(k, 0));
  wgmma.commit();
}

/// Sums as the threads of both groups have them in registers.
template <int Dim> struct ThreadSums {
  float *start;

  HOCKET_MEMBER void addTo(float (&sums)[Dim / 8][4]) const {
#pragma unroll
    for (int j = 0; j < Dim / 8; ++j) {
      Pack<float, 4> before = at(j);
#pragma unroll
      for (int i = 0; i < 4; ++i)
        sums[j][i] += before.at[i];
    }
  }
  HOCKET_MEMBER void keep(const float (&sums)[Dim / 8][4]) const {
#pragma unroll
    for (int j = 0; j < Dim / 8; ++j)
      at(j) = {{sums[j][0], sums[j][1], sums[j][2], sums[j][3]}};
  }

private:
  HOCKET_MEMBER Pack<float, 4> &at(int j) const {
    return reinterpret_cast<Pack<float, 4> *>(
        start)[j * kJointHeadThreads + static_cast<int>(threadIdx.x)];
  }
};

/// Tile i of queries is half i % 2 of a pair.
///
/// Budget of 64: 168 registers, 24 of 24 registers, 240 of 240 registers; a
/// thread: 2800 instructions, 16 loads, 72 stores, 148 shared.
template <class Shape>
HOCKET_DEVICE void hopperAttentionJointGradient(
    const TensorMap &q, const TensorMap &k, const TensorMap &v,
    const TensorMap &dO, const float *lse, const float *delta,
    typename Shape::T *dq, typename Shape::T *dk, typename Shape::T *dv,
    float *workspace, const AttentionCall &call, float *shared) {
  using T = typename Shape::T;
  constexpr int own = kHopperRows, side = kHopperQueries;
  constexpr int stages = kHopperQueryStages;
  // Tiles of keys, and pairs of tiles of queries: those from the tile's own
  // number on see any of its keys.
  constexpr int pairs = (Shape::queries + own - 1) / own,
                apart = pairs - jointHeldPairs(pairs);
  constexpr int items = Shape::batch * Shape::heads;
  using Roles = WarpRoles<own / 64>;
  using Own = SwizzledHeadTile<Shape, own>;
  using Tile = SwizzledHeadTile<Shape, side>;
  using PairScores = SwizzledTile<T, own, 2 * side>;
  using Kept = KeptScores<Shape, false, side / 8>;
  static_assert(Shape::causal && Shape::window == 0 && !Shape::documents &&
                Shape::queries == Shape::keys &&
                Shape::heads == Shape::kvHeads && own == 2 * side &&
                Shape::dropoutThreshold == 0);
  __shared__ TileRing<1> keyRing;
  __shared__ TileRing<stages> ring;
  __shared__ float statistics[stages][2][side]; ///< [tile][lse, delta]
  char *start = alignTiles(shared);
  Own keys{start}, values{start + Own::bytes};
  start += 2 * Own::bytes;
  auto queries = [&](int i) { return Tile{start + i % stages * Tile::bytes}; };
  auto gradients = [&](int i) {
    return Tile{start + (stages + i % stages) * Tile::bytes};
  };
  PairScores scores{start + 2 * stages * Tile::bytes};
  float *held = reinterpret_cast<float *>(scores.start + PairScores::bytes);
  // Of all sequences, the head whose tile of keys is the block's next one.
  auto itemOf = [&](int block) {
    return static_cast<int>(blockIdx.x + block / pairs * gridDim.x);
  };
  auto headOf = [](int item) {
    return Head<Shape>{item / Shape::heads, item % Shape::heads};
  };

  if (threadIdx.x == 0) {
    keyRing.begin(1, own / 16);
    ring.begin(32, own / 16);
    fenceBarrierInit();
  }
  __syncthreads();
  if (Roles::fetches()) {
    Roles::beginToFetch();
    if (!Roles::isOfFetchingWarp())
      return;
    int tile = 0;
    for (int block = 0; itemOf(block) < items; ++block) {
      int first = block % pairs * own;
      Head<Shape> head = headOf(itemOf(block));
      if (Roles::isFetcher()) {
        keyRing.producerAcquire(block);
        keyRing.barrier(block).expect(2 * Own::bytes);
        fetchRows(keys, k, keyRing.barrier(block), head.h, first, head.b);
        fetchRows(values, v, keyRing.barrier(block), head.h, first, head.b);
      }
#pragma unroll 1
      for (int row = first; row < pairs * own; row += side, ++tile) {
        int lane = laneHere();
        ring.producerAcquire(tile);
#pragma unroll
        for (int i = 0; i < side; i += 32) {
          int at = row + i + lane;
          bool exists = at < Shape::queries;
          Integer statistic = head.statistic() + at;
          statistics[tile % stages][0][i + lane] =
              exists ? lse[statistic] : 0.0f;
          statistics[tile % stages][1][i + lane] =
              exists ? delta[statistic] : 0.0f;
        }
        Mbarrier &barrier = ring.barrier(tile);
        if (Roles::isFetcher()) {
          barrier.expect(2 * Tile::bytes);
          fetchRows(queries(tile), q, barrier, head.h, row, head.b);
          fetchRows(gradients(tile), dO, barrier, head.h, row, head.b);
        } else {
          barrier.arrive();
        }
      }
    }
  } else {
    Roles::beginToMultiply();
    int groupRow = warpgroup() * 64, other = 1 - warpgroup();
    int warpRow = threadIdx.x / 32 * 16, tile = 0;
    Wgmma wgmma;
    for (int block = 0; itemOf(block) < items; ++block) {
      int number = block % pairs, firstRow = number * own;
      GroupSums<Shape> keySums = {}, valueSums = {}, querySums;
      GroupScores<side> p, ds;
      PackedScores<side> packed, packedDs;
      auto lseOf = [&](int j, int i) {
        return statistics[tile % stages][0][2 * (threadIdx.x % 4) + 8 * j +
                                            i % 2];
      };
      auto deltaOf = [&](int j, int i) {
        return statistics[tile % stages][1][2 * (threadIdx.x % 4) + 8 * j +
                                            i % 2];
      };
      auto beginTile = [&](int tile) {
        ring.consumerWait(tile);
        wgmma.begin();
        beginDots(wgmma, p, keys, groupRow, queries(tile));
        beginDots(wgmma, ds, values, groupRow, gradients(tile));
      };
      // Makes probabilities of scores and packs them; then gradients of scores
      // of those of probabilities.
      auto find = [&](int pair, int half) {
        int row = pair * own + half * side;
        WarpPlace place(firstRow + warpRow, row);
        findProbabilities<Shape, false>(p, call, place,
                                        headOf(itemOf(block)).h, lseOf);
        if (row + side > Shape::queries ||
            !tilesSeeAll<Shape, side, own>(call, {0, 0}, row, firstRow))
          hideQueries<Shape>(p, call, place, [](int, int) { return 0; });
        packScores<T>(p, packed);
      };
      auto differentiate = [&](int pair, int half) {
        WarpPlace place(firstRow + warpRow, pair * own + half * side);
        Kept kept(call, place, headOf(itemOf(block)));
        gradientOfScores<Shape>(p, ds, kept, lseOf, deltaOf);
      };
      // Adds a pair's gradient of queries to what tiles of keys before gave,
      // which, behind the last one that they see, is the result.
      auto addQuerySums = [&](int pair) {
        ThreadSums<Shape::dim> sums{held + (pair - apart) * kJointSums};
        if (pair < apart)
          sums.start =
              workspace + (Integer(blockHere()) * apart + pair) * kJointSums;
        if (number > 0)
          sums.addTo(querySums);
        if (pair > number) {
          sums.keep(querySums);
        } else {
          Head<Shape> head = headOf(itemOf(block));
          storeRows<T, Shape::dim>(dq + head.query(), head.queryPitch,
                                   pair * own + warpRow, Shape::queries,
                                   querySums, Shape::scale, Shape::scale);
        }
      };

      keyRing.consumerWait(block);
      beginTile(tile);
      wgmma.wait<1>(p);
      find(number, 0);
      wgmma.begin();
      beginSums(wgmma, valueSums, packed, gradients(tile));
      wgmma.wait<1>(ds);
      differentiate(number, 0);
      wgmma.wait<0>(valueSums);
      packScores<T>(ds, packedDs);
      storePacked(scores, warpRow, 0, packedDs);
      ++tile;
      beginTile(tile);
      beginSums(wgmma, keySums, packedDs, queries(tile - 1));
      wgmma.wait<2>(p);
      find(number, 1);
      wgmma.begin();
      beginSums(wgmma, valueSums, packed, gradients(tile));
      wgmma.wait<2>(ds);
      differentiate(number, 1);
      wgmma.wait<0>(keySums);
      wgmma.wait<0>(valueSums);
      ring.consumerRelease(tile - 1);
      packScores<T>(ds, packedDs);
      storePacked(scores, warpRow, side, packedDs);
      fenceProxyAsync();
      namedBarrierArrive(1 + other, 256);
#pragma unroll 1
      for (int pair = number + 1; pair < atRuntime(pairs); ++pair) {
        ++tile;
        beginTile(tile);
        beginSums(wgmma, keySums, packedDs, queries(tile - 1));
        namedBarrierSync(1 + warpgroup(), 256);
        wgmma.begin();
        beginProducts(wgmma, querySums, scores, groupRow, keys);
        wgmma.wait<3>(p);
        find(pair, 0);
        wgmma.begin();
        beginSums(wgmma, valueSums, packed, gradients(tile));
        wgmma.wait<3>(ds);
        differentiate(pair, 0);
        wgmma.wait<0>(keySums);
        wgmma.wait<0>(valueSums);
        wgmma.wait<0>(querySums);
        ring.consumerRelease(tile - 1);
        namedBarrierArrive(3 + other, 256);
        packScores<T>(ds, packedDs);
        ++tile;
        ring.consumerWait(tile);
        wgmma.begin();
        beginDots(wgmma, p, keys, groupRow, queries(tile));
        namedBarrierSync(3 + warpgroup(), 256);
        // Registers of an MMA under way may not be read.
        storePacked(scores, warpRow, 0, packedDs);
        wgmma.begin();
        beginSums(wgmma, keySums, packedDs, queries(tile - 1));
        // Before there are as many scores in registers again.
        addQuerySums(pair - 1);
        wgmma.begin();
        beginDots(wgmma, ds, values, groupRow, gradients(tile));
        wgmma.wait<2>(p);
        find(pair, 1);
        wgmma.begin();
        beginSums(wgmma, valueSums, packed, gradients(tile));
        wgmma.wait<1>(ds);
        differentiate(pair, 1);
        wgmma.wait<0>(keySums);
        wgmma.wait<0>(valueSums);
        ring.consumerRelease(tile - 1);
        packScores<T>(ds, packedDs);
        storePacked(scores, warpRow, side, packedDs);
        fenceProxyAsync();
        namedBarrierArrive(1 + other, 256);
      }
      wgmma.begin();
      beginSums(wgmma, keySums, packedDs, queries(tile));
      namedBarrierSync(1 + warpgroup(), 256);
      wgmma.begin();
      beginProducts(wgmma, querySums, scores, groupRow, keys);
      wgmma.wait<0>(keySums);
      wgmma.wait<0>(querySums);
      ring.consumerRelease(tile);
      keyRing.consumerRelease(block);
      namedBarrierArrive(3 + other, 256);
      ++tile;
      addQuerySums(pairs - 1);
      Head<Shape> head = headOf(itemOf(block));
      storeRows<T, Shape::dim>(dk + head.key(), head.keyPitch,
                               firstRow + warpRow, Shape::keys, keySums,
                               Shape::scale, Shape::scale);
      storeRows<T, Shape::dim>(dv + head.key(), head.keyPitch,
                               firstRow + warpRow, Shape::keys, valueSums,
                               1.0f, 1.0f);
      namedBarrierSync(3 + warpgroup(), 256);
    }
  }
}

} // namespace hocket::cuda

#endif // HOCKET_HOPPER

#endif // HOCKET_KERNELS_CUDA_HOPPERJOINTATTENTION_CUH
