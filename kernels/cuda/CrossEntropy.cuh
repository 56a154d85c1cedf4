//===- CrossEntropy.cuh - Softmax cross-entropy on the GPU ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// kernels/reference/CrossEntropy.h on the GPU. Logits are read once, forward
/// and backward: a block of 256 threads walks over a row with a running
/// maximum and sum. Accesses are of 16 aligned bytes even where the vocabulary
/// is no multiple of them.
///
///   crossEntropyRows      a block a row and part
///   crossEntropyBackward  a block a row
///   countLabels, meanLoss, meanLossOf, logSumExp
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_CROSSENTROPY_CUH
#define HOCKET_KERNELS_CUDA_CROSSENTROPY_CUH

#include "kernels/cuda/Device.cuh"

namespace hocket::cuda {

HOCKET_DEVICE void checkLabel(int label, Integer valid, unsigned *fault) {
  if (label < -1 || label >= valid)
    report(fault, Fault::Label);
}

//===----------------------------------------------------------------------===//
// log(sum(exp)) of a row
//===----------------------------------------------------------------------===//

/// A sum of exponentials: exp(greatest) * sum.
struct ExpSum {
  float greatest = neutral<Max>(), sum = 0;

  /// Adds the first `count` of x.
  template <int N>
  HOCKET_MEMBER void add(const float (&x)[N], int begin, int end) {
    float most = greatest;
#pragma unroll
    for (int i = 0; i < N; ++i)
      if (i >= begin && i < end)
        most = maximum(most, x[i]);
    if (most == neutral<Max>())
      return;
    sum *= expf(greatest - most);
    greatest = most;
#pragma unroll
    for (int i = 0; i < N; ++i)
      if (i >= begin && i < end)
        sum += expf(x[i] - most);
  }
};

HOCKET_DEVICE int clampTo(Integer x, int most) {
  return x < 0 ? 0 : x < most ? static_cast<int>(x) : most;
}

/// Of `count` elements from `row` on, by 256 threads; in each of them.
template <class T>
HOCKET_DEVICE float logSumExpOfRow(const T *row, Integer count,
                                   float *scratch) {
  constexpr int N = 16 / sizeof(T);
  ExpSum mine;
  for (Integer column = Integer(threadIdx.x) * N - elementsBefore(row);
       column < count; column += 256 * N) {
    auto from = loadWithin<N>(row, column, count);
    float x[N];
#pragma unroll
    for (int i = 0; i < N; ++i)
      x[i] = toFloat(from.at[i]);
    mine.add(x, clampTo(-column, N), clampTo(count - column, N));
  }
  float greatest = reduceRow<Max, 256>(mine.greatest, scratch);
  float share =
      mine.sum > 0 ? mine.sum * expf(mine.greatest - greatest) : mine.sum;
  float sum = reduceRow<Add, 256>(share, scratch);
  return greatest == neutral<Max>() ? greatest : greatest + logf(sum);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// lse[t, p] of the columns below `valid` of each part of `vocab` columns from
/// column `first` of the whole on. picked[t] is the label's logit, where
/// `picked` is not null.
template <class T>
HOCKET_DEVICE void crossEntropyRows(const T *logits, const int *labels,
                                    float *lse, float *picked, Integer vocab,
                                    Integer valid, Integer parts, Integer first,
                                    unsigned *fault) {
  __shared__ float scratch[8];
  Integer token = quotient(blockIdx.x, parts);
  Integer part = blockIdx.x - token * parts;
  Integer width = (vocab + parts - 1) / parts;
  Integer last = valid - first < vocab ? valid - first : vocab;
  Integer begin = part * width < last ? part * width : last;
  Integer end = begin + width < last ? begin + width : last;
  const T *row = logits + token * vocab;
  float sum = end > begin ? logSumExpOfRow(row + begin, end - begin, scratch)
                          : neutral<Max>();
  if (threadIdx.x != 0)
    return;
  lse[blockIdx.x] = sum;
  if (part != 0)
    return;
  int label = labels[token];
  checkLabel(label, valid, fault);
  Integer column = label - first;
  bool isHere = label >= 0 && column >= 0 && column < vocab;
  if (picked)
    picked[token] = isHere ? toFloat(row[column]) : 0.0f;
}

/// dlogits may be logits. `count` is how many labels count.
template <class T>
HOCKET_DEVICE void crossEntropyBackward(const T *logits, const int *labels,
                                        const float *lse, const float *dloss,
                                        const float *count, T *dlogits,
                                        Integer vocab, Integer valid,
                                        Integer first, unsigned *fault) {
  constexpr int N = 16 / sizeof(T);
  Integer token = blockIdx.x;
  int label = labels[token];
  if (threadIdx.x == 0)
    checkLabel(label, valid, fault);
  const T *row = logits + token * vocab;
  T *to = dlogits + token * vocab;
  float mean = *count > 0 ? *dloss / *count : 0.0f, sum = lse[token];
  Integer last = label < 0 ? 0 : valid - first, column = label - first;
  for (Integer start = Integer(threadIdx.x) * N - elementsBefore(row);
       start < vocab; start += 256 * N) {
    auto x = loadWithin<N>(row, start, vocab);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      float hit = start + i == column ? 1.0f : 0.0f;
      float gradient = mean * (expf(toFloat(x.at[i]) - sum) - hit);
      x.at[i] = fromFloat<T>(start + i < last ? gradient : 0.0f);
    }
    storeWithin(to, start, vocab, x);
  }
}

//===----------------------------------------------------------------------===//
// Over tokens, by one block
//===----------------------------------------------------------------------===//

/// In each thread.
HOCKET_DEVICE float labelsThatCount(const int *labels, Integer tokens) {
  __shared__ int scratch[kLossThreads];
  int count = 0;
  for (Integer t = threadIdx.x; t < tokens; t += kLossThreads)
    count += labels[t] >= 0;
  return static_cast<float>(sumBlock<kLossThreads>(count, scratch));
}

HOCKET_DEVICE void countLabels(const int *labels, float *count,
                               Integer tokens) {
  float sum = labelsThatCount(labels, tokens);
  if (threadIdx.x == 0)
    *count = sum;
}

/// picked(t, label) is the label's logit. Labels from `valid` on have been
/// reported.
template <class Picked>
HOCKET_DEVICE void lossOf(const float *lse, Picked picked, const int *labels,
                          Integer valid, float count, float *loss,
                          Integer tokens) {
  __shared__ double scratch[kLossThreads];
  double sum = 0;
  for (Integer t = threadIdx.x; t < tokens; t += kLossThreads)
    if (labels[t] >= 0 && labels[t] < valid)
      sum += static_cast<double>(lse[t]) - picked(t, labels[t]);
  sum = sumBlock<kLossThreads>(sum, scratch);
  if (threadIdx.x == 0)
    *loss = count > 0 ? static_cast<float>(sum / count) : 0.0f;
}

HOCKET_DEVICE void meanLoss(const float *lse, const float *picked,
                            const int *labels, const float *count, float *loss,
                            Integer tokens) {
  auto ofToken = [&](Integer t, int) { return picked[t]; };
  lossOf(lse, ofToken, labels, 0x80000000ll, *count, loss, tokens);
}

/// Of logits themselves, over the labels that count.
template <class T>
HOCKET_DEVICE void meanLossOf(const T *logits, const int *labels,
                              const float *lse, float *loss, Integer tokens,
                              Integer vocab, Integer valid) {
  auto ofToken = [&](Integer t, int label) {
    return toFloat(logits[t * vocab + label]);
  };
  float count = labelsThatCount(labels, tokens);
  lossOf(lse, ofToken, labels, valid, count, loss, tokens);
}

/// y[t] of x[t, n], a warp a row: 256 threads.
HOCKET_DEVICE void logSumExp(const float *x, float *y, Integer rows,
                             Integer width) {
  Integer row = Integer(blockIdx.x) * 8 + threadIdx.x / 32;
  if (row >= rows)
    return;
  ExpSum mine;
  for (Integer i = threadIdx.x % 32; i < width; i += 32) {
    float one[1] = {x[row * width + i]};
    mine.add(one, 0, 1);
  }
  float greatest = reduceWarp<Max>(mine.greatest);
  float share =
      mine.sum > 0 ? mine.sum * expf(mine.greatest - greatest) : mine.sum;
  float sum = reduceWarp<Add>(share);
  if (threadIdx.x % 32 == 0)
    y[row] = greatest == neutral<Max>() ? greatest : greatest + logf(sum);
}

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_CROSSENTROPY_CUH
