//===- CachedState.cuh - State-space layers of texts on the GPU -*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// cachedConv and cachedScan of kernels/reference/StateSpace.h on the GPU. A
/// thread or a warp has a row of the cache, and looks among the tokens for those
/// of its row, which it takes in one after another; what they leave is in
/// registers between them. Row 0 has the padding, too, and whatever is of no
/// row, which it reports. A token has the bits that StateSpace.cuh gives it
/// within its whole sequence.
///
///   cachedConv   256 threads, rows, blocks(channels, 256)
///   cachedScan   128 threads, rows * heads, blocks(width, 4)
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_CACHEDSTATE_CUH
#define HOCKET_KERNELS_CUDA_CACHEDSTATE_CUH

#include "kernels/cuda/StateSpace.cuh"

namespace hocket::cuda {

/// The tokens of a call as the owner of one row of a cache sees them.
struct RowTokens {
  const int *positions, *rows;
  int row, rowCount;
  int last = -1; ///< The position of the row's token before; -1 if none.

  HOCKET_MEMBER RowTokens(const int *positions, const int *rows, Integer row,
                          Integer rowCount)
      : positions(positions), rows(rows), row(static_cast<int>(row)),
        rowCount(static_cast<int>(rowCount)) {}

  HOCKET_MEMBER bool isOwn(Integer token) const { return rows[token] == row; }
  /// Whether the row must see to what such a token gives, which is 0.
  HOCKET_MEMBER bool isStray(Integer token) const {
    return row == 0 && (rows[token] < 0 || rows[token] >= rowCount);
  }
  /// Of an own token: whether it is where it may be. Reports if it is not.
  HOCKET_MEMBER bool follows(Integer token, unsigned *fault) const {
    int position = positions[token];
    bool follows = position >= 0 && (last < 0 || position - 1 == last);
    if (!follows)
      report(fault, Fault::StatePlace);
    return follows;
  }
};

/// `kept[i]` is the input i + 1 tokens before the one that comes next.
///
/// Budget: 48 registers; an iteration: 145 instructions, 8 loads, 2 stores.
template <class T, int Taps, bool Bias>
HOCKET_DEVICE void cachedConv(const T *x, const T *w, const T *bias,
                              const int *positions, const int *rows,
                              const T *before, T *cache, T *y, Integer tokens,
                              Integer channels, unsigned *fault) {
  constexpr int Kept = Taps - 1;
  RowTokens own(positions, rows, blockIdx.x, gridDim.x);
  Integer c = Integer(blockIdx.y) * 256 + threadIdx.x;
  if (before != cache)
    report(fault, Fault::CacheCopy);
  if (c >= channels)
    return;
  T *entries = cache + Integer(blockIdx.x) * Kept * channels + c;
  T kept[Kept];
  float weights[Taps], constant = Bias ? toFloat(bias[c]) : 0.0f;
#pragma unroll
  for (int back = 0; back < Taps; ++back)
    weights[back] = toFloat(w[c * Taps + Taps - 1 - back]);
  for (Integer t = 0; t < tokens; ++t) {
    if (own.isStray(t)) {
      y[t * channels + c] = fromFloat<T>(0.0f);
      if (rows[t] != -1)
        report(fault, Fault::StatePlace);
    }
    if (!own.isOwn(t) || !own.follows(t, fault))
      continue;
    int position = positions[t];
    if (own.last < 0) {
#pragma unroll
      for (int i = 0; i < Kept; ++i)
        if (i < position)
          kept[i] = entries[(position - 1 - i) % Kept * channels];
    }
    own.last = position;
    T input = x[t * channels + c];
    float sum = constant;
    sum += weights[0] * toFloat(input);
#pragma unroll
    for (int back = 1; back < Taps; ++back)
      if (back <= position)
        sum += weights[back] * toFloat(kept[back - 1]);
    y[t * channels + c] = fromFloat<T>(sum);
#pragma unroll
    for (int i = Kept - 1; i > 0; --i)
      kept[i] = kept[i - 1];
    kept[0] = input;
  }
#pragma unroll
  for (int i = 0; i < Kept; ++i)
    if (i <= own.last)
      entries[(own.last - i) % Kept * channels] = kept[i];
}

/// Budget: 48 registers; an iteration: 255 instructions, 18 loads, 2 stores.
template <class T, int Lanes>
HOCKET_DEVICE void
cachedScan(const T *x, const T *step, const T *inMap, const T *outMap,
           const float *decay, const float *stepBias, const float *skip,
           const int *positions, const int *rows, const float *before,
           float *states, T *y, Integer tokens, Integer heads, Integer width,
           Integer groups, Integer state, float least, float most,
           unsigned *fault) {
  Integer row = quotient(blockIdx.x, heads), head = blockIdx.x - row * heads;
  ScanHead at({tokens, heads, width, groups, state}, head);
  Integer p = Integer(blockIdx.y) * 4 + threadIdx.x / 32;
  RowTokens own(positions, rows, row, quotient(gridDim.x, heads));
  if (before != states)
    report(fault, Fault::CacheCopy);
  if (p >= width)
    return;
  float *kept = states + (blockIdx.x * width + p) * state;
  float rate = -expf(decay[head]), bias = stepBias[head];
  float direct = skip[head], h[Lanes] = {};
  for (Integer t = 0; t < tokens; ++t) {
    if (own.isStray(t)) {
      if (threadIdx.x % 32 == 0)
        y[at.step(t) * width + p] = fromFloat<T>(0.0f);
      if (rows[t] != -1)
        report(fault, Fault::StatePlace);
    }
    if (!own.isOwn(t) || !own.follows(t, fault))
      continue;
    if (own.last < 0 && positions[t] > 0)
      loadLane(kept, state, h);
    own.last = positions[t];
    float result = scanToken(x, step, inMap, outMap, at, t, p, rate, bias,
                             direct, least, most, h);
    if (threadIdx.x % 32 == 0)
      y[at.step(t) * width + p] = fromFloat<T>(result);
  }
#pragma unroll
  for (int i = 0; own.last >= 0 && i < Lanes; ++i) {
    Integer n = i * 32 + threadIdx.x % 32;
    if (n < state)
      kept[n] = h[i];
  }
}

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_CACHEDSTATE_CUH
