//===- GroupedLinear.cuh - Each expert's linear layer on the GPU *- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The GEMMs of kernels/reference/Experts.h. How many rows an expert has is
/// known on the GPU alone, so one block first cuts all rows into tiles, of
/// experts' rows and of those between, which belong to no expert; the launch
/// that follows has as many blocks as there can be tiles.
///
///   cutGroups            one block of 1024 threads
///   groupedLinear        256 threads, tiles, blocks(columns)
///   groupedWeightGradient  256 threads, experts * blocks(out), blocks(in)
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_GROUPEDLINEAR_CUH
#define HOCKET_KERNELS_CUDA_GROUPEDLINEAR_CUH

#include "kernels/cuda/Gemm.cuh"

namespace hocket::cuda {

/// kernels/reference/Experts.h's GroupShape; `ranges` may be null.
struct GroupShape {
  const int *ranges;
  Integer rows, experts, runs, segments;

  /// Where a segment begins in its run.
  HOCKET_MEMBER Integer begin(Integer run, Integer segment) const {
    Integer at = ranges[2 * (run * segments + segment)], end = rows / runs;
    return at < end ? at : end;
  }
  HOCKET_MEMBER Integer first(Integer run, Integer segment) const {
    return ranges ? rows / runs * run + begin(run, segment)
                  : rows / experts * segment;
  }
  HOCKET_MEMBER Integer count(Integer run, Integer segment) const {
    if (!ranges)
      return rows / experts;
    Integer all = ranges[2 * (run * segments + segment) + 1];
    Integer left = rows / runs - begin(run, segment);
    return all < left ? all : left;
  }
  /// The end of what lies before a segment.
  HOCKET_MEMBER Integer before(Integer run, Integer segment) const {
    return segment == 0 ? run * (rows / runs)
                        : first(run, segment - 1) + count(run, segment - 1);
  }
  /// Whether a segment is one, in its run and behind those before.
  HOCKET_MEMBER bool isGood(Integer run, Integer segment) const {
    Integer at = first(run, segment);
    return at >= run * (rows / runs) && at >= before(run, segment) &&
           count(run, segment) >= 0;
  }
  /// How many segments of all runs are of one expert.
  HOCKET_MEMBER Integer stretches() const {
    return runs * (segments / experts);
  }
  struct Stretch {
    Integer first, count;
  };
  /// The i-th of them, in order; one that is not good, which has been reported,
  /// has no rows.
  HOCKET_MEMBER Stretch stretch(Integer expert, Integer i) const {
    Integer each = segments / experts, run = quotient(i, each);
    Integer segment = (i - run * each) * experts + expert;
    return {first(run, segment),
            isGood(run, segment) ? count(run, segment) : 0};
  }
};

/// Some rows of one expert; of none where `expert` is -1.
struct GroupTile {
  int expert, first, count, end;
};

/// Writes a tile for each `side` rows of [first, end), from `at` on.
HOCKET_DEVICE Integer writeTiles(GroupTile *tiles, Integer at, Integer expert,
                                 Integer first, Integer end, Integer side) {
  for (; first < end; first += side)
    tiles[at++] = {static_cast<int>(expert), static_cast<int>(first),
                   static_cast<int>(end - first < side ? end - first : side),
                   0};
  return at;
}

/// tiles[0].count becomes the number of tiles that follow it: none where ranges
/// are a fault.
///
/// Budget: 56 registers; an iteration: 590 instructions, 4 loads, 12 stores, 33
/// shared.
HOCKET_DEVICE void cutGroups(GroupTile *tiles, const GroupShape &shape,
                             Integer side, unsigned *fault) {
  __shared__ int scratch[1024];
  int thread = threadIdx.x;
  Integer groups = shape.runs * shape.segments, each = shape.rows / shape.runs;
  int bad = 0;
  for (Integer i = thread; i < groups; i += 1024)
    bad |= !shape.isGood(i / shape.segments, i % shape.segments);
  bad = sumBlock<1024>(bad, scratch);
  if (bad && thread == 0)
    report(fault, Fault::Ranges);
  Integer total = 0;
  for (Integer start = 0; start < groups && !bad; start += 1024) {
    Integer i = start + thread, run = i / shape.segments;
    Integer segment = i % shape.segments, gap = 0, first = 0, end = 0, last = 0;
    if (i < groups) {
      gap = shape.before(run, segment), first = shape.first(run, segment);
      end = first + shape.count(run, segment);
      last = segment + 1 == shape.segments ? (run + 1) * each : end;
    }
    auto tilesOf = [&](Integer count) { return (count + side - 1) / side; };
    int mine = static_cast<int>(tilesOf(first - gap) + tilesOf(end - first) +
                                tilesOf(last - end));
    Integer at = 1 + total + prefixSum<1024>(mine, scratch) - mine;
    at = writeTiles(tiles, at, -1, gap, first, side);
    at = writeTiles(tiles, at, segment % shape.experts, first, end, side);
    writeTiles(tiles, at, -1, end, last, side);
    total += scratch[1023];
  }
  if (thread == 0)
    tiles[0] = {-1, 0, static_cast<int>(total), 0};
}

/// Stores a GEMM as the rows of `tile`, from `column` on.
template <class T, class Gemm>
HOCKET_DEVICE void storeTile(const Gemm &gemm, T *y, const GroupTile &tile,
                             Integer columns, Integer column) {
  gemm.forEachPair([&](int row, int n, float low, float high) {
    if (row >= tile.count)
      return;
    Pack<T, 2> pair = {fromFloat<T>(low), fromFloat<T>(high)};
    store(y + (tile.first + row) * columns + column + n, pair,
          columns - column - n);
  });
}

/// Where the gradient of an expert's weights is in those of all, [experts, out,
/// in], and where a GEMM is in it.
struct WeightPlace {
  Integer expert, out, in;
  Integer row, column;
};

/// Stores a GEMM as a tile of a gradient, or adds it to what is there.
template <class Gemm>
HOCKET_DEVICE void storeGradient(const Gemm &gemm, float *dw,
                                 const WeightPlace &place, int add) {
  float *corner =
      dw + (place.expert * place.out + place.row) * place.in + place.column;
  gemm.forEachPair([&](int m, int n, float low, float high) {
    if (place.row + m >= place.out)
      return;
    float *to = corner + m * place.in + n;
    Integer count = place.in - place.column - n;
    Pack<float, 2> sums = load<2>(to, add ? count : 0);
    sums.at[0] += low, sums.at[1] += high;
    store(to, sums, count);
  });
}

/// y[rows, columns] of x[rows, depth]: the weights of an expert are [columns,
/// depth], or, for the gradient of inputs, [depth, columns].
///
/// Budget: 128 registers; a thread: 1750 instructions, 16 loads, 128 stores, 12
/// shared.
template <class T, bool Gradient, bool Aligned>
HOCKET_DEVICE void groupedLinear(T *y, const T *x, const T *weights,
                                 const GroupTile *tiles, Integer columns,
                                 Integer depth, float *shared) {
  using Gemm = typename GemmOf<T, true, !Gradient, Aligned>::type;
  if (Integer(blockIdx.x) >= tiles[0].count)
    return;
  GroupTile tile = tiles[1 + blockIdx.x];
  Integer column = Integer(blockIdx.y) * Gemm::side;
  Gemm gemm(shared);
  if (tile.expert >= 0)
    gemm.add({x, depth, tile.first + tile.count, tile.first},
             {weights + tile.expert * columns * depth,
              Gradient ? columns : depth, columns, column},
             depth);
  storeTile(gemm, y, tile, columns, column);
}

/// dw[experts, out, in] (+)= for each expert the sum over its rows of
/// dy[rows, out] x[rows, in].
///
/// Budget: 168 registers; a thread: 3500 instructions, 115 loads, 192 stores,
/// 12 shared.
template <class T, bool Aligned>
HOCKET_DEVICE void groupedWeightGradient(float *dw, const T *dy, const T *x,
                                         const GroupShape &shape, Integer out,
                                         Integer in, int add, float *shared) {
  using Gemm = typename GemmOf<T, false, false, Aligned>::type;
  Integer blocks = (out + Gemm::side - 1) / Gemm::side;
  Integer expert = quotient(blockIdx.x, blocks);
  Integer row = (blockIdx.x - expert * blocks) * Gemm::side;
  Integer column = Integer(blockIdx.y) * Gemm::side;
  Gemm gemm(shared);
  for (Integer i = 0; i < shape.stretches(); ++i) {
    GroupShape::Stretch rows = shape.stretch(expert, i);
    gemm.add({dy + rows.first * out, out, out, row},
             {x + rows.first * in, in, in, column}, rows.count);
  }
  storeGradient(gemm, dw, {expert, out, in, row, column}, add);
}

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_GROUPEDLINEAR_CUH
