//===- Router.cpp - Which experts a token goes to, on the CPU -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/Router.h"

#include "kernels/reference/Experts.h"

#include <algorithm>

namespace hocket::kernels {
namespace {

static_assert(routerScratch(kMostExperts) * sizeof(double) <=
              kScratchBytesPerWorker);

constexpr int64_t kRouterTokensPerTask = 16;

/// Calls fn(token, scratch) for every token.
template <typename Fn>
void forEachToken(const RouterShape &shape, Workers &workers, Fn fn) {
  auto task = [&](int64_t index, int worker) {
    auto *scratch = reinterpret_cast<double *>(workers.scratch(worker).data());
    int64_t end = std::min(shape.tokens, (index + 1) * kRouterTokensPerTask);
    for (int64_t t = index * kRouterTokensPerTask; t < end; ++t)
      fn(t, scratch);
  };
  workers.run((shape.tokens + kRouterTokensPerTask - 1) / kRouterTokensPerTask,
              task);
}

/// Calls fn(part, token, scratch) for the tokens of each part, in order. Every
/// sequence has kRouterParts of them.
template <typename Fn>
void forEachPart(const RouterShape &shape, Workers &workers, Fn fn) {
  int64_t each = shape.tokens / shape.sequences;
  auto task = [&](int64_t part, int worker) {
    auto *scratch = reinterpret_cast<double *>(workers.scratch(worker).data());
    int64_t first = part / kRouterParts * each, own = part % kRouterParts;
    int64_t end = first + each * (own + 1) / kRouterParts;
    for (int64_t t = first + each * own / kRouterParts; t < end; ++t)
      fn(part, t, scratch);
  };
  workers.run(shape.sequences * kRouterParts, task);
}

} // namespace

KernelError router(const RouterArguments &args, Workers &workers) {
  forEachToken(args.shape, workers, [&](int64_t token, double *scratch) {
    routeToken(args, token, scratch);
  });
  return nullptr;
}

/// A sequence a task: an iteration needs all of its tokens.
KernelError sinkhorn(const SinkhornArguments &args, Workers &workers) {
  int64_t experts = args.shape.experts, sequences = args.shape.sequences;
  int64_t each = args.shape.tokens / sequences;
  auto task = [&](int64_t s, int worker) {
    auto *scratch = reinterpret_cast<double *>(workers.scratch(worker).data());
    balanceSequence(args.logits + s * each * experts, each, experts,
                    args.work + s * each * experts, scratch, scratch + experts,
                    args.bias + s * experts);
  };
  workers.run(sequences, task);
  return nullptr;
}

KernelError routerGradient(const RouterGradientArguments &args,
                           Workers &workers) {
  const RouterShape &shape = args.shape;
  if (KernelError error =
          checkExperts(args.chosen, shape.tokens * shape.topK, shape.experts))
    return error;
  forEachToken(shape, workers, [&](int64_t token, double *scratch) {
    routeTokenGradient(args, token, scratch);
  });
  return nullptr;
}

KernelError routerProbabilities(const RouterProbabilitiesArguments &args,
                                double *parts, Workers &workers) {
  int64_t experts = args.shape.experts, sequences = args.shape.sequences;
  std::fill_n(parts, sequences * kRouterParts * experts, 0.0);
  forEachPart(args.shape, workers,
              [&](int64_t part, int64_t token, double *scratch) {
                addProbabilities(args.shape, args.logits + token * experts,
                                 parts + part * experts, scratch);
              });
  for (int64_t s = 0; s < sequences; ++s)
    for (int64_t e = 0; e < experts; ++e) {
      double sum = 0;
      for (int64_t part = 0; part < kRouterParts; ++part)
        sum += parts[(s * kRouterParts + part) * experts + e];
      args.sums[s * experts + e] = float(sum);
    }
  return nullptr;
}

KernelError
routerProbabilitiesGradient(const RouterProbabilitiesGradientArguments &args,
                            Workers &workers) {
  forEachToken(args.shape, workers, [&](int64_t token, double *scratch) {
    probabilitiesGradient(args, token, scratch);
  });
  return nullptr;
}

KernelError routerZLoss(const RouterZLossArguments &args, double *parts,
                        Workers &workers) {
  int64_t experts = args.shape.experts;
  std::fill_n(parts, kRouterParts, 0.0);
  forEachPart(args.shape, workers, [&](int64_t part, int64_t token, double *) {
    double lse = logSumExp(args.logits + token * experts, experts);
    parts[part] += lse * lse;
  });
  double sum = 0;
  for (int64_t part = 0; part < kRouterParts; ++part)
    sum += parts[part];
  args.loss[0] = float(sum);
  return nullptr;
}

KernelError routerZLossGradient(const RouterZLossGradientArguments &args,
                                Workers &workers) {
  forEachToken(args.shape, workers,
               [&](int64_t token, double *) { zLossGradient(args, token); });
  return nullptr;
}

} // namespace hocket::kernels
