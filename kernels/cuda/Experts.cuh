//===- Experts.cuh - Tokens to experts and back, on the GPU -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The order of kernels/reference/Experts.h, its rows and their weights.
///
/// Choices are ordered as by a stable sort. They are cut into chunks, a warp
/// each, none across a run (with a capacity: a sequence), whose choices are
/// counted apart:
///
///   countChoices   counts[chunk, e]                         128 threads
///   orderExperts   counts become what is before the chunk in its run, and
///                  ranges are written                       a block a run
///   placeChoices   slots, in order                          128 threads
///
/// Rows are gathered: findSources writes which slot each row is for, so that
/// a row is written once, and nothing is added in an order that may change.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_EXPERTS_CUH
#define HOCKET_KERNELS_CUDA_EXPERTS_CUH

#include "kernels/cuda/Device.cuh"

namespace hocket::cuda {

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

/// A block of 1024 threads for each sequence of `choices`.
///
/// Budget: 32 registers; an iteration: 410 instructions, 7 loads, 1 store, 32
/// shared.
HOCKET_DEVICE void expertCounts(const int *chosen, float *counts,
                                Integer choices, Integer experts,
                                unsigned *fault) {
  constexpr int most = 8192;
  __shared__ int ofExpert[most];
  chosen += blockIdx.x * choices, counts += blockIdx.x * experts;
  for (Integer first = 0; first < experts; first += most) {
    for (int i = threadIdx.x; i < most; i += 1024)
      ofExpert[i] = 0;
    __syncthreads();
    for (Integer i = threadIdx.x; i < choices; i += 1024) {
      Integer e = chosen[i];
      if (e < 0 || e >= experts)
        report(fault, Fault::Expert);
      else if (e >= first && e < first + most)
        atomicAdd(&ofExpert[e - first], 1); // Integers: in any order.
    }
    __syncthreads();
    for (int i = threadIdx.x; i < most && first + i < experts; i += 1024)
      counts[first + i] = static_cast<float>(ofExpert[i]);
    __syncthreads();
  }
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// The choices of this warp: chunk `number` of all, of a run of `each`.
struct ChoiceChunk {
  Integer number, begin, end, run;
  HOCKET_MEMBER ChoiceChunk(Integer each, Integer chunk) {
    Integer chunks = (each + chunk - 1) / chunk;
    number = Integer(blockIdx.x) * 4 + threadIdx.x / 32;
    run = quotient(number, chunks);
    Integer first = (number - run * chunks) * chunk;
    begin = run * each + first;
    end = run * each + (first + chunk < each ? first + chunk : each);
  }
};

/// The expert of choice i of a chunk; -1 where there is none.
HOCKET_DEVICE int expertOf(const int *chosen, Integer i, Integer end,
                           Integer experts) {
  int e = i < end ? chosen[i] : -1;
  return e >= 0 && e < experts ? e : -1;
}

/// Budget: 32 registers; an iteration: 250 instructions, 8 loads.
HOCKET_DEVICE void countChoices(const int *chosen, int *counts, Integer runs,
                                Integer each, Integer chunk, Integer experts,
                                unsigned *fault) {
  ChoiceChunk mine(each, chunk);
  if (mine.run >= runs)
    return;
  int lane = threadIdx.x % 32;
  int *ofChunk = counts + mine.number * experts;
  for (Integer e = lane; e < experts; e += 32)
    ofChunk[e] = 0;
  __syncwarp();
  for (Integer i = mine.begin + lane; i < mine.end; i += 32) {
    int e = expertOf(chosen, i, mine.end, experts);
    if (e < 0)
      report(fault, Fault::Expert);
    else
      atomicAdd(ofChunk + e, 1);
  }
}

/// 1024 threads; ranges may be null.
///
/// Budget: 32 registers; an iteration: 230 instructions, 7 loads, 9 stores, 33
/// shared.
HOCKET_DEVICE void orderExperts(int *counts, int *ranges, Integer each,
                                Integer chunk, Integer experts) {
  __shared__ int scratch[1024];
  int thread = threadIdx.x;
  Integer chunks = (each + chunk - 1) / chunk;
  counts += blockIdx.x * chunks * experts;
  int before = 0; // The choices of all experts of the rounds before.
  for (Integer first = 0; first < experts; first += 1024) {
    Integer e = first + thread;
    int total = 0;
    for (Integer c = 0; e < experts && c < chunks; ++c) {
      int ofChunk = counts[c * experts + e];
      counts[c * experts + e] = total;
      total += ofChunk;
    }
    int upTo = prefixSum<1024>(total, scratch);
    if (ranges && e < experts) {
      int *range = ranges + 2 * (blockIdx.x * experts + e);
      range[0] = before + upTo - total;
      range[1] = total;
    }
    before += scratch[1023];
  }
}

/// Slots of a run, where `capacity` is 0, begin where `ranges` say.
///
/// Budget: 32 registers; an iteration: 175 instructions, 8 loads, 4 stores.
HOCKET_DEVICE void placeChoices(const int *chosen, int *counts,
                                const int *ranges, int *slots, Integer runs,
                                Integer each, Integer chunk, Integer experts,
                                Integer capacity) {
  ChoiceChunk mine(each, chunk);
  if (mine.run >= runs)
    return;
  int lane = threadIdx.x % 32;
  int *ofChunk = counts + mine.number * experts;
  for (Integer first = mine.begin; first < mine.end; first += 32) {
    Integer i = first + lane;
    int e = expertOf(chosen, i, mine.end, experts);
    unsigned same = __match_any_sync(0xffffffffu, e);
    int earlier = __popc(same & ((1u << lane) - 1));
    int row = e >= 0 ? ofChunk[e] + earlier : 0;
    __syncwarp(); // All lanes have read.
    if (e >= 0 && earlier == 0)
      ofChunk[e] += __popc(same);
    __syncwarp();
    if (i >= mine.end)
      continue;
    int slot = -1;
    if (e >= 0 && capacity == 0)
      slot = ranges[2 * (mine.run * experts + e)] + row;
    else if (e >= 0 && row < capacity)
      slot = static_cast<int>(e * capacity + row);
    slots[i] = slot;
  }
}

/// packed[s] = (sum of the counts before s, count of s): a block of 1024
/// threads.
///
/// Budget: 32 registers; an iteration: 230 instructions, 1 load, 2 stores, 33
/// shared.
HOCKET_DEVICE void packSegments(const int *ranges, int *packed,
                                Integer segments, unsigned *fault) {
  __shared__ int scratch[1024];
  int before = 0;
  for (Integer first = 0; first < segments; first += 1024) {
    Integer s = first + threadIdx.x;
    int count = s < segments ? ranges[2 * s + 1] : 0;
    if (count < 0) {
      report(fault, Fault::Ranges);
      count = 0;
    }
    int upTo = prefixSum<1024>(count, scratch);
    if (s < segments) {
      packed[2 * s] = before + upTo - count;
      packed[2 * s + 1] = count;
    }
    before += scratch[1023];
  }
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// kernels/reference/Experts.h's SlotShape.
struct SlotShape {
  Integer batch, sequence, topK, experts, capacity, runs, rows;

  HOCKET_MEMBER Integer slots() const { return batch * sequence * topK; }
  /// The row of a slot's value, -1 for none, or for one that is a fault.
  HOCKET_MEMBER Integer rowOf(Integer index, Integer slot,
                              unsigned *fault) const {
    Integer end = capacity ? experts * capacity : rows / runs;
    if (slot < -1 || slot >= end)
      report(fault, Fault::Slot);
    if (slot < 0 || slot >= end)
      return -1;
    Integer at = quotient(index, sequence * topK);
    if (capacity == 0)
      return at / (batch / runs) * (rows / runs) + slot;
    Integer expert = quotient(slot, capacity);
    return (expert * batch + at) * capacity + (slot - expert * capacity);
  }
};

/// Budget: 8 registers; a thread: 18 instructions, 1 store.
HOCKET_DEVICE void clearSources(int *sources, Integer rows) {
  Integer row = Integer(blockIdx.x) * 256 + threadIdx.x;
  if (row < rows)
    sources[row] = -1;
}

/// sources[row] = the last slot that has it.
///
/// Budget: 32 registers; a thread: 480 instructions, 1 load.
HOCKET_DEVICE void findSources(const int *slots, int *sources,
                               const SlotShape &shape, unsigned *fault) {
  Integer i = Integer(blockIdx.x) * 256 + threadIdx.x;
  if (i >= shape.slots())
    return;
  Integer row = shape.rowOf(i, slots[i], fault);
  if (row >= 0)
    atomicMax(sources + row, static_cast<int>(i));
}

/// A block of 128 threads a row. `weights` may be null.
///
/// Budget: 32 registers; an iteration of 16 bytes: 8 instructions an element, 1
/// load, 1 store. Over: 17 instructions, 9 loads, 9 stores: whether an address
/// is a multiple of 16 bytes is tested as the kernel runs, and an access an
/// element stands beside each.
template <class T>
HOCKET_DEVICE void dispatch(const T *tokens, const int *sources,
                            const float *weights, T *rows, Integer topK,
                            Integer width) {
  constexpr int N = 16 / sizeof(T);
  Integer row = blockIdx.x, source = sources[row];
  Integer token = source < 0 ? 0 : quotient(source, topK);
  float weight = weights && source >= 0 ? weights[source] : 1.0f;
  for (Integer column = threadIdx.x * N; column < width; column += 128 * N) {
    auto x = load<N>(tokens + (source < 0 ? 0 : token * width + column),
                     source < 0 ? 0 : width - column);
    if (weights)
#pragma unroll
      for (int i = 0; i < N; ++i)
        x.at[i] = fromFloat<T>(toFloat(x.at[i]) * weight);
    store(rows + row * width + column, x, width - column);
  }
}

/// A block of 128 threads a token, which adds its rows in order.
///
/// Budget: 48 registers; an iteration of 16 bytes: 40 instructions an element,
/// 4 loads, 1 store. Over: 83 instructions, 22 loads, 9 stores: whether an
/// address is a multiple of 16 bytes is tested as the kernel runs, and an
/// access an element stands beside each.
template <class T>
HOCKET_DEVICE void
combine(const T *rows, const int *slots, const float *weights, T *tokens,
        const SlotShape &shape, Integer width, unsigned *fault) {
  constexpr int N = 16 / sizeof(T);
  Integer token = blockIdx.x, first = token * shape.topK;
  for (Integer column = threadIdx.x * N; column < width; column += 128 * N) {
    float sums[N] = {};
    for (Integer i = first; i < first + shape.topK; ++i) {
      Integer row = shape.rowOf(i, slots[i], fault);
      if (row < 0)
        continue;
      float weight = weights ? weights[i] : 1.0f;
      auto x = load<N>(rows + row * width + column, width - column);
#pragma unroll
      for (int j = 0; j < N; ++j)
        sums[j] += toFloat(x.at[j]) * weight;
    }
    Pack<T, N> result;
#pragma unroll
    for (int j = 0; j < N; ++j)
      result.at[j] = fromFloat<T>(sums[j]);
    store(tokens + token * width + column, result, width - column);
  }
}

/// A warp a slot: 128 threads.
///
/// Budget: 40 registers; an iteration of 16 bytes: 8 instructions an element, 2
/// loads.
/// Over: 19 instructions, 18 loads: whether an address is a multiple of 16
/// bytes is tested as the kernel runs, and an access an element stands beside
/// each.
template <class T>
HOCKET_DEVICE void combineWeightGradient(const T *tokens, const T *rows,
                                         const int *slots, float *dweights,
                                         const SlotShape &shape, Integer width,
                                         unsigned *fault) {
  constexpr int N = 16 / sizeof(T);
  Integer i = Integer(blockIdx.x) * 4 + threadIdx.x / 32;
  if (i >= shape.slots())
    return;
  Integer token = quotient(i, shape.topK);
  Integer row = shape.rowOf(i, slots[i], fault);
  float sum = 0;
  for (Integer column = threadIdx.x % 32 * N; row >= 0 && column < width;
       column += 32 * N) {
    auto x = load<N>(tokens + token * width + column, width - column);
    auto y = load<N>(rows + row * width + column, width - column);
#pragma unroll
    for (int j = 0; j < N; ++j)
      sum += toFloat(x.at[j]) * toFloat(y.at[j]);
  }
  sum = reduceWarp<Add>(sum);
  if (threadIdx.x % 32 == 0)
    dweights[i] = sum;
}

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_EXPERTS_CUH
