//===- QuantizeBlocks.cuh - 8 bits with a scale a block ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The ops of kernels/reference/QuantizeBlocks.h, with the same bits, on
/// tensors [outer, rows, columns] of T and codes of C (e4m3 or e5m2). Blocks of
/// one row take a warp each, blocks of one column a thread each (neighbours
/// read neighbouring columns), others 256 threads. Magnitudes are compared as
/// bits: those of NaN are above infinity's.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_QUANTIZEBLOCKS_CUH
#define HOCKET_KERNELS_CUDA_QUANTIZEBLOCKS_CUH

#include "kernels/cuda/Device.cuh"

namespace hocket::cuda {

HOCKET_DEVICE unsigned magnitudeOf(float x) {
  return __float_as_uint(x) & 0x7fffffffu;
}
HOCKET_DEVICE unsigned greater(unsigned a, unsigned b) { return a < b ? b : a; }

/// The scale of a block from the bits of its largest magnitude
/// (blockScaleBits in the reference), and what divides by it.
template <class C> HOCKET_DEVICE unsigned blockScale(unsigned magnitude) {
  constexpr unsigned exponent = C::mantissa == 3 ? 8 : 15;
  if (magnitude >= 0x7f800000u)
    return 0x7fc00000u;
  unsigned power = (magnitude + 0x1fffffu) >> 23;
  return (power > exponent ? power - exponent : 1u) << 23;
}
HOCKET_DEVICE float inverseScale(unsigned scale) {
  return __uint_as_float(scale >= 0x7f800000u ? scale : (254u << 23) - scale);
}

/// Blocks of 1 x Columns: 8 warps a block of threads, a warp each.
///
/// Budget of 128: 32 registers; a thread of 4 elements: 20 instructions an
/// element, 1 load, 2 stores.
/// Over: 88 instructions, 5 loads, 6 stores: whether an address is a multiple
/// of 8 bytes is tested as the kernel runs, and an access an element stands
/// beside each; places are divided in 64 bits. Budget of 32: 32 registers; a
/// thread of 1 elements: 60 instructions an element, 1 load, 2 stores. Over:
/// 246 instructions, 2 loads: a thread has one element for all of its places,
/// which are divided in 64 bits.
template <class T, class C, int Columns>
HOCKET_DEVICE void quantizeRows(const T *x, C *codes, float *scales,
                                Integer rows, Integer columns) {
  constexpr int each = (Columns + 31) / 32;
  Integer across = (columns + Columns - 1) / Columns;
  Integer block = Integer(blockIdx.x) * 8 + threadIdx.x / 32;
  if (block >= rows * across)
    return;
  int lane = threadIdx.x % 32;
  Integer row = quotient(block, across);
  Integer first = (block - row * across) * Columns, own = first + lane * each;
  Integer end = first + Columns < columns ? first + Columns : columns;
  Integer at = row * columns + (own < end ? own : first);
  auto read = load<each>(x + at, end - own);
  unsigned greatest = 0;
#pragma unroll
  for (int i = 0; i < each; ++i)
    greatest = greater(greatest, magnitudeOf(toFloat(read.at[i])));
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    greatest =
        greater(greatest, __shfl_xor_sync(0xffffffffu, greatest, distance));
  unsigned scale = blockScale<C>(greatest);
  float inverse = inverseScale(scale);
  Pack<C, each> made;
#pragma unroll
  for (int i = 0; i < each; ++i)
    made.at[i] = fromFloat<C>(toFloat(read.at[i]) * inverse);
  if (own < end)
    store(codes + at, made, end - own);
  if (lane == 0)
    scales[block] = __uint_as_float(scale);
}

/// Blocks of Rows x 1: a thread each.
///
/// Budget: 44 registers; an iteration of 4 elements: 28 instructions an
/// element, 16 loads, 4 stores.
template <class T, class C, int Rows>
HOCKET_DEVICE void quantizeColumns(const T *x, C *codes, float *scales,
                                   Integer outer, Integer rows,
                                   Integer columns) {
  Integer block = Integer(blockIdx.x) * 256 + threadIdx.x;
  Integer down = (rows + Rows - 1) / Rows;
  if (block >= outer * down * columns)
    return;
  Integer band = quotient(block, columns), column = block - band * columns;
  Integer whole = quotient(band, down), first = (band - whole * down) * Rows;
  Integer end = first + Rows < rows ? first + Rows : rows;
  Integer base = whole * rows * columns + column;
  unsigned greatest = 0;
  for (Integer row = first; row < end; ++row)
    greatest = greater(greatest, magnitudeOf(toFloat(x[base + row * columns])));
  unsigned scale = blockScale<C>(greatest);
  float inverse = inverseScale(scale);
  for (Integer row = first; row < end; ++row)
    codes[base + row * columns] =
        fromFloat<C>(toFloat(x[base + row * columns]) * inverse);
  scales[block] = __uint_as_float(scale);
}

/// Blocks of Rows x Columns: 256 threads each.
///
/// Budget: 48 registers; an iteration of 4 elements: 20 instructions an
/// element, 4 loads, 4 stores. Over: 38 instructions: the ends of rows and
/// columns are tested an element.
template <class T, class C, int Rows, int Columns>
HOCKET_DEVICE void quantizeTiles(const T *x, C *codes, float *scales,
                                 Integer rows, Integer columns) {
  __shared__ unsigned found[8];
  Integer across = (columns + Columns - 1) / Columns;
  Integer down = (rows + Rows - 1) / Rows;
  Integer band = quotient(blockIdx.x, across);
  Integer firstColumn = (Integer(blockIdx.x) - band * across) * Columns;
  Integer whole = quotient(band, down);
  Integer firstRow = (band - whole * down) * Rows;
  Integer base = (whole * rows + firstRow) * columns + firstColumn;
  unsigned greatest = 0;
  for (int i = threadIdx.x; i < Rows * Columns; i += 256)
    if (firstRow + i / Columns < rows && firstColumn + i % Columns < columns)
      greatest = greater(
          greatest,
          magnitudeOf(toFloat(x[base + i / Columns * columns + i % Columns])));
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    greatest =
        greater(greatest, __shfl_xor_sync(0xffffffffu, greatest, distance));
  if (threadIdx.x % 32 == 0)
    found[threadIdx.x / 32] = greatest;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 8; ++i)
    greatest = greater(greatest, found[i]);
  unsigned scale = blockScale<C>(greatest);
  float inverse = inverseScale(scale);
  for (int i = threadIdx.x; i < Rows * Columns; i += 256)
    if (firstRow + i / Columns < rows && firstColumn + i % Columns < columns) {
      Integer at = base + i / Columns * columns + i % Columns;
      codes[at] = fromFloat<C>(toFloat(x[at]) * inverse);
    }
  if (threadIdx.x == 0)
    scales[blockIdx.x] = __uint_as_float(scale);
}

/// A thread 8 elements of a row, of blocks of any kind.
///
/// Budget: 32 registers; a thread of 8 elements: 16 instructions an element, 3
/// loads, 2 stores.
/// Over: 62 instructions, 19 loads, 9 stores: whether an address is a multiple
/// of 16 bytes is tested as the kernel runs, and an access an element stands
/// beside each; places are divided in 64 bits.
template <class C, class T, int Rows, int Columns>
HOCKET_DEVICE void dequantizeBlocks(const C *codes, const float *scales, T *y,
                                    Integer outer, Integer rows,
                                    Integer columns) {
  constexpr int each = 8;
  Integer vectors = (columns + each - 1) / each;
  Integer at = Integer(blockIdx.x) * 256 + threadIdx.x;
  Integer row = quotient(at, vectors);
  if (row >= outer * rows)
    return;
  Integer column = (at - row * vectors) * each;
  Integer whole = quotient(row, rows);
  Integer down = (rows + Rows - 1) / Rows;
  Integer across = (columns + Columns - 1) / Columns;
  Integer band = whole * down + (row - whole * rows) / Rows;
  const float *own = scales + band * across + column / Columns;
  Pack<float, each> factors;
  if constexpr (Columns == 1) {
    factors = load<each>(own, columns - column);
  } else if constexpr (Columns % each == 0) {
#pragma unroll
    for (int i = 0; i < each; ++i)
      factors.at[i] = *own;
  } else {
#pragma unroll
    for (int i = 0; i < each; ++i)
      factors.at[i] =
          own[column + i < columns ? (column + i) / Columns - column / Columns
                                   : 0];
  }
  auto read = load<each>(codes + row * columns + column, columns - column);
  Pack<T, each> made;
#pragma unroll
  for (int i = 0; i < each; ++i)
    made.at[i] = fromFloat<T>(toFloat(read.at[i]) * factors.at[i]);
  store(y + row * columns + column, made, columns - column);
}

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_QUANTIZEBLOCKS_CUH
