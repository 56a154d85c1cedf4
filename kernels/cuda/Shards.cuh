//===- Shards.cuh - Copies between tensors and their shards -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The ops of kernels/library/Library.h that move elements and hardly compute.
/// 256 threads a block, a thread 16 bytes of a row of a shard. Elements that
/// are only moved go by their size: Word is `unsigned char`, `unsigned short`,
/// `unsigned` or `Integer`.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_SHARDS_CUH
#define HOCKET_KERNELS_CUDA_SHARDS_CUH

#include "kernels/cuda/Device.cuh"

namespace hocket::cuda {

/// The 16 bytes of a row that a thread has: rows of `width` elements, each cut
/// into vectors of N.
template <int N> struct RowPlace {
  Integer row, column;
  HOCKET_MEMBER explicit RowPlace(Integer width) {
    Integer at = Integer(blockIdx.x) * 256 + threadIdx.x;
    Integer vectors = (width + N - 1) / N;
    row = quotient(at, vectors);
    column = (at - row * vectors) * N;
  }
};

/// The same of shards of `rows` rows, each `width` elements of a whole row: the
/// row of the whole, where in it the bytes stand, and what is left of the shard
/// from there on.
template <int N> struct ShardPlace {
  RowPlace<N> own;
  Integer row, column, count;
  HOCKET_MEMBER ShardPlace(Integer rows, Integer width) : own(width) {
    Integer shard = quotient(own.row, rows);
    row = own.row - shard * rows;
    column = shard * width + own.column;
    count = width - own.column;
  }
};

/// The same of one row: the first of a thread's N elements.
template <int N> HOCKET_DEVICE Integer flatPlace() {
  return (Integer(blockIdx.x) * 256 + threadIdx.x) * N;
}

/// y[room] of x[there] and zeros behind.
///
/// Budget: 32 registers; a thread of 16 bytes: 10 instructions an element, 1
/// load, 1 store. Over: 28 instructions, 9 loads, 9 stores: whether an address
/// is a multiple of 16 bytes is tested as the kernel runs, and an access an
/// element stands beside each.
template <class Word>
HOCKET_DEVICE void padRows(const Word *x, Word *y, Integer there,
                           Integer room) {
  constexpr int N = 16 / sizeof(Word);
  Integer at = flatPlace<N>();
  if (at < room)
    store(y + at, load<N>(x + (at < there ? at : 0), there - at), room - at);
}

/// Budget: 32 registers; a thread of 8 elements: 8 instructions an element, 4
/// loads, 2 stores.
/// Over: 19 instructions, 20 loads, 10 stores: whether an address is a multiple
/// of 16 bytes is tested as the kernel runs, and an access an element stands
/// beside each.
template <class T>
HOCKET_DEVICE void accumulate(const T *x, float *y, Integer count, int add) {
  Integer at = flatPlace<8>();
  if (at >= count)
    return;
  auto from = load<8>(x + at, count - at);
  Pack<float, 8> sums = load<8>(y + at, add ? count - at : 0);
#pragma unroll
  for (int i = 0; i < 8; ++i)
    sums.at[i] = add ? sums.at[i] + toFloat(from.at[i]) : toFloat(from.at[i]);
  store(y + at, sums, count - at);
}

/// x[shards, rows, width] to y[rows, whole].
///
/// Budget: 32 registers; a thread of 16 bytes: 24 instructions an element, 1
/// load, 1 store.
/// Over: 82 instructions, 9 loads, 9 stores: whether an address is a multiple
/// of 16 bytes is tested as the kernel runs, and an access an element stands
/// beside each; places are divided in 64 bits.
template <class Word>
HOCKET_DEVICE void gatherShards(const Word *x, Word *y, Integer shards,
                                Integer rows, Integer width, Integer whole) {
  constexpr int N = 16 / sizeof(Word);
  ShardPlace<N> place(rows, width);
  if (place.own.row >= shards * rows || place.column >= whole)
    return;
  Integer room = whole - place.column;
  store(y + place.row * whole + place.column,
        load<N>(x + place.own.row * width + place.own.column, place.count),
        place.count < room ? place.count : room);
}

/// x[rows, whole] to y[shards, rows, width].
///
/// Budget: 32 registers; a thread of 16 bytes: 24 instructions an element, 1
/// load, 1 store.
/// Over: 47 instructions, 9 loads, 9 stores: whether an address is a multiple
/// of 16 bytes is tested as the kernel runs, and an access an element stands
/// beside each; places are divided in 64 bits.
template <class Word>
HOCKET_DEVICE void scatterShards(const Word *x, Word *y, Integer shards,
                                 Integer rows, Integer width, Integer whole) {
  constexpr int N = 16 / sizeof(Word);
  ShardPlace<N> place(rows, width);
  if (place.own.row >= shards * rows)
    return;
  Integer there = whole - place.column;
  if (there > place.count)
    there = place.count;
  Integer from = there > 0 ? place.row * whole + place.column : 0;
  store(y + place.own.row * width + place.own.column, load<N>(x + from, there),
        place.count);
}

/// x[rows, whole] from `first` on to y[rows, width].
///
/// Budget: 24 registers; a thread of 16 bytes: 20 instructions an element, 1
/// load, 1 store.
/// Over: 66 instructions, 9 loads, 9 stores: whether an address is a multiple
/// of 16 bytes is tested as the kernel runs, and an access an element stands
/// beside each; places are divided in 64 bits.
template <class Word>
HOCKET_DEVICE void sliceShard(const Word *x, Word *y, Integer rows,
                              Integer width, Integer whole, Integer first,
                              unsigned *fault) {
  constexpr int N = 16 / sizeof(Word);
  RowPlace<N> place(width);
  if (place.row >= rows)
    return;
  if (first < 0 || first > 0x7fffffff) {
    report(fault, Fault::Place);
    return;
  }
  Integer from = first + place.column, count = width - place.column;
  Integer there = count < whole - from ? count : whole - from;
  store(y + place.row * width + place.column,
        load<N>(x + (there > 0 ? place.row * whole + from : 0), there), count);
}

/// y[room] of z[room], with x[there] from `first` on. Where y is z, what stands
/// beside those is left alone.
///
/// Budget: 32 registers; a thread of 16 bytes: 24 instructions an element, 2
/// loads, 1 store.
/// Over: 26 instructions, 17 loads, 9 stores: whether an address is a multiple
/// of 16 bytes is tested as the kernel runs, and an access an element stands
/// beside each.
template <class Word>
HOCKET_DEVICE void insertRows(const Word *x, const Word *z, Word *y,
                              Integer there, Integer room, Integer first) {
  constexpr int N = 16 / sizeof(Word);
  Integer at = flatPlace<N>();
  if (at >= room || (y == z && (at + N <= first || at >= first + there)))
    return;
  Pack<Word, N> all = load<N>(z + at, room - at);
#pragma unroll
  for (int i = 0; i < N; ++i) {
    Integer from = at + i - first;
    if (from >= 0 && from < there)
      all.at[i] = x[from];
  }
  store(y + at, all, room - at);
}

/// x[rows, width] from `first` on, which may be negative, to y[rows, width];
/// zeros where there is nothing.
///
/// Budget: 32 registers; a thread of 16 bytes: 24 instructions an element, 2
/// loads, 2 stores.
/// Over: 42 instructions, 10 loads, 10 stores: whether an address is a multiple
/// of 16 bytes is tested as the kernel runs, and an access an element stands
/// beside each; places are divided in 64 bits.
template <class Word>
HOCKET_DEVICE void shiftRows(const Word *x, Word *y, Integer rows,
                             Integer width, Integer first) {
  constexpr int N = 16 / sizeof(Word);
  RowPlace<N> place(width);
  if (place.row >= rows)
    return;
  Integer from = first + place.column;
  const Word *row = x + place.row * width;
  Word *to = y + place.row * width + place.column;
  if (from >= 0 || from <= -N) {
    bool isThere = from >= 0 && from < width;
    store(to, load<N>(row + (isThere ? from : 0), isThere ? width - from : 0),
          width - place.column);
    return;
  }
  // The beginning of the row is inside.
#pragma unroll 1
  for (Integer i = 0; i < N && place.column + i < width; ++i)
    to[i] = from + i < 0 || from + i >= width ? Word() : row[from + i];
}

/// y[rows, before + own] of front[rows / heads or rows, before], which `heads`
/// rows share unless that is 1, and x[rows, own].
///
/// Budget: 32 registers; a thread of 16 bytes: 24 instructions an element, 2
/// loads, 2 stores.
/// Over: 42 instructions, 18 loads, 17 stores: whether an address is a multiple
/// of 16 bytes is tested as the kernel runs, and an access an element stands
/// beside each; places are divided in 64 bits.
template <class Word>
HOCKET_DEVICE void joinHeads(const Word *front, const Word *x, Word *y,
                             Integer rows, Integer heads, Integer before,
                             Integer own) {
  constexpr int N = 16 / sizeof(Word);
  RowPlace<N> place(before + own);
  if (place.row >= rows)
    return;
  const Word *first = front + quotient(place.row, heads) * before;
  const Word *second = x + place.row * own;
  Integer column = place.column, count = before + own - column;
  Word *to = y + place.row * (before + own) + column;
  if (column >= before || column + N <= before) {
    bool isFront = column < before;
    store(to,
          load<N>(isFront ? first + column : second + (column - before),
                  isFront ? before - column : count),
          count);
    return;
  }
  // The end of the front is inside.
#pragma unroll 1
  for (Integer i = 0; i < N && i < count; ++i)
    to[i] =
        column + i < before ? first[column + i] : second[column + i - before];
}

/// y[tokens, width] of the sums over h of x[tokens, heads, whole], in order.
///
/// Budget: 32 registers; an iteration of 4 elements: 12 instructions an
/// element, 1 load, 1 store.
/// Over: 24 instructions, 5 loads, 5 stores: whether an address is a multiple
/// of 16 bytes is tested as the kernel runs, and an access an element stands
/// beside each.
template <class T>
HOCKET_DEVICE void sumHeads(const T *x, T *y, Integer tokens, Integer heads,
                            Integer whole, Integer width) {
  RowPlace<4> place(width);
  if (place.row >= tokens)
    return;
  Integer count = width - place.column;
  const T *from = x + place.row * heads * whole + place.column;
  float sums[4] = {};
#pragma unroll 1
  for (Integer h = 0; h < heads; ++h, from += whole) {
    auto part = load<4>(from, count);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      sums[i] += toFloat(part.at[i]);
  }
  Pack<T, 4> result;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    result.at[i] = fromFloat<T>(sums[i]);
  store(y + place.row * width + place.column, result, count);
}

/// Puts together what a query has of two sets of keys, a warp a row of a head:
/// 256 threads. The result may be the first operand.
///
/// Budget: 32 registers; an iteration of 4 elements: 16 instructions an
/// element, 2 loads, 1 store. Over: 26 instructions, 10 loads, 5 stores:
/// whether an address is a multiple of 16 bytes is tested as the kernel runs,
/// and an access an element stands beside each.
HOCKET_DEVICE void mergeAttention(const float *o, const float *lse,
                                  const float *otherO, const float *otherLse,
                                  float *resultO, float *resultLse,
                                  Integer rows, Integer positions,
                                  Integer heads, Integer width) {
  Integer row = Integer(blockIdx.x) * 8 + threadIdx.x / 32;
  if (row >= rows)
    return;
  // Rows are [b, i, h], statistics [b, h, i].
  Integer token = quotient(row, heads), h = row - token * heads;
  Integer b = quotient(token, positions), i = token - b * positions;
  Integer statistic = (b * heads + h) * positions + i;
  float x = lse[statistic], y = otherLse[statistic];
  float greatest = maximum(x, y), sum = greatest, left = 0, right = 0;
  if (greatest != neutral<Max>()) {
    sum += logf(expf(x - greatest) + expf(y - greatest));
    left = expf(x - sum), right = expf(y - sum);
  }
  __syncwarp(); // All lanes have read.
  if (threadIdx.x % 32 == 0)
    resultLse[statistic] = sum;
  for (Integer column = threadIdx.x % 32 * 4; column < width; column += 128) {
    Integer at = row * width + column;
    auto first = load<4>(o + at, width - column);
    auto second = load<4>(otherO + at, width - column);
#pragma unroll
    for (int j = 0; j < 4; ++j)
      first.at[j] = left * first.at[j] + right * second.at[j];
    store(resultO + at, first, width - column);
  }
}

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_SHARDS_CUH
