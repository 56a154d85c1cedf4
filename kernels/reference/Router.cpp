//===- Router.cpp - Which experts a token goes to -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/reference/Router.h"

#include "kernels/reference/Experts.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace hocket::kernels {
namespace {

/// Added to a sum of scores before it divides: all of them may be 0.
constexpr double kTiny = 1e-20;

void computeScores(const RouterShape &shape, const float *row, double *scores) {
  double shift = shape.sigmoid ? 0 : logSumExp(row, shape.experts);
  for (int64_t e = 0; e < shape.experts; ++e) {
    double x = row[e];
    scores[e] = shape.sigmoid ? 1 / (1 + std::exp(-x)) : std::exp(x - shift);
  }
}

/// 1 over the sum of the scores where q needs it.
double shareFactor(const RouterShape &shape, const double *scores) {
  if (!shape.sigmoid)
    return 1;
  double sum = kTiny;
  for (int64_t e = 0; e < shape.experts; ++e)
    sum += scores[e];
  return 1 / sum;
}

/// What follows `last` (-1: nothing yet) in the order of the greatest first, of
/// equals the lower index first.
int64_t nextGreatest(const double *values, int64_t count, int64_t last) {
  int64_t best = -1;
  for (int64_t i = 0; i < count; ++i) {
    bool follows = last < 0 || values[i] < values[last] ||
                   (values[i] == values[last] && i > last);
    if (follows && (best < 0 || values[i] > values[best]))
      best = i;
  }
  return best;
}

/// Makes the scores of all experts outside the best groups the least.
/// `scratch` has room for a number a group.
void closeGroups(const RouterShape &shape, double *biased, double *scratch) {
  int64_t length = shape.experts / shape.groups;
  int64_t counted =
      std::clamp<int64_t>(shape.topK / shape.topkGroups, 1, length);
  for (int64_t g = 0; g < shape.groups; ++g) {
    const double *group = biased + g * length;
    scratch[g] = 0;
    for (int64_t i = 0, last = -1; i < counted; ++i) {
      last = nextGreatest(group, length, last);
      scratch[g] += group[last];
    }
    if (std::isnan(scratch[g]))
      scratch[g] = -HUGE_VAL;
  }
  int64_t last = -1;
  for (int64_t i = 0; i < shape.topkGroups; ++i)
    last = nextGreatest(scratch, shape.groups, last);
  for (int64_t g = 0; g < shape.groups; ++g)
    if (scratch[g] < scratch[last] || (scratch[g] == scratch[last] && g > last))
      std::fill_n(biased + g * length, length, -HUGE_VAL);
}

} // namespace

double logSumExp(const float *row, int64_t experts) {
  double greatest = *std::max_element(row, row + experts), sum = 0;
  for (int64_t e = 0; e < experts; ++e)
    sum += std::exp(double(row[e]) - greatest);
  return greatest + std::log(sum);
}

void routeToken(const RouterArguments &args, int64_t token, double *scratch) {
  const RouterShape &shape = args.shape;
  double *scores = scratch, *biased = scratch + shape.experts;
  const float *row = args.logits + token * shape.experts, *bias = args.bias;
  if (args.bySequence)
    bias += token / (shape.tokens / shape.sequences) * shape.experts;
  computeScores(shape, row, scores);
  for (int64_t e = 0; e < shape.experts; ++e) {
    biased[e] = (args.bySequence ? row[e] : scores[e]) + (bias ? bias[e] : 0);
    if (std::isnan(biased[e]))
      biased[e] = -HUGE_VAL;
  }
  if (shape.groups > 1)
    closeGroups(shape, biased, scratch + 2 * shape.experts);
  int32_t *chosen = args.chosen + token * shape.topK;
  double sum = kTiny;
  int64_t last = -1;
  for (int64_t j = 0; j < shape.topK; ++j) {
    last = nextGreatest(biased, shape.experts, last);
    chosen[j] = int32_t(last);
    sum += scores[last];
  }
  double factor = shape.scale / (shape.renormalise ? sum : 1);
  for (int64_t j = 0; j < shape.topK; ++j)
    args.weights[token * shape.topK + j] = float(scores[chosen[j]] * factor);
}

void balanceSequence(const float *logits, int64_t each, int64_t experts,
                     double *costs, double *columns, double *sums,
                     float *bias) {
  // A row's scale does not matter, and its greatest number is made 1.
  for (int64_t t = 0; t < each; ++t) {
    const float *row = logits + t * experts;
    double most = *std::max_element(row, row + experts);
    for (int64_t e = 0; e < experts; ++e)
      costs[t * experts + e] = std::exp(row[e] - most);
  }
  std::fill_n(columns, experts, 1.0);
  double change = HUGE_VAL;
  for (int i = 0; i < kSinkhornRounds && change > kSinkhornTolerance; ++i) {
    std::fill_n(sums, experts, 0.0);
    for (int64_t t = 0; t < each; ++t) {
      const double *row = costs + t * experts;
      double sum = 0;
      for (int64_t e = 0; e < experts; ++e)
        sum += columns[e] * row[e];
      double scale = 1 / (double(each) * (sum + kSinkhornTiny));
      for (int64_t e = 0; e < experts; ++e)
        sums[e] += scale * row[e];
    }
    change = 0;
    for (int64_t e = 0; e < experts; ++e) {
      double next = 1 / (double(experts) * (sums[e] + kSinkhornTiny));
      change += std::abs(next - columns[e]) / double(experts);
      columns[e] = next;
    }
  }
  for (int64_t e = 0; e < experts; ++e)
    bias[e] = float(std::log(columns[e]));
}

void routeTokenGradient(const RouterGradientArguments &args, int64_t token,
                        double *scratch) {
  const RouterShape &shape = args.shape;
  double *scores = scratch, *grad = scratch + shape.experts;
  computeScores(shape, args.logits + token * shape.experts, scores);
  const int32_t *chosen = args.chosen + token * shape.topK;
  const float *dweights = args.dweights + token * shape.topK;
  double sum = kTiny, dot = 0;
  for (int64_t j = 0; j < shape.topK; ++j) {
    sum += scores[chosen[j]];
    dot += dweights[j] * scores[chosen[j]];
  }
  std::fill_n(grad, shape.experts, 0.0);
  double mean = 0; // of the scores' gradient under a softmax
  for (int64_t j = 0; j < shape.topK; ++j) {
    double g = shape.renormalise ? (dweights[j] - dot / sum) / sum
                                 : double(dweights[j]);
    grad[chosen[j]] = shape.scale * g;
    mean += shape.scale * g * scores[chosen[j]];
  }
  for (int64_t e = 0; e < shape.experts; ++e) {
    double slope = shape.sigmoid ? grad[e] * (1 - scores[e]) : grad[e] - mean;
    args.dlogits[token * shape.experts + e] = float(scores[e] * slope);
  }
}

void addProbabilities(const RouterShape &shape, const float *row, double *sums,
                      double *scratch) {
  computeScores(shape, row, scratch);
  double factor = shareFactor(shape, scratch);
  for (int64_t e = 0; e < shape.experts; ++e)
    sums[e] += scratch[e] * factor;
}

void probabilitiesGradient(const RouterProbabilitiesGradientArguments &args,
                           int64_t token, double *scratch) {
  const RouterShape &shape = args.shape;
  computeScores(shape, args.logits + token * shape.experts, scratch);
  double factor = shareFactor(shape, scratch), mean = 0;
  const float *dsums =
      args.dsums + token / (shape.tokens / shape.sequences) * shape.experts;
  for (int64_t e = 0; e < shape.experts; ++e)
    mean += dsums[e] * scratch[e] * factor;
  for (int64_t e = 0; e < shape.experts; ++e)
    args.dlogits[token * shape.experts + e] =
        float(scratch[e] * factor * (dsums[e] - mean) *
              (shape.sigmoid ? 1 - scratch[e] : 1));
}

void zLossGradient(const RouterZLossGradientArguments &args, int64_t token) {
  int64_t experts = args.shape.experts;
  const float *row = args.logits + token * experts;
  double lse = logSumExp(row, experts);
  for (int64_t e = 0; e < experts; ++e)
    args.dlogits[token * experts + e] =
        float(2 * double(args.dloss[0]) * lse * std::exp(row[e] - lse));
}

//===----------------------------------------------------------------------===//
// All tokens
//===----------------------------------------------------------------------===//

KernelError reference::router(const RouterArguments &args) {
  std::vector<double> scratch(routerScratch(args.shape.experts));
  for (int64_t t = 0; t < args.shape.tokens; ++t)
    routeToken(args, t, scratch.data());
  return nullptr;
}

KernelError reference::sinkhorn(const SinkhornArguments &args) {
  int64_t experts = args.shape.experts, sequences = args.shape.sequences;
  int64_t each = args.shape.tokens / sequences;
  std::vector<double> costs(each * experts), columns(experts), sums(experts);
  for (int64_t s = 0; s < sequences; ++s)
    balanceSequence(args.logits + s * each * experts, each, experts,
                    costs.data(), columns.data(), sums.data(),
                    args.bias + s * experts);
  return nullptr;
}

KernelError reference::routerGradient(const RouterGradientArguments &args) {
  const RouterShape &shape = args.shape;
  if (KernelError error =
          checkExperts(args.chosen, shape.tokens * shape.topK, shape.experts))
    return error;
  std::vector<double> scratch(routerScratch(shape.experts));
  for (int64_t t = 0; t < shape.tokens; ++t)
    routeTokenGradient(args, t, scratch.data());
  return nullptr;
}

KernelError
reference::routerProbabilities(const RouterProbabilitiesArguments &args) {
  const RouterShape &shape = args.shape;
  int64_t experts = shape.experts, each = shape.tokens / shape.sequences;
  std::vector<double> scratch(routerScratch(experts));
  for (int64_t s = 0; s < shape.sequences; ++s) {
    std::vector<double> sums(experts);
    for (int64_t t = s * each; t < (s + 1) * each; ++t)
      addProbabilities(shape, args.logits + t * experts, sums.data(),
                       scratch.data());
    std::copy(sums.begin(), sums.end(), args.sums + s * experts);
  }
  return nullptr;
}

KernelError reference::routerProbabilitiesGradient(
    const RouterProbabilitiesGradientArguments &args) {
  std::vector<double> scratch(routerScratch(args.shape.experts));
  for (int64_t t = 0; t < args.shape.tokens; ++t)
    probabilitiesGradient(args, t, scratch.data());
  return nullptr;
}

KernelError reference::routerZLoss(const RouterZLossArguments &args) {
  double sum = 0;
  for (int64_t t = 0; t < args.shape.tokens; ++t) {
    double lse =
        logSumExp(args.logits + t * args.shape.experts, args.shape.experts);
    sum += lse * lse;
  }
  args.loss[0] = float(sum);
  return nullptr;
}

KernelError
reference::routerZLossGradient(const RouterZLossGradientArguments &args) {
  for (int64_t t = 0; t < args.shape.tokens; ++t)
    zLossGradient(args, t);
  return nullptr;
}

KernelError reference::balanceBias(const BalanceBiasArguments &args) {
  double sum = 0;
  for (int64_t e = 0; e < args.experts; ++e)
    sum += args.counts[e];
  double mean = sum / double(args.experts);
  for (int64_t e = 0; e < args.experts; ++e) {
    int sign = (args.counts[e] < mean) - (args.counts[e] > mean);
    args.result[e] = args.skip[0] != 0 ? args.bias[e]
                                       : float(args.bias[e] + args.rate * sign);
  }
  return nullptr;
}

} // namespace hocket::kernels
