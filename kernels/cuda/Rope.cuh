//===- Rope.cuh - Rotary position embedding on the GPU ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// kernels/reference/Rope.h and Positions.h on the GPU; 256 threads a block,
/// a thread a few neighbouring pairs.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_ROPE_CUH
#define HOCKET_KERNELS_CUDA_ROPE_CUH

#include "kernels/cuda/Random.cuh"

namespace hocket::cuda {

/// The first row of a shard, of which a fault is made if it is none.
HOCKET_DEVICE bool isPlace(Integer first, unsigned *fault) {
  bool good = first >= 0 && first <= 0x7fffffff;
  if (!good && threadIdx.x == 0)
    report(fault, Fault::Place);
  return good;
}

/// The position of the row that is stored at `at` (0 as part: in order).
template <int Rounds>
HOCKET_DEVICE Integer storedPosition(Integer at, Integer part, Integer whole) {
  return part == 0 ? at : unfold<Rounds>(at, whole, part);
}

/// Budget: 32 registers; a thread: 330 instructions, 1 store.
template <int Rounds = 1>
HOCKET_DEVICE void positions(int *result, Integer rows, Integer whole,
                             Integer part, Integer first, unsigned *fault) {
  Integer row = Integer(blockIdx.x) * 256 + threadIdx.x;
  if (isPlace(first, fault) && row < rows)
    result[row] =
        static_cast<int>(storedPosition<Rounds>(first + row, part, whole));
}

/// Budget: 32 registers; a thread: 40 instructions, 1 load, 1 store.
HOCKET_DEVICE void copyIntegers(const int *from, int *result, Integer count) {
  Integer at = Integer(blockIdx.x) * 256 + threadIdx.x;
  if (at < count)
    result[at] = from[at];
}

/// Entry `at` of a table, of a position and a frequency.
HOCKET_DEVICE void storeTurn(float *table, Integer at, double position,
                             double frequency) {
  double angle = position * frequency;
  table[2 * at] = static_cast<float>(cos(angle));
  table[2 * at + 1] = static_cast<float>(sin(angle));
}

/// Of (cos, sin) of each row and frequency; `half` frequencies.
///
/// Budget: 32 registers; a thread: 750 instructions, 8 loads, 2 stores.
/// Over: 40 bytes of stack: sines of great angles have their bits of 2/pi
/// there.
template <int Rounds = 1>
HOCKET_DEVICE void ropeTable(const double *frequencies, float *table,
                             Integer rows, Integer half, Integer whole,
                             Integer part, Integer first, unsigned *fault) {
  Integer at = Integer(blockIdx.x) * 256 + threadIdx.x;
  if (!isPlace(first, fault) || at >= rows * half)
    return;
  Integer row = quotient(at, half);
  auto position =
      static_cast<double>(storedPosition<Rounds>(first + row, part, whole));
  storeTurn(table, at, position, frequencies[at - row * half]);
}

/// The same of rows at any positions.
///
/// Budget: 32 registers; a thread: 750 instructions, 9 loads, 2 stores.
/// Over: 40 bytes of stack: sines of great angles have their bits of 2/pi
/// there.
HOCKET_DEVICE void ropeTableAt(const double *frequencies, const int *positions,
                               float *table, Integer rows, Integer half) {
  Integer at = Integer(blockIdx.x) * 256 + threadIdx.x;
  if (at >= rows * half)
    return;
  Integer row = quotient(at, half);
  storeTurn(table, at, positions[row], frequencies[at - row * half]);
}

/// x and y are [.., sequence, heads, dim]; y may be x. Where a head turns in
/// part, `Partial`, threads behind those that turn pairs keep the other elements;
/// else dim is 2 * half.
///
/// Budget: 48 registers; a thread of 16 elements: 16 instructions an element, 6
/// loads, 2 stores.
/// Over: 46 instructions, 47 loads, 27 stores: whether an address is a multiple
/// of 16 bytes is tested as the kernel runs, an access an element stands beside
/// each, and of heads that turn in part the rest is copied by the same kernel.
template <class T, bool Inverse, bool Partial>
HOCKET_DEVICE void rope(const T *x, const float *table, T *y, Integer rows,
                        Integer sequence, Integer heads, Integer half,
                        Integer dim) {
  constexpr int N = 16 / sizeof(T);
  if (!Partial)
    dim = 2 * half;
  Integer turns = (half + N - 1) / N;
  Integer vectors = turns + (Partial ? (dim - 2 * half + N - 1) / N : 0);
  Integer at = Integer(blockIdx.x) * 256 + threadIdx.x;
  Integer row = quotient(at, vectors), vector = at - row * vectors;
  if (row >= rows)
    return;
  if (Partial && vector >= turns) {
    Integer column = 2 * half + (vector - turns) * N;
    store(y + row * dim + column, load<N>(x + row * dim + column, dim - column),
          dim - column);
    return;
  }
  Integer column = vector * N;
  Integer token = quotient(row, heads);
  Integer position = token - quotient(token, sequence) * sequence;
  auto turn =
      load<2 * N>(table + (position * half + column) * 2, (half - column) * 2);
  auto left = load<N>(x + row * dim + column, half - column);
  auto right = load<N>(x + row * dim + half + column, half - column);
#pragma unroll
  for (int i = 0; i < N; ++i) {
    float c = turn.at[2 * i],
          s = Inverse ? -turn.at[2 * i + 1] : turn.at[2 * i + 1];
    float a = toFloat(left.at[i]), b = toFloat(right.at[i]);
    left.at[i] = fromFloat<T>(a * c - b * s);
    right.at[i] = fromFloat<T>(b * c + a * s);
  }
  store(y + row * dim + column, left, half - column);
  store(y + row * dim + half + column, right, half - column);
}

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_ROPE_CUH
