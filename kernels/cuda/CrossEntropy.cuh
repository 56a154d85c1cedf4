//===- CrossEntropy.cuh - Softmax cross-entropy on the GPU ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// kernels/reference/CrossEntropy.h on the GPU. Logits are read once, forward
/// and backward, or once for both: a block of 256 threads walks over a row with
/// a running maximum and sum. Accesses are of 16 aligned bytes even where the
/// vocabulary is no multiple of them. What is done for every element decides
/// nothing, and its exponential is one instruction: there are few to spare
/// before they take longer than memory.
///
///   crossEntropyRows      a block a row and part
///   crossEntropyBackward  a block a row
///   crossEntropyJoint     a block of 512 threads a row, which keeps it in
///                         shared memory, or as much as fits
///   countLabels, meanLoss, meanLossOf
///                         up to kLossBlocks; the last adds what all summed
///   logSumExp             a warp a row
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

/// e^x, 0 for what is smaller than normal numbers.
HOCKET_DEVICE float exponential(float x) { return powerOfTwo(x * kLog2e); }

/// A sum of exponentials: e^greatest * sum. Where there is none, `greatest` is
/// the least finite number, so that differences from it are numbers even of
/// -infinity.
struct ExpSum {
  float greatest = __uint_as_float(0xff7fffff), sum = 0;

  template <int N> HOCKET_MEMBER void add(const float (&x)[N]) {
    float most = greatest;
#pragma unroll
    for (int i = 0; i < N; ++i)
      most = maximum(most, x[i]);
    sum *= exponential(greatest - most);
    greatest = most;
#pragma unroll
    for (int i = 0; i < N; ++i)
      sum += exponential(x[i] - most);
  }
  /// log of all threads' sums together, by reductions of what each has.
  template <class Greatest, class Sum>
  HOCKET_MEMBER float logOfAll(Greatest greatestOf, Sum sumOf) const {
    float most = greatestOf(greatest);
    return most + logf(sumOf(sum * exponential(greatest - most)));
  }
};

template <class T, int N>
HOCKET_DEVICE Pack<float, N> floatsOf(const Pack<T, N> &from) {
  Pack<float, N> x;
#pragma unroll
  for (int i = 0; i < N; ++i)
    x.at[i] = toFloat(from.at[i]);
  return x;
}
template <class T> HOCKET_DEVICE auto floatsOf(const T *aligned) {
  return floatsOf(loadAligned<RowVectors<T>::width>(aligned));
}

/// 16 bytes from `past` elements into the first of two neighbouring packs on.
template <class T, int N>
HOCKET_DEVICE Pack<T, N> shifted(const Pack<T, N> &first,
                                 const Pack<T, N> &second, int past) {
  unsigned words[8], bytes = past * sizeof(T);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    words[i] = reinterpret_cast<const unsigned *>(&first)[i];
    words[4 + i] = reinterpret_cast<const unsigned *>(&second)[i];
  }
#pragma unroll
  for (int i = 0; i < 6; ++i)
    words[i] = bytes & 8 ? words[i + 2] : words[i];
#pragma unroll
  for (int i = 0; i < 5; ++i)
    words[i] = bytes & 4 ? words[i + 1] : words[i];
  if constexpr (sizeof(T) == 2)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      words[i] = bytes & 2 ? words[i] >> 16 | words[i + 1] << 16
                              : words[i];
  Pack<T, N> result;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    reinterpret_cast<unsigned *>(&result)[i] = words[i];
  return result;
}

/// Of `count` elements from `row` on, by 256 threads; in each of them. Packs
/// count from the row's first element, so that its address changes no bit.
template <class T>
HOCKET_DEVICE float logSumExpOfRow(const T *row, Integer count,
                                   float *scratch) {
  constexpr int N = RowVectors<T>::width;
  int past = reinterpret_cast<unsigned long long>(row) % 16 / sizeof(T);
  Integer packs = count / N, pack = threadIdx.x;
  ExpSum mine;
  if (past == 0) {
#pragma unroll 2
    for (; pack < packs; pack += 256)
      mine.add(floatsOf(row + pack * N).at);
  } else {
    // The first and the last 16 bytes have elements of other rows, too.
#pragma unroll 1
    for (; pack < packs; pack += 256) {
      const T *from = row - past + pack * N;
      auto whole =
          shifted(loadAligned<N>(from), loadAligned<N>(from + N), past);
      mine.add(floatsOf(whole).at);
    }
  }
  if (pack * N < count) {
    float some[N];
#pragma unroll
    for (int i = 0; i < N; ++i)
      some[i] = pack * N + i < count ? toFloat(row[pack * N + i])
                                     : neutral<Max>();
    mine.add(some);
  }
  return mine.logOfAll(
      [&](float x) { return reduceRow<Max, 256>(x, scratch); },
      [&](float x) { return reduceRow<Add, 256>(x, scratch); });
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// lse[t, p] of the columns below `valid` of each part of `vocab` columns from
/// column `first` of the whole on. picked[t] is the label's logit, where
/// `picked` is not null.
///
/// Budget: 40 registers; an iteration of 32 bytes: 8 instructions an element, 2
/// loads.
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

/// The gradient of a row's logits.
template <class T> struct RowGradient {
  static constexpr int width = RowVectors<T>::width;
  float mean, sum;      ///< of a label that counts; log(sum(exp)) of the row
  Integer last, picked; ///< columns that have a gradient; the label's column

  /// Of those from `column` on.
  HOCKET_MEMBER Pack<T, width> of(Pack<float, width> x, Integer column) const {
#pragma unroll
    for (int i = 0; i < width; ++i)
      x.at[i] = exponential(x.at[i] - sum);
    if (picked >= column && picked < column + width) {
#pragma unroll
      for (int i = 0; i < width; ++i)
        x.at[i] -= column + i == picked ? 1.0f : 0.0f;
    }
    Pack<T, width> gradient;
#pragma unroll
    for (int i = 0; i < width; ++i)
      gradient.at[i] = fromFloat<T>(mean * x.at[i]);
    if (column + width > last) {
#pragma unroll
      for (int i = 0; i < width; ++i)
        if (column + i >= last)
          gradient.at[i] = fromFloat<T>(0.0f);
    }
    return gradient;
  }
  HOCKET_MEMBER T ofOne(float x, Integer column) const {
    float hit = column == picked ? 1.0f : 0.0f;
    float gradient = mean * (exponential(x - sum) - hit);
    return fromFloat<T>(column < last ? gradient : 0.0f);
  }
};

/// dlogits may be logits. `count` is how many labels count.
///
/// Budget: 40 registers; an iteration of 16 bytes: 16 instructions an element,
/// 1 load, 1 store. Over: 42 instructions, 10 stores: whether the result's
/// address is a multiple of 16 bytes is tested as the kernel runs.
template <class T>
HOCKET_DEVICE void crossEntropyBackward(const T *logits, const int *labels,
                                        const float *lse, const float *dloss,
                                        const float *count, T *dlogits,
                                        Integer vocab, Integer valid,
                                        Integer first, unsigned *fault) {
  Integer token = blockIdx.x;
  int label = labels[token];
  if (threadIdx.x == 0)
    checkLabel(label, valid, fault);
  const T *row = logits + token * vocab;
  T *to = dlogits + token * vocab;
  RowGradient<T> gradient{*count > 0 ? *dloss / *count : 0.0f, lse[token],
                          label < 0 ? 0 : valid - first, label - first};
  RowVectors<T> vectors(row, vocab);
  for (Integer pack = threadIdx.x; pack < vectors.packs; pack += 256) {
    Integer column = vectors.column(pack);
    store(to + column, gradient.of(floatsOf(row + column), column));
  }
  if (threadIdx.x >= static_cast<unsigned>(vectors.singles()))
    return;
  Integer column = vectors.single(threadIdx.x);
  to[column] = gradient.ofOne(toFloat(row[column]), column);
}

/// crossEntropyRows of one part and crossEntropyBackward of whole rows: lse[t],
/// picked[t] and the gradient, which may take the logits' place. The first
/// `kept` packs of a row wait in shared memory for the second walk, which goes
/// back, so that what is read again was read last.
///
/// Budget: 40 registers; an iteration of 16 bytes: 16 instructions an element,
/// 1 load, 1 store, 1 shared. Over: 26 instructions, 9 stores: whether the
/// result's address is a multiple of 16 bytes is tested as the kernel runs.
template <class T>
HOCKET_DEVICE void crossEntropyJoint(const T *logits, const int *labels,
                                     const float *dloss, const float *count,
                                     float *lse, float *picked, T *dlogits,
                                     Integer vocab, Integer valid, Integer kept,
                                     unsigned *fault, float *shared) {
  constexpr int N = RowVectors<T>::width, step = kJointThreads;
  __shared__ float scratch[step / 32];
  auto staged = reinterpret_cast<Pack<T, N> *>(shared);
  Integer token = blockIdx.x;
  int label = labels[token], thread = threadIdx.x;
  const T *row = logits + token * vocab;
  T *to = dlogits + token * vocab;
  RowVectors<T> vectors(row, vocab);
  auto stage = [&](Integer pack) {
    auto from = loadAligned<N>(row + vectors.column(pack));
    if (pack < kept)
      staged[pack] = from;
    return floatsOf(from);
  };
  // Packs of valid columns alone, then those that have padding.
  Integer whole = valid < vectors.before ? 0 : (valid - vectors.before) / N;
  ExpSum mine;
#pragma unroll 2
  for (Integer pack = thread; pack < whole; pack += step)
    mine.add(stage(pack).at);
#pragma unroll 1
  for (Integer pack = whole + thread; pack < vectors.packs; pack += step) {
    auto x = stage(pack);
#pragma unroll
    for (int i = 0; i < N; ++i)
      if (vectors.column(pack) + i >= valid)
        x.at[i] = neutral<Max>();
    mine.add(x.at);
  }
  bool hasSingle = thread < vectors.singles();
  Integer single = hasSingle ? vectors.single(thread) : 0;
  if (hasSingle && single < valid) {
    float one[1] = {toFloat(row[single])};
    mine.add(one);
  }
  // Before any thread writes the gradient, which reductions keep waiting.
  float hit = label >= 0 && label < vocab ? toFloat(row[label]) : 0.0f;
  float sum =
      mine.logOfAll([&](float x) { return reduceRow<Max, step>(x, scratch); },
                    [&](float x) { return reduceRow<Add, step>(x, scratch); });
  if (thread == 0) {
    checkLabel(label, valid, fault);
    lse[token] = sum;
    picked[token] = hit;
  }
  RowGradient<T> gradient{*count > 0 ? *dloss / *count : 0.0f, sum,
                          label < 0 ? 0 : valid, label};
  Integer iterations = (vectors.packs - thread + step - 1) / step;
  for (Integer iteration = iterations - 1; iteration >= 0; --iteration) {
    Integer pack = thread + iteration * step, column = vectors.column(pack);
    auto from = pack < kept ? staged[pack] : loadAligned<N>(row + column);
    store(to + column, gradient.of(floatsOf(from), column));
  }
  if (hasSingle)
    to[single] = gradient.ofOne(toFloat(row[single]), single);
}

//===----------------------------------------------------------------------===//
// Over tokens
//===----------------------------------------------------------------------===//

/// Makes each of the N numbers of a thread the sum of all threads', in order.
/// True in the block that has them, in all of its threads.
template <int N> HOCKET_DEVICE bool sumBlocks(double (&x)[N]) {
  static __device__ double partials[kLossBlocks][N];
  static __device__ unsigned arrived;
  __shared__ double scratch[kLossThreads];
#pragma unroll
  for (int i = 0; i < N; ++i) {
    x[i] = sumBlock<kLossThreads>(x[i], scratch);
    if (threadIdx.x == 0)
      partials[blockIdx.x][i] = x[i];
  }
  if (!isLast(arrived, gridDim.x))
    return false;
  bool isPartial = threadIdx.x < gridDim.x;
#pragma unroll
  for (int i = 0; i < N; ++i)
    x[i] = sumBlock<kLossThreads>(isPartial ? partials[threadIdx.x][i] : 0.0,
                                  scratch);
  return true;
}

/// Calls `visit` with this thread's tokens.
template <class Visit>
HOCKET_DEVICE void visitTokens(Integer tokens, Visit visit) {
  for (Integer t = Integer(blockIdx.x) * kLossThreads + threadIdx.x; t < tokens;
       t += Integer(gridDim.x) * kLossThreads)
    visit(t);
}

/// Budget: 32 registers; an iteration: 40 instructions, 4 loads.
HOCKET_DEVICE void countLabels(const int *labels, float *count,
                               Integer tokens) {
  double sums[1] = {0};
  visitTokens(tokens, [&](Integer t) { sums[0] += labels[t] >= 0; });
  if (sumBlocks(sums) && threadIdx.x == 0)
    *count = static_cast<float>(sums[0]);
}

HOCKET_DEVICE float meanOf(double sum, double count) {
  return count > 0 ? static_cast<float>(sum / count) : 0.0f;
}

/// Budget: 32 registers; an iteration: 95 instructions, 12 loads.
HOCKET_DEVICE void meanLoss(const float *lse, const float *picked,
                            const int *labels, const float *count, float *loss,
                            Integer tokens) {
  double sums[1] = {0};
  visitTokens(tokens, [&](Integer t) {
    if (labels[t] >= 0)
      sums[0] += static_cast<double>(lse[t]) - picked[t];
  });
  if (sumBlocks(sums) && threadIdx.x == 0)
    *loss = meanOf(sums[0], *count);
}

/// Of logits themselves, over the labels that count. Labels from `valid` on
/// have been reported.
/// Budget: 32 registers; an iteration: 140 instructions, 12 loads.
template <class T>
HOCKET_DEVICE void meanLossOf(const T *logits, const int *labels,
                              const float *lse, float *loss, Integer tokens,
                              Integer vocab, Integer valid) {
  double sums[2] = {0, 0};
  visitTokens(tokens, [&](Integer t) {
    int label = labels[t];
    sums[1] += label >= 0;
    if (label >= 0 && label < valid)
      sums[0] +=
          static_cast<double>(lse[t]) - toFloat(logits[t * vocab + label]);
  });
  if (sumBlocks(sums) && threadIdx.x == 0)
    *loss = meanOf(sums[0], sums[1]);
}

/// y[t] of x[t, n], a warp a row: 256 threads.
///
/// Budget: 32 registers; an iteration: 170 instructions, 16 loads.
HOCKET_DEVICE void logSumExp(const float *x, float *y, Integer rows,
                             Integer width) {
  Integer row = Integer(blockIdx.x) * 8 + threadIdx.x / 32;
  if (row >= rows)
    return;
  ExpSum mine;
  for (Integer i = threadIdx.x % 32; i < width; i += 32) {
    float one[1] = {x[row * width + i]};
    mine.add(one);
  }
  float log = mine.logOfAll([](float x) { return reduceWarp<Max>(x); },
                            [](float x) { return reduceWarp<Add>(x); });
  if (threadIdx.x % 32 == 0)
    y[row] = log;
}

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_CROSSENTROPY_CUH
