//===- Random.cuh - Counter-based random numbers on the GPU -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Philox4x32-10 as kernels/reference/Philox.h defines it, with the same bits:
/// the word of an element depends on (seed, stream, step, index) alone.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_RANDOM_CUH
#define HOCKET_KERNELS_CUDA_RANDOM_CUH

#include "kernels/cuda/Device.cuh"

namespace hocket::cuda {

struct RandomKey {
  Integer seed;
  unsigned stream;
  unsigned step;
};

/// The words of the elements 4 * block .. 4 * block + 3.
HOCKET_DEVICE void randomBlock(const RandomKey &key, unsigned long long block,
                               unsigned *words) {
  unsigned c0 = static_cast<unsigned>(block);
  unsigned c1 = static_cast<unsigned>(block >> 32);
  unsigned c2 = key.stream, c3 = key.step;
  unsigned k0 = static_cast<unsigned>(key.seed);
  unsigned k1 = static_cast<unsigned>(key.seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    unsigned n0 = __umulhi(0xCD9E8D57u, c2) ^ c1 ^ k0;
    unsigned n2 = __umulhi(0xD2511F53u, c0) ^ c3 ^ k1;
    c1 = 0xCD9E8D57u * c2, c3 = 0xD2511F53u * c0;
    c0 = n0, c2 = n2;
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  words[0] = c0, words[1] = c1, words[2] = c2, words[3] = c3;
}

/// The words of N elements from `first` on. A block serves four of them where
/// they begin at a multiple of four.
template <int N>
HOCKET_DEVICE void randomWords(const RandomKey &key, unsigned long long first,
                               unsigned *words) {
  if (N % 4 == 0 && first % 4 == 0) {
#pragma unroll
    for (int i = 0; i + 4 <= N; i += 4)
      randomBlock(key, first / 4 + i / 4, words + i);
    return;
  }
#pragma unroll
  for (int i = 0; i < N; ++i) {
    unsigned block[4];
    unsigned long long index = first + i;
    randomBlock(key, index / 4, block);
    unsigned low = index & 1 ? block[1] : block[0];
    unsigned high = index & 1 ? block[3] : block[2];
    words[i] = index & 2 ? high : low;
  }
}

/// The place of row `row` of a dim of `rows` that is stored in parts of `part`
/// (kernels/reference/Positions.h).
template <int Rounds = 1>
HOCKET_DEVICE Integer unfold(Integer row, Integer rows, Integer part) {
  Integer stored = row / part, width = rows / (part * Rounds);
  Integer own = stored % (2 * Rounds), rank = stored / (2 * Rounds);
  Integer round = Rounds > 1 ? own / 2 : 0;
  Integer number = own % 2 != 0 ? width - 1 - rank : rank;
  return (round * width + number) * part + row % part;
}

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_RANDOM_CUH
