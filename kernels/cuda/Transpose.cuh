//===- Transpose.cuh - Matrices of one-byte elements ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// y[n, m] = x[m, n]' of bytes, which GEMMs of 8-bit numbers want (a GPU
/// multiplies them only where both factors' inner dimension runs fastest). A
/// block of 256 threads has a tile of 128 x 128.
///
/// A thread reads 16 bytes of each of four rows and turns their four blocks of
/// 4 x 4 bytes in registers; a word has four rows of one column then. Words
/// change places in shared memory, and 16 bytes of a result's row are stored at
/// a time. Word w of a column c has place w ^ 4 (c / 16) there, so that the 32
/// words that a warp stores at once, of eight columns 16 apart and four rows
/// each, are in 32 banks, and four that are loaded together stay together.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_TRANSPOSE_CUH
#define HOCKET_KERNELS_CUDA_TRANSPOSE_CUH

#include "kernels/cuda/Device.cuh"

namespace hocket::cuda {

using Byte = unsigned char;

/// Word i of the result is byte i of the words of `rows`, the first lowest.
HOCKET_DEVICE void turnBytes(const unsigned (&rows)[4],
                             unsigned (&columns)[4]) {
  // 0x5140: bytes 0 of both words, then bytes 1; 0x7362: 2 and 3.
  unsigned upperLow = __byte_perm(rows[0], rows[1], 0x5140);
  unsigned upperHigh = __byte_perm(rows[0], rows[1], 0x7362);
  unsigned lowerLow = __byte_perm(rows[2], rows[3], 0x5140);
  unsigned lowerHigh = __byte_perm(rows[2], rows[3], 0x7362);
  // 0x5410: the lower halves of both words; 0x7632: the upper ones.
  columns[0] = __byte_perm(upperLow, lowerLow, 0x5410);
  columns[1] = __byte_perm(upperLow, lowerLow, 0x7632);
  columns[2] = __byte_perm(upperHigh, lowerHigh, 0x5410);
  columns[3] = __byte_perm(upperHigh, lowerHigh, 0x7632);
}

/// Budget: 80 registers; a thread of 64 elements: 8 instructions an element, 4
/// loads, 4 stores, 20 shared.
/// Over: 18 instructions, 68 loads, 68 stores: whether an address is a multiple
/// of 16 bytes is tested as the kernel runs, and an access an element stands
/// beside each.
HOCKET_DEVICE void transpose(const Byte *x, Byte *y, Integer rows,
                             Integer columns) {
  constexpr int side = kTransposeSide, words = side / 4;
  using Four = Pack<unsigned, 4>;
  __shared__ Four tile[side * words / 4];
  Integer across = (columns + side - 1) / side;
  Integer down = quotient(blockIdx.x, across);
  Integer firstRow = down * side;
  Integer firstColumn = (Integer(blockIdx.x) - down * across) * side;
  int group = threadIdx.x / 8, lane = threadIdx.x % 8;

  Pack<Byte, 16> read[4];
  Integer column = firstColumn + 16 * lane;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    Integer row = firstRow + 4 * group + j;
    bool exists = row < rows && column < columns;
    read[j] = load<16>(x + (exists ? row * columns + column : 0),
                       exists ? columns - column : 0);
  }
  auto at = reinterpret_cast<unsigned *>(tile) + (group ^ 4 * lane);
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    unsigned turned[4], of[4];
#pragma unroll
    for (int j = 0; j < 4; ++j)
      of[j] = reinterpret_cast<const unsigned *>(&read[j])[w];
    turnBytes(of, turned);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      at[(16 * lane + 4 * w + i) * words] = turned[i];
  }
  __syncthreads();
#pragma unroll
  for (int s = 0; s < 4; ++s) {
    int own = s * (side / 4) + group;
    Integer row = firstRow + 16 * lane;
    if (firstColumn + own >= columns || row >= rows)
      continue;
    Four four = tile[own * (words / 4) + (lane ^ own / 16)];
    store(y + (firstColumn + own) * rows + row,
          *reinterpret_cast<const Pack<Byte, 16> *>(&four), rows - row);
  }
}

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_TRANSPOSE_CUH
