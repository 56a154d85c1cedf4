//===- StateSpace.cuh - State-space layers on the GPU -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// kernels/reference/StateSpace.h on the GPU, without tensor cores. Of a head's
/// state, [width, state], a warp has rows, and a lane every 32nd number of each,
/// in registers; tokens go by one after another. The gradient keeps no states:
/// kernels/cpu/StateSpace.cpp says how.
///
///   causalConv, causalConvInput   256 threads, blocks(elements, 256)
///   causalConvWeight              256 threads, blocks(channels, 32)
///   stateScan                     128 threads, sequences * heads, blocks(width,
///                                 4)
///   stateForward, stateBack       256 threads, sequences * heads
///   stateNumbers                  256 threads, blocks(steps, 8)
///   stateMaps                     256 threads, blocks(elements of a map, 256)
///   stateSteps                    256 threads, sequences * heads
///   stateHeads                    256 threads, blocks(heads, 256)
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_STATESPACE_CUH
#define HOCKET_KERNELS_CUDA_STATESPACE_CUH

#include "kernels/cuda/Device.cuh"

namespace hocket::cuda {

//===----------------------------------------------------------------------===//
// The convolution
//===----------------------------------------------------------------------===//

/// Budget: 32 registers; a thread: 315 instructions, 9 loads, 1 store.
template <class T, int Taps, bool Bias>
HOCKET_DEVICE void causalConv(const T *x, const T *w, const T *bias, T *y,
                              Integer count, Integer sequence,
                              Integer channels) {
  Integer at = Integer(blockIdx.x) * 256 + threadIdx.x;
  if (at >= count)
    return;
  Integer row = quotient(at, channels), c = at - row * channels;
  Integer s = row - quotient(row, sequence) * sequence;
  float sum = Bias ? toFloat(bias[c]) : 0.0f;
#pragma unroll
  for (int back = 0; back < Taps; ++back)
    if (back <= s)
      sum += toFloat(w[c * Taps + Taps - 1 - back]) *
             toFloat(x[at - back * channels]);
  y[at] = fromFloat<T>(sum);
}

/// Budget: 32 registers; a thread: 315 instructions, 8 loads, 1 store.
template <class T, int Taps>
HOCKET_DEVICE void causalConvInput(const T *dy, const T *w, T *dx,
                                   Integer count, Integer sequence,
                                   Integer channels) {
  Integer at = Integer(blockIdx.x) * 256 + threadIdx.x;
  if (at >= count)
    return;
  Integer row = quotient(at, channels), c = at - row * channels;
  Integer s = row - quotient(row, sequence) * sequence;
  float sum = 0;
#pragma unroll
  for (int ahead = 0; ahead < Taps; ++ahead)
    if (s + ahead < sequence)
      sum += toFloat(w[c * Taps + Taps - 1 - ahead]) *
             toFloat(dy[at + ahead * channels]);
  dx[at] = fromFloat<T>(sum);
}

/// A lane has a channel, a warp every eighth row; sums are in double.
///
/// Budget: 48 registers; an iteration: 120 instructions, 5 loads.
template <class T, int Taps>
HOCKET_DEVICE void causalConvWeight(const T *dy, const T *x, float *dw,
                                    float *dbias, Integer rows,
                                    Integer sequence, Integer channels) {
  __shared__ double scratch[256];
  int lane = threadIdx.x % 32;
  Integer c = Integer(blockIdx.x) * 32 + lane;
  double sums[Taps + 1] = {};
  for (Integer row = threadIdx.x / 32; c < channels && row < rows; row += 8) {
    Integer s = row - quotient(row, sequence) * sequence;
    float own = toFloat(dy[row * channels + c]);
    sums[Taps] += own;
#pragma unroll
    for (int back = 0; back < Taps; ++back)
      if (back <= s)
        sums[Taps - 1 - back] +=
            own * toFloat(x[(row - back) * channels + c]);
  }
#pragma unroll
  for (int k = 0; k <= Taps; ++k) {
    __syncthreads(); // The last sums have been read.
    scratch[threadIdx.x] = sums[k];
    __syncthreads();
    if (threadIdx.x >= 32 || c >= channels)
      continue;
    double sum = 0;
    for (int warp = 0; warp < 8; ++warp)
      sum += scratch[warp * 32 + lane];
    (k < Taps ? dw[c * Taps + k] : dbias[c]) = static_cast<float>(sum);
  }
}

//===----------------------------------------------------------------------===//
// The recurrence
//===----------------------------------------------------------------------===//

struct ScanSizes {
  Integer sequence, heads, width, groups, state;
};

/// What a token's step makes of `raw`, which has its bias.
struct StateStep {
  float raw, free, size;

  HOCKET_MEMBER StateStep(float raw, float least, float most) : raw(raw) {
    free = maximum(raw, 0.0f) + log1pf(expf(-fabsf(raw)));
    size = minimum(maximum(free, least), most);
  }
};

/// Where the numbers of head `head` of sequence `sequence` are.
struct ScanHead {
  ScanSizes sizes;
  Integer sequence, head, group;

  HOCKET_MEMBER ScanHead(const ScanSizes &sizes, Integer index) : sizes(sizes) {
    sequence = quotient(index, sizes.heads);
    head = index - sequence * sizes.heads;
    group = quotient(head, quotient(sizes.heads, sizes.groups));
  }
  HOCKET_MEMBER Integer step(Integer s) const {
    return (sequence * sizes.sequence + s) * sizes.heads + head;
  }
  HOCKET_MEMBER Integer map(Integer s) const {
    return ((sequence * sizes.sequence + s) * sizes.groups + group) *
           sizes.state;
  }
};

/// What this lane has of a row of a map: every 32nd number.
template <class T, int Lanes>
HOCKET_DEVICE void loadLane(const T *row, Integer state,
                            float (&numbers)[Lanes]) {
#pragma unroll
  for (int i = 0; i < Lanes; ++i) {
    Integer n = i * 32 + threadIdx.x % 32;
    numbers[i] = n < state ? toFloat(row[n]) : 0.0f;
  }
}

/// Takes token `s` into row `p` of a head's state, of which a warp has `h`; what
/// it gives is right in lane 0.
template <class T, int Lanes>
HOCKET_DEVICE float scanToken(const T *x, const T *step, const T *inMap,
                              const T *outMap, const ScanHead &at, Integer s,
                              Integer p, float rate, float bias, float direct,
                              float least, float most, float (&h)[Lanes]) {
  const ScanSizes &sizes = at.sizes;
  StateStep own(toFloat(step[at.step(s)]) + bias, least, most);
  float keep = expf(rate * own.size);
  float input = toFloat(x[at.step(s) * sizes.width + p]), sum = 0;
  float b[Lanes], c[Lanes];
  loadLane(inMap + at.map(s), sizes.state, b);
  loadLane(outMap + at.map(s), sizes.state, c);
#pragma unroll
  for (int i = 0; i < Lanes; ++i) {
    h[i] = keep * h[i] + own.size * input * b[i];
    sum += h[i] * c[i];
  }
  return reduceWarp<Add>(sum) + direct * input;
}

/// Budget: 32 registers; an iteration: 145 instructions, 6 loads, 1 store.
template <class T, int Lanes>
HOCKET_DEVICE void stateScan(const T *x, const T *step, const T *inMap,
                             const T *outMap, const float *decay,
                             const float *stepBias, const float *skip, T *y,
                             Integer sequence, Integer heads, Integer width,
                             Integer groups, Integer state, float least,
                             float most) {
  ScanHead at({sequence, heads, width, groups, state}, blockIdx.x);
  Integer p = Integer(blockIdx.y) * 4 + threadIdx.x / 32;
  if (p >= width)
    return;
  float rate = -expf(decay[at.head]), bias = stepBias[at.head];
  float direct = skip[at.head], h[Lanes] = {};
  for (Integer s = 0; s < sequence; ++s) {
    float result = scanToken(x, step, inMap, outMap, at, s, p, rate, bias,
                             direct, least, most, h);
    if (threadIdx.x % 32 == 0)
      y[at.step(s) * width + p] = fromFloat<T>(result);
  }
}

//===----------------------------------------------------------------------===//
// Its gradient
//===----------------------------------------------------------------------===//

/// The workspace: of each step what the passes make of a row of states,
/// [steps, state] each; of each head and token, three numbers; of each head of
/// a sequence, three sums.
struct ScanWorkspace {
  float *inMap, *outMap, *flow, *own, *bySize, *numbers;

  HOCKET_MEMBER ScanWorkspace(float *at, const ScanSizes &sizes,
                              Integer sequences) {
    Integer steps = sequences * sizes.sequence * sizes.heads;
    inMap = at;
    outMap = inMap + steps * sizes.state;
    flow = outMap + steps * sizes.state;
    own = flow + steps;
    bySize = own + steps;
    numbers = bySize + steps;
  }
};

/// The sums over the warps' parts, [8, Lanes * 32], of a token. A thread has a
/// number of the state. Parts are in one of two places in turn, so that one
/// barrier a token is enough.
template <int Lanes>
HOCKET_DEVICE void sumWarps(float (&parts)[8][Lanes * 32],
                            const float (&mine)[Lanes], Integer state,
                            float *to) {
#pragma unroll
  for (int i = 0; i < Lanes; ++i)
    parts[threadIdx.x / 32][i * 32 + threadIdx.x % 32] = mine[i];
  __syncthreads();
  if (threadIdx.x >= state)
    return;
  float sum = 0;
#pragma unroll
  for (int warp = 0; warp < 8; ++warp)
    sum += parts[warp][threadIdx.x];
  to[threadIdx.x] = sum;
}

/// Forward: of the state that a token finds, the sum over its rows, each times
/// the row's gradient.
///
/// Budget: 56 registers; an iteration: 270 instructions, 19 loads, 1 store, 10
/// shared.
template <class T, int Rows, int Lanes>
HOCKET_DEVICE void stateForward(const T *dy, const T *x, const T *step,
                                const T *inMap, const float *decay,
                                const float *stepBias, float *work,
                                Integer sequences, Integer sequence,
                                Integer heads, Integer width, Integer groups,
                                Integer state, float least, float most) {
  __shared__ float parts[2][8][Lanes * 32];
  ScanSizes sizes = {sequence, heads, width, groups, state};
  ScanHead at(sizes, blockIdx.x);
  ScanWorkspace to(work, sizes, sequences);
  float rate = -expf(decay[at.head]), bias = stepBias[at.head];
  float h[Rows][Lanes] = {};
  for (Integer s = 0; s < sequence; ++s) {
    StateStep own(toFloat(step[at.step(s)]) + bias, least, most);
    float keep = expf(rate * own.size);
    float b[Lanes], sum[Lanes] = {};
    loadLane(inMap + at.map(s), state, b);
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      Integer p = r * 8 + threadIdx.x / 32, i = at.step(s) * width + p;
      float input = p < width ? own.size * toFloat(x[i]) : 0.0f;
      float grad = p < width ? toFloat(dy[i]) : 0.0f;
#pragma unroll
      for (int l = 0; l < Lanes; ++l) {
        h[r][l] *= keep;
        sum[l] += grad * h[r][l];
        h[r][l] += input * b[l];
      }
    }
    sumWarps<Lanes>(parts[s % 2], sum, state,
                    to.outMap + at.step(s) * state);
  }
}

/// Back: of the gradient by the state that a token leaves, but for what its own
/// result gives, the sum over its rows, each times the row's input; and the
/// gradient by the input.
///
/// Budget: 64 registers; an iteration: 530 instructions, 21 loads, 9 stores, 10
/// shared.
template <class T, int Rows, int Lanes>
HOCKET_DEVICE void stateBack(const T *dy, const T *x, const T *step,
                             const T *inMap, const T *outMap,
                             const float *decay, const float *stepBias,
                             const float *skip, T *dx, float *work,
                             Integer sequences, Integer sequence, Integer heads,
                             Integer width, Integer groups, Integer state,
                             float least, float most) {
  __shared__ float parts[2][8][Lanes * 32];
  ScanSizes sizes = {sequence, heads, width, groups, state};
  ScanHead at(sizes, blockIdx.x);
  ScanWorkspace to(work, sizes, sequences);
  float rate = -expf(decay[at.head]), bias = stepBias[at.head];
  float direct = skip[at.head], keep = 0, g[Rows][Lanes] = {};
  for (Integer s = sequence - 1; s >= 0; --s) {
    StateStep own(toFloat(step[at.step(s)]) + bias, least, most);
    float b[Lanes], c[Lanes], sum[Lanes] = {};
    loadLane(inMap + at.map(s), state, b);
    loadLane(outMap + at.map(s), state, c);
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      Integer p = r * 8 + threadIdx.x / 32, i = at.step(s) * width + p;
      float input = p < width ? toFloat(x[i]) : 0.0f;
      float grad = p < width ? toFloat(dy[i]) : 0.0f, by = 0;
#pragma unroll
      for (int l = 0; l < Lanes; ++l) {
        g[r][l] *= keep;
        sum[l] += input * g[r][l];
        g[r][l] += grad * c[l];
        by += g[r][l] * b[l];
      }
      by = reduceWarp<Add>(by);
      if (p < width && threadIdx.x % 32 == 0)
        dx[i] = fromFloat<T>(own.size * by + direct * grad);
    }
    keep = expf(rate * own.size);
    sumWarps<Lanes>(parts[s % 2], sum, state, to.inMap + at.step(s) * state);
  }
}

/// A warp a step: the numbers that need all of a head's rows.
///
/// Budget: 40 registers; an iteration: 130 instructions, 64 loads.
template <class T>
HOCKET_DEVICE void stateNumbers(const T *dy, const T *x, const T *step,
                                const T *inMap, const T *outMap,
                                const float *stepBias, float *work,
                                Integer sequences, Integer sequence,
                                Integer heads, Integer width, Integer groups,
                                Integer state, float least, float most) {
  ScanSizes sizes = {sequence, heads, width, groups, state};
  ScanWorkspace to(work, sizes, sequences);
  Integer index = Integer(blockIdx.x) * 8 + threadIdx.x / 32;
  if (index >= sequences * sequence * heads)
    return;
  Integer token = quotient(index, heads), head = index - token * heads;
  Integer group = quotient(head, quotient(heads, groups));
  const T *b = inMap + (token * groups + group) * state;
  const T *c = outMap + (token * groups + group) * state;
  float own = 0, both = 0, before = 0, later = 0;
  for (Integer p = threadIdx.x % 32; p < width; p += 32)
    own += toFloat(dy[index * width + p]) * toFloat(x[index * width + p]);
  for (Integer n = threadIdx.x % 32; n < state; n += 32) {
    float in = toFloat(b[n]), out = toFloat(c[n]);
    both += in * out;
    before += to.outMap[index * state + n] * out;
    later += to.inMap[index * state + n] * in;
  }
  own = reduceWarp<Add>(own), both = reduceWarp<Add>(both);
  before = reduceWarp<Add>(before), later = reduceWarp<Add>(later);
  if (threadIdx.x % 32 != 0)
    return;
  StateStep size(toFloat(step[index]) + stepBias[head], least, most);
  to.flow[index] = before - size.size * later;
  to.own[index] = own;
  to.bySize[index] = later + own * both;
}

/// A thread a number of the maps' gradients: sums over the heads of a group.
///
/// Budget: 48 registers; an iteration: 175 instructions, 10 loads.
template <class T>
HOCKET_DEVICE void stateMaps(const T *step, const T *inMap, const T *outMap,
                             const float *stepBias, float *work, T *dinMap,
                             T *doutMap, Integer sequences, Integer sequence,
                             Integer heads, Integer width, Integer groups,
                             Integer state, float least, float most) {
  ScanSizes sizes = {sequence, heads, width, groups, state};
  ScanWorkspace from(work, sizes, sequences);
  Integer at = Integer(blockIdx.x) * 256 + threadIdx.x;
  if (at >= sequences * sequence * groups * state)
    return;
  Integer row = quotient(at, state), n = at - row * state;
  Integer token = quotient(row, groups), group = row - token * groups;
  Integer each = quotient(heads, groups);
  float in = toFloat(inMap[at]), out = toFloat(outMap[at]);
  float byIn = 0, byOut = 0;
  for (Integer head = group * each; head < (group + 1) * each; ++head) {
    Integer index = token * heads + head;
    StateStep size(toFloat(step[index]) + stepBias[head], least, most);
    float own = from.own[index];
    byIn += size.size * (from.inMap[index * state + n] + own * out);
    byOut += from.outMap[index * state + n] + size.size * own * in;
  }
  dinMap[at] = fromFloat<T>(byIn);
  doutMap[at] = fromFloat<T>(byOut);
}

/// A block a head of a sequence: sums over its later tokens, in double, and the
/// gradients of steps. A thread has neighbouring tokens, the last one first.
///
/// Budget: 64 registers; an iteration: 195 instructions, 5 loads, 1 store.
template <class T>
HOCKET_DEVICE void stateSteps(const T *step, const float *decay,
                              const float *stepBias, float *work, T *dstep,
                              Integer sequences, Integer sequence,
                              Integer heads, Integer width, Integer groups,
                              Integer state, float least, float most) {
  __shared__ double scratch[256];
  ScanSizes sizes = {sequence, heads, width, groups, state};
  ScanHead at(sizes, blockIdx.x);
  ScanWorkspace from(work, sizes, sequences);
  Integer each = quotient(sequence + 255, 256);
  Integer end = sequence - threadIdx.x * each, begin = end - each;
  begin = begin < 0 ? 0 : begin;
  double rate = -expf(decay[at.head]);
  double mine = 0, byDecay = 0, byBias = 0, bySkip = 0;
  for (Integer s = end - 1; s >= begin; --s)
    mine += from.flow[at.step(s)];
  double flow = prefixSum<256>(mine, scratch) - mine;
  for (Integer s = end - 1; s >= begin; --s) {
    Integer i = at.step(s);
    StateStep size(toFloat(step[i]) + stepBias[at.head], least, most);
    flow += from.flow[i];
    byDecay += flow * (size.size * rate);
    bySkip += from.own[i];
    double byRaw = 0;
    if (size.free >= least && size.free <= most)
      byRaw = (from.bySize[i] + flow * rate) / (1 + exp(-double(size.raw)));
    byBias += byRaw;
    dstep[i] = fromFloat<T>(static_cast<float>(byRaw));
  }
  byDecay = sumBlock<256>(byDecay, scratch);
  byBias = sumBlock<256>(byBias, scratch);
  bySkip = sumBlock<256>(bySkip, scratch);
  if (threadIdx.x != 0)
    return;
  float *numbers = from.numbers + Integer(blockIdx.x) * 3;
  numbers[0] = static_cast<float>(byDecay);
  numbers[1] = static_cast<float>(byBias);
  numbers[2] = static_cast<float>(bySkip);
}

/// A thread a head: sums over sequences.
///
/// Budget: 32 registers; an iteration: 64 instructions, 12 loads.
HOCKET_DEVICE void stateHeads(float *work, float *ddecay, float *dstepBias,
                              float *dskip, Integer sequences, Integer sequence,
                              Integer heads, Integer state) {
  ScanWorkspace from(work, {sequence, heads, 0, 0, state}, sequences);
  Integer head = Integer(blockIdx.x) * 256 + threadIdx.x;
  if (head >= heads)
    return;
  double sums[3] = {};
  for (Integer b = 0; b < sequences; ++b)
#pragma unroll
    for (int i = 0; i < 3; ++i)
      sums[i] += from.numbers[(b * heads + head) * 3 + i];
  ddecay[head] = static_cast<float>(sums[0]);
  dstepBias[head] = static_cast<float>(sums[1]);
  dskip[head] = static_cast<float>(sums[2]);
}

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_STATESPACE_CUH
