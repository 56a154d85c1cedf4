//===- GlobalNorm.cuh - Euclidean norm of many tensors on the GPU *- C++ -*-==//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// kernels/reference/GlobalNorm.h on the GPU: every tensor is cut into chunks,
/// a block sums the squares of one in double, and one block adds those sums in
/// a fixed order. The square of a finite number is far below the largest
/// double, so the sum is finite iff every element is.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_GLOBALNORM_CUH
#define HOCKET_KERNELS_CUDA_GLOBALNORM_CUH

#include "kernels/cuda/Device.cuh"

namespace hocket::cuda {

template <class T> struct NormTensor {
  const T *at;
  Integer count;
};

/// 256 threads, a block a chunk, counted over all tensors.
///
/// Budget: 32 registers; an iteration of 16 elements: 4 instructions an
/// element, 4 loads. Over: 10 instructions, 20 loads: whether an address is a
/// multiple of 16 bytes is tested as the kernel runs, and an access an element
/// stands beside each.
template <class T, int N>
HOCKET_DEVICE void sumOfSquares(const NormTensor<T> (&tensors)[N],
                                double *sums) {
  __shared__ double scratch[256];
  constexpr int width = 16 / sizeof(T);
  Integer chunk = blockIdx.x, start = 0;
  const T *from = nullptr;
  Integer count = 0;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    Integer chunks = (tensors[i].count + kNormChunk - 1) / kNormChunk;
    if (chunk >= start && chunk < start + chunks) {
      from = tensors[i].at + (chunk - start) * kNormChunk;
      count = tensors[i].count - (chunk - start) * kNormChunk;
    }
    start += chunks;
  }
  count = count < kNormChunk ? count : kNormChunk;
  double sum = 0;
#pragma unroll 4
  for (Integer at = threadIdx.x * width; at < count; at += 256 * width) {
    auto x = load<width>(from + at, count - at);
#pragma unroll
    for (int i = 0; i < width; ++i) {
      auto wide = static_cast<double>(toFloat(x.at[i]));
      sum += wide * wide;
    }
  }
  sum = sumBlock<256>(sum, scratch);
  if (threadIdx.x == 0)
    sums[chunk] = sum;
}

/// 1024 threads, one block.
///
/// Budget: 32 registers; an iteration: 50 instructions, 16 loads.
HOCKET_DEVICE void normOfSums(const double *sums, Integer count, float *norm,
                              float *nonfinite) {
  __shared__ double scratch[1024];
  double sum = 0;
  for (Integer i = threadIdx.x; i < count; i += 1024)
    sum += sums[i];
  sum = sumBlock<1024>(sum, scratch);
  if (threadIdx.x != 0)
    return;
  *norm = static_cast<float>(sqrt(sum));
  // No number that is not finite is 0 times itself.
  *nonfinite = sum * 0 == 0 ? 0.0f : 1.0f;
}

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_GLOBALNORM_CUH
