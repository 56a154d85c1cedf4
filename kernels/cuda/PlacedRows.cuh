//===- PlacedRows.cuh - Rows in the place of tokens on the GPU --*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// kernels/reference/PlacedRows.h on the GPU, with the bits of that reference.
///
///   placeRows            a block a token: 128 threads
///   placedRowsGradient   a block has 1024 columns of a source and looks through
///                        the positions of its sequence for it: 128 threads
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_PLACEDROWS_CUH
#define HOCKET_KERNELS_CUDA_PLACEDROWS_CUH

#include "kernels/cuda/Device.cuh"

namespace hocket::cuda {

/// Without sources the rows that have one are zeros.
///
/// Budget: 32 registers; an iteration of 16 bytes: 16 instructions an element, 1
/// load, 1 store. Over: 40 instructions, 10 loads, 10 stores: whether an address is
/// a multiple of 16 bytes is tested as the kernel runs, and an access an element
/// stands beside each.
template <class Word, bool HasSources>
HOCKET_DEVICE void placeRows(const int *rows, const Word *x, const Word *source,
                             Word *out, Integer positions, Integer sources,
                             Integer hidden, unsigned *fault) {
  constexpr int N = 16 / sizeof(Word);
  Integer token = blockIdx.x, row = rows[token];
  bool isPlaced = row >= 0, exists = row < sources;
  if (!exists && threadIdx.x == 0)
    report(fault, Fault::PlacedRow);
  const Word *from = x + token * hidden;
  if (isPlaced) {
    exists = exists && HasSources;
    if (exists)
      from = source + (quotient(token, positions) * sources + row) * hidden;
  }
  for (Integer column = threadIdx.x * N; column < hidden; column += 128 * N)
    store(out + token * hidden + column,
          load<N>(from + column, exists ? hidden - column : 0),
          hidden - column);
}

/// Budget: 48 registers; an iteration: 24 instructions, 1 load, 2 shared. Over:
/// 430 instructions, 41 loads, 5 shared: the iteration that is counted looks at
/// several blocks of positions and adds the row that one of them finds, whose
/// address is tested as the kernel runs.
template <class T>
HOCKET_DEVICE void placedRowsGradient(const int *rows, const T *dy, T *dsource,
                                      Integer positions, Integer sources,
                                      Integer hidden, unsigned *fault) {
  __shared__ unsigned found[4];
  Integer parts = (hidden + 1023) / 1024;
  Integer row = quotient(Integer(blockIdx.x), parts);
  Integer column = (blockIdx.x - row * parts) * 1024 + threadIdx.x * 8;
  Integer sequence = quotient(row, sources), wanted = row - sequence * sources;
  Integer first = sequence * positions;
  float sums[8] = {};
  for (Integer begin = 0; begin < positions; begin += 128) {
    Integer at = begin + threadIdx.x;
    int mine = at < positions ? rows[first + at] : -1;
    if (mine >= sources)
      report(fault, Fault::PlacedRow);
    unsigned lanes = __ballot_sync(0xffffffffu, mine == wanted);
    __syncthreads(); // What was found before has been read.
    if (threadIdx.x % 32 == 0)
      found[threadIdx.x / 32] = lanes;
    __syncthreads();
    for (int warp = 0; warp < 4; ++warp)
      for (unsigned left = found[warp]; left != 0; left &= left - 1) {
        int lane = __popc((left & (0u - left)) - 1); // The first one's.
        Integer token = first + begin + 32 * warp + lane;
        auto from =
            load<8>(dy + (column < hidden ? token * hidden + column : 0),
                    column < hidden ? hidden - column : 0);
#pragma unroll
        for (int i = 0; i < 8; ++i)
          sums[i] += toFloat(from.at[i]);
      }
  }
  if (column >= hidden)
    return;
  Pack<T, 8> result;
#pragma unroll
  for (int i = 0; i < 8; ++i)
    result.at[i] = fromFloat<T>(sums[i]);
  store(dsource + row * hidden + column, result, hidden - column);
}

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_PLACEDROWS_CUH
