//===- Router.cuh - Which experts a token goes to, on the GPU ---*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// kernels/reference/Router.h on the GPU, a warp a token, in double as there:
/// the choice of experts must not depend on the device. Scores are computed
/// again rather than kept.
///
///   router                         128 threads, tokens in turns
///   sinkhorn                       256 threads, blocks of a sequence
///   routerGradient, routerProbabilitiesGradient, routerZLossGradient,
///   routerShares                   128 threads, blocks(tokens, 4)
///   routerParts                    256 threads, kRouterParts, blocks(E, 32)
///   routerSums, balanceBias        threads are experts
///   routerZLossParts, routerZLoss  256 threads, kRouterParts; one thread
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_CUDA_ROUTER_CUH
#define HOCKET_KERNELS_CUDA_ROUTER_CUH

#include "kernels/cuda/Device.cuh"

namespace hocket::cuda {

/// Added to a sum of scores before it divides: all of them may be 0.
constexpr double kTinyScore = 1e-20;
constexpr Integer kRouterParts = 32;

HOCKET_DEVICE double leastDouble() {
  return -static_cast<double>(__uint_as_float(0x7f800000));
}

HOCKET_DEVICE double sumWarp(double x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    x += __shfl_xor_sync(0xffffffffu, x, distance);
  return x;
}

/// The token of this warp, of blocks of four.
HOCKET_DEVICE Integer tokenOfWarp() {
  return Integer(blockIdx.x) * 4 + threadIdx.x / 32;
}

/// log(sum(exp)) of a row, in every lane.
HOCKET_DEVICE double routerLogSumExp(const float *row, Integer experts) {
  float greatest = neutral<Max>();
  for (Integer e = threadIdx.x % 32; e < experts; e += 32)
    greatest = maximum(greatest, row[e]);
  double shift = reduceWarp<Max>(greatest), sum = 0;
  for (Integer e = threadIdx.x % 32; e < experts; e += 32)
    sum += exp(row[e] - shift);
  return shift + log(sumWarp(sum));
}

/// The p of one token.
template <bool Sigmoid> struct RouterScores {
  const float *row;
  Integer experts;
  double shift = 0;

  HOCKET_MEMBER RouterScores(const float *logits, Integer token,
                             Integer experts)
      : row(logits + token * experts), experts(experts) {
    if constexpr (!Sigmoid)
      shift = routerLogSumExp(row, experts);
  }
  HOCKET_MEMBER double at(Integer e) const {
    return Sigmoid ? 1 / (1 + exp(-static_cast<double>(row[e])))
                   : exp(row[e] - shift);
  }
  /// What makes q of p.
  HOCKET_MEMBER double shareFactor() const {
    if constexpr (!Sigmoid)
      return 1;
    double sum = 0;
    for (Integer e = threadIdx.x % 32; e < experts; e += 32)
      sum += at(e);
    return 1 / (kTinyScore + sumWarp(sum));
  }
};

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

/// What follows `last` (-1: nothing yet) in the order of the greatest first, of
/// equals the lower index first. Every lane must call it.
HOCKET_DEVICE int nextGreatest(const double *values, int count, int last) {
  double bound = last < 0 ? 0 : values[last], best = 0;
  int index = -1;
  for (int i = threadIdx.x % 32; i < count; i += 32) {
    bool follows =
        last < 0 || values[i] < bound || (values[i] == bound && i > last);
    if (follows && (index < 0 || values[i] > best))
      index = i, best = values[i];
  }
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    int other = __shfl_xor_sync(0xffffffffu, index, distance);
    double value = __shfl_xor_sync(0xffffffffu, best, distance);
    bool better = index < 0 || value > best || (value == best && other < index);
    if (other >= 0 && better)
      index = other, best = value;
  }
  return index;
}

/// Makes the scores of all experts outside the best groups the least. `worths`
/// has room for a number a group.
HOCKET_DEVICE void closeGroups(double *biased, double *worths, int experts,
                               int topK, int groups, int topkGroups) {
  int length = experts / groups, counted = topK / topkGroups;
  counted = counted < 1 ? 1 : counted < length ? counted : length;
  for (int g = 0; g < groups; ++g) {
    double worth = 0;
    for (int i = 0, last = -1; i < counted; ++i) {
      last = nextGreatest(biased + g * length, length, last);
      worth += biased[g * length + last];
    }
    if (threadIdx.x % 32 == 0)
      worths[g] = worth == worth ? worth : leastDouble();
  }
  __syncwarp();
  int last = -1;
  for (int i = 0; i < topkGroups; ++i)
    last = nextGreatest(worths, groups, last);
  for (int e = threadIdx.x % 32; e < experts; e += 32) {
    int g = e / length;
    if (worths[g] < worths[last] || (worths[g] == worths[last] && g > last))
      biased[e] = leastDouble();
  }
  __syncwarp();
}

/// `scratch` has room for a number an expert and a group for each warp of the
/// launch (in shared memory: of the block). `bias` may be null; `BySequence`,
/// it is one for each sequence, of `each` tokens, and logits are compared.
///
/// Budget: 56 registers; an iteration: 2900 instructions, 60 loads, 4 stores,
/// 80 shared. Over: 40 bytes spilled, 16 bytes of stack: constants of
/// exponentials in double want more registers than the assembler gives.
template <bool Sigmoid, bool Renormalise, bool InShared, bool BySequence>
HOCKET_DEVICE void router(const float *logits, const float *bias,
                          float *weights, int *chosen, Integer tokens,
                          Integer experts, Integer topK, Integer groups,
                          Integer topkGroups, Integer each, double scale,
                          void *scratch) {
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  Integer slot = InShared ? warp : tokenOfWarp();
  double *biased = static_cast<double *>(scratch) + slot * (experts + groups);
  for (Integer token = tokenOfWarp(); token < tokens; token += gridDim.x * 4) {
    RouterScores<Sigmoid> scores(logits, token, experts);
    for (Integer e = lane; e < experts; e += 32) {
      double x = BySequence
                     ? static_cast<double>(scores.row[e]) +
                           bias[token / each * experts + e]
                     : scores.at(e) + (bias ? bias[e] : 0.0f);
      biased[e] = x == x ? x : leastDouble();
    }
    __syncwarp();
    if (groups > 1)
      closeGroups(biased, biased + experts, static_cast<int>(experts),
                  static_cast<int>(topK), static_cast<int>(groups),
                  static_cast<int>(topkGroups));
    double sum = kTinyScore;
    int last = -1;
    for (Integer j = 0; j < topK; ++j) {
      last = nextGreatest(biased, static_cast<int>(experts), last);
      sum += scores.at(last);
      if (lane == 0)
        chosen[token * topK + j] = last;
    }
    double factor = scale / (Renormalise ? sum : 1);
    __syncwarp();
    for (Integer j = lane; j < topK; j += 32)
      weights[token * topK + j] =
          static_cast<float>(scores.at(chosen[token * topK + j]) * factor);
  }
}

/// The bias of each sequence by Sinkhorn's iterations, a block each. A row of
/// `work` is a token's exponentials and its scale; behind those of all tokens,
/// the columns' scales.
///
/// Budget: 64 registers; an iteration: 670 instructions, 80 loads, 3 stores, 10
/// shared.
HOCKET_DEVICE void sinkhorn(const float *logits, double *work, float *bias,
                            Integer each, Integer experts) {
  __shared__ double parts[8][32], change;
  constexpr double tiny = 1e-8, tolerance = 1e-4;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  Integer sequence = blockIdx.x, stride = experts + 1;
  double *costs = work + sequence * each * stride;
  double *columns = work + (gridDim.x * each + sequence) * stride;
  logits += sequence * each * experts;
  for (Integer t = warp; t < each; t += 8) {
    float most = neutral<Max>();
    for (Integer e = lane; e < experts; e += 32)
      most = maximum(most, logits[t * experts + e]);
    double shift = reduceWarp<Max>(most);
    for (Integer e = lane; e < experts; e += 32)
      costs[t * stride + e] = exp(logits[t * experts + e] - shift);
  }
  for (Integer e = threadIdx.x; e < experts; e += 256)
    columns[e] = 1;
  __syncthreads();
  for (int round = 0; round < 1000; ++round) {
    for (Integer t = warp; t < each; t += 8) {
      double sum = 0;
      for (Integer e = lane; e < experts; e += 32)
        sum += columns[e] * costs[t * stride + e];
      sum = sumWarp(sum);
      if (lane == 0)
        costs[t * stride + experts] = 1 / (double(each) * (sum + tiny));
    }
    __syncthreads();
    double changed = 0; // Of the first warp's lanes.
    for (Integer first = 0; first < experts; first += 32) {
      Integer e = first + lane;
      double sum = 0;
      for (Integer t = warp; e < experts && t < each; t += 8)
        sum += costs[t * stride + experts] * costs[t * stride + e];
      parts[warp][lane] = sum;
      __syncthreads();
      if (warp == 0 && e < experts) {
        for (int other = 1; other < 8; ++other)
          sum += parts[other][lane];
        double next = 1 / (double(experts) * (sum + tiny));
        double moved = next - columns[e];
        changed += (moved < 0 ? -moved : moved) / double(experts);
        columns[e] = next;
      }
      __syncthreads();
    }
    changed = sumWarp(changed);
    if (threadIdx.x == 0)
      change = changed;
    __syncthreads();
    if (!(change > tolerance))
      break;
  }
  for (Integer e = threadIdx.x; e < experts; e += 256)
    bias[sequence * experts + e] = static_cast<float>(log(columns[e]));
}

/// Budget: 56 registers; an iteration: 740 instructions, 31 loads, 1 store.
/// Over: 8 bytes spilled, 8 bytes of stack: constants of exponentials in double
/// want more registers than the assembler gives.
template <bool Sigmoid, bool Renormalise>
HOCKET_DEVICE void routerGradient(const float *dweights, const float *logits,
                                  const int *chosen, float *dlogits,
                                  Integer tokens, Integer experts, Integer topK,
                                  double scale, unsigned *fault) {
  Integer token = tokenOfWarp();
  if (token >= tokens)
    return;
  RouterScores<Sigmoid> scores(logits, token, experts);
  chosen += token * topK, dweights += token * topK;
  double sum = kTinyScore, dot = 0;
  for (Integer j = 0; j < topK; ++j) {
    if (chosen[j] < 0 || chosen[j] >= experts) {
      report(fault, Fault::Expert);
      return;
    }
    double score = scores.at(chosen[j]);
    sum += score, dot += dweights[j] * score;
  }
  auto gradient = [&](Integer j) {
    return scale * (Renormalise ? (dweights[j] - dot / sum) / sum
                                : static_cast<double>(dweights[j]));
  };
  double mean = 0; // Of the scores' gradient under a softmax.
  for (Integer j = 0; j < topK; ++j)
    mean += gradient(j) * scores.at(chosen[j]);
  for (Integer e = threadIdx.x % 32; e < experts; e += 32) {
    double own = 0, score = scores.at(e);
    for (Integer j = 0; j < topK; ++j)
      if (chosen[j] == e)
        own = gradient(j);
    double slope = Sigmoid ? own * (1 - score) : own - mean;
    dlogits[token * experts + e] = static_cast<float>(score * slope);
  }
}

//===----------------------------------------------------------------------===//
// Probabilities
//===----------------------------------------------------------------------===//

/// What a token's scores need to become q: the softmax' logsumexp or the
/// sigmoids' factor.
///
/// Budget: 48 registers; an iteration: 130 instructions, 2 loads.
template <bool Sigmoid>
HOCKET_DEVICE void routerShares(const float *logits, double *shares,
                                Integer tokens, Integer experts) {
  Integer token = tokenOfWarp();
  if (token >= tokens)
    return;
  RouterScores<Sigmoid> scores(logits, token, experts);
  double share = Sigmoid ? scores.shareFactor() : scores.shift;
  if (threadIdx.x % 32 == 0)
    shares[token] = share;
}

/// parts[s, part, e]: the sum of q over the part's tokens of sequence s, which
/// has `each`; 32 experts a block.
///
/// Budget: 48 registers; an iteration: 150 instructions, 4 loads.
/// Over: 16 bytes spilled, 8 bytes of stack: constants of exponentials in
/// double want more registers than the assembler gives.
template <bool Sigmoid>
HOCKET_DEVICE void routerParts(const float *logits, const double *shares,
                               double *parts, Integer each, Integer experts) {
  __shared__ double scratch[8][32];
  int lane = threadIdx.x % 32, group = threadIdx.x / 32;
  Integer part = blockIdx.x, e = Integer(blockIdx.y) * 32 + lane;
  Integer first = blockIdx.z * each;
  Integer end = first + each * (part + 1) / kRouterParts;
  double sum = 0;
  if (e < experts)
    for (Integer t = first + each * part / kRouterParts + group; t < end;
         t += 8) {
      double x = logits[t * experts + e];
      sum += Sigmoid ? shares[t] / (1 + exp(-x)) : exp(x - shares[t]);
    }
  scratch[group][lane] = sum;
  __syncthreads();
  if (group > 0 || e >= experts)
    return;
  for (int other = 1; other < 8; ++other)
    sum += scratch[other][lane];
  parts[(blockIdx.z * Integer(kRouterParts) + part) * experts + e] = sum;
}

/// Budget: 32 registers; a thread: 165 instructions, 32 loads, 1 store.
HOCKET_DEVICE void routerSums(const double *parts, float *sums,
                              Integer experts) {
  Integer e = Integer(blockIdx.x) * 256 + threadIdx.x;
  if (e >= experts)
    return;
  const double *own = parts + blockIdx.y * Integer(kRouterParts) * experts + e;
  double sum = 0;
  for (Integer part = 0; part < kRouterParts; ++part)
    sum += own[part * experts];
  sums[blockIdx.y * experts + e] = static_cast<float>(sum);
}

/// Budget: 48 registers; an iteration: 145 instructions, 4 loads, 2 stores.
template <bool Sigmoid>
HOCKET_DEVICE void
routerProbabilitiesGradient(const float *dsums, const float *logits,
                            float *dlogits, Integer tokens, Integer each,
                            Integer experts) {
  Integer token = tokenOfWarp();
  if (token >= tokens)
    return;
  dsums += token / each * experts;
  RouterScores<Sigmoid> scores(logits, token, experts);
  double factor = scores.shareFactor(), mean = 0;
  for (Integer e = threadIdx.x % 32; e < experts; e += 32)
    mean += dsums[e] * scores.at(e) * factor;
  mean = sumWarp(mean);
  for (Integer e = threadIdx.x % 32; e < experts; e += 32) {
    double score = scores.at(e);
    dlogits[token * experts + e] = static_cast<float>(
        score * factor * (dsums[e] - mean) * (Sigmoid ? 1 - score : 1));
  }
}

//===----------------------------------------------------------------------===//
// z-loss and balance
//===----------------------------------------------------------------------===//

/// Budget: 56 registers; an iteration: 660 instructions, 36 loads.
HOCKET_DEVICE void routerZLossParts(const float *logits, double *parts,
                                    Integer tokens, Integer experts) {
  __shared__ double scratch[8];
  int warp = threadIdx.x / 32;
  Integer part = blockIdx.x, end = tokens * (part + 1) / kRouterParts;
  double sum = 0;
  for (Integer t = tokens * part / kRouterParts + warp; t < end; t += 8) {
    double lse = routerLogSumExp(logits + t * experts, experts);
    sum += lse * lse;
  }
  if (threadIdx.x % 32 == 0)
    scratch[warp] = sum;
  __syncthreads();
  if (threadIdx.x > 0)
    return;
  for (int other = 1; other < 8; ++other)
    sum += scratch[other];
  parts[part] = sum;
}

/// Budget: 64 registers; a thread: 85 instructions, 32 loads, 1 store.
HOCKET_DEVICE void routerZLoss(const double *parts, float *loss) {
  double sum = 0;
  for (Integer part = 0; part < kRouterParts; ++part)
    sum += parts[part];
  *loss = static_cast<float>(sum);
}

/// Budget: 48 registers; an iteration: 135 instructions, 2 loads, 2 stores.
HOCKET_DEVICE void routerZLossGradient(const float *dloss, const float *logits,
                                       float *dlogits, Integer tokens,
                                       Integer experts) {
  Integer token = tokenOfWarp();
  if (token >= tokens)
    return;
  const float *row = logits + token * experts;
  double lse = routerLogSumExp(row, experts), factor = 2.0 * *dloss * lse;
  for (Integer e = threadIdx.x % 32; e < experts; e += 32)
    dlogits[token * experts + e] =
        static_cast<float>(factor * exp(row[e] - lse));
}

/// One block of 256 threads.
///
/// Budget: 32 registers; an iteration: 115 instructions, 15 loads, 4 stores.
HOCKET_DEVICE void balanceBias(const float *bias, const float *counts,
                               const float *skip, float *result,
                               Integer experts, double rate) {
  __shared__ double scratch[256];
  double sum = 0;
  for (Integer e = threadIdx.x; e < experts; e += 256)
    sum += counts[e];
  double mean = sumBlock<256>(sum, scratch) / static_cast<double>(experts);
  for (Integer e = threadIdx.x; e < experts; e += 256) {
    int sign = (counts[e] < mean) - (counts[e] > mean);
    result[e] =
        *skip != 0 ? bias[e] : static_cast<float>(bias[e] + rate * sign);
  }
}

} // namespace hocket::cuda

#endif // HOCKET_KERNELS_CUDA_ROUTER_CUH
