//===- Router.h - Which experts a token goes to -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Routing of a mixture of experts, one row of logits a token, all in f32 with
/// double inside. p is the softmax of a row, or its sigmoids; q is p, or the
/// sigmoids divided by their sum.
///   router                chosen = the topK greatest of p + bias in the
///                         topkGroups best groups, the greatest first, of
///                         equals the lower; weights = scale * p[chosen], over
///                         their sum where renormalise. A group is worth the
///                         sum of its max(1, topK / topkGroups) greatest
///                         (arXiv 2412.19437). A score that is no number
///                         counts as the least.
///                         With a bias for each sequence, logits + bias are
///                         compared, not p + bias.
///   sinkhorn              such a bias: the log of the scales of the columns
///                         of exp(logits), [S, E], whose rows then sum to
///                         1 / S and columns to 1 / E
///   router gradient       dlogits from dweights
///   router probabilities  sums[s, e] = sum over the tokens of sequence s, or
///   of
///                         all as one, of q[t, e]
///   router z-loss         sum over tokens of logsumexp^2 (arXiv 2202.08906)
/// The per-token functions are shared with kernels/cpu, which runs them on
/// several tokens at a time.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_REFERENCE_ROUTER_H
#define HOCKET_KERNELS_REFERENCE_ROUTER_H

#include "kernels/reference/Element.h"

namespace hocket::kernels {

/// Doubles of scratch that a token of `experts` experts needs.
constexpr int64_t routerScratch(int64_t experts) { return 3 * experts; }
inline constexpr int64_t kMostExperts = 65536;

struct RouterShape {
  int64_t tokens = 0;
  int64_t sequences = 1; ///< divides tokens; of what is summed by sequence
  int64_t experts = 1;   ///< in [1, kMostExperts]
  int64_t topK = 1;      ///< in [1, experts]
  int64_t groups = 1;    ///< divides experts
  int64_t topkGroups = 1;
  bool sigmoid = false;
  bool renormalise = false;
  double scale = 1;
};

struct RouterArguments {
  RouterShape shape;
  const float *logits = nullptr; ///< [tokens, experts]
  const float *bias = nullptr;   ///< [experts], or null
  float *weights = nullptr;      ///< [tokens, topK]
  int32_t *chosen = nullptr;     ///< [tokens, topK]
  bool bySequence = false;       ///< bias is [sequences, experts]
};

/// Added to the sums that Sinkhorn's iterations divide by; how little the
/// columns' scales change at the end, in the mean; how many iterations at most.
inline constexpr double kSinkhornTiny = 1e-8, kSinkhornTolerance = 1e-4;
inline constexpr int kSinkhornRounds = 1000;

struct SinkhornArguments {
  RouterShape shape;
  const float *logits = nullptr; ///< [tokens, experts]
  double *work = nullptr;        ///< [tokens + sequences, experts + 1]
  float *bias = nullptr;         ///< [sequences, experts]
};

struct RouterGradientArguments {
  RouterShape shape;
  const float *dweights = nullptr; ///< [tokens, topK]
  const float *logits = nullptr;   ///< [tokens, experts]
  const int32_t *chosen = nullptr; ///< [tokens, topK], each in [0, experts)
  float *dlogits = nullptr;        ///< [tokens, experts]
};

struct RouterProbabilitiesArguments {
  RouterShape shape;
  const float *logits = nullptr; ///< [tokens, experts]
  float *sums = nullptr;         ///< [sequences, experts]
};

struct RouterProbabilitiesGradientArguments {
  RouterShape shape;
  const float *dsums = nullptr;  ///< [sequences, experts]
  const float *logits = nullptr; ///< [tokens, experts]
  float *dlogits = nullptr;      ///< [tokens, experts]
};

struct RouterZLossArguments {
  RouterShape shape;
  const float *logits = nullptr; ///< [tokens, experts]
  float *loss = nullptr;         ///< [1]
};

struct RouterZLossGradientArguments {
  RouterShape shape;
  const float *dloss = nullptr;  ///< [1]
  const float *logits = nullptr; ///< [tokens, experts]
  float *dlogits = nullptr;      ///< [tokens, experts]
};

/// bias[e] += rate * sign(mean(counts) - counts[e]) unless *skip
/// (arXiv 2408.15664).
struct BalanceBiasArguments {
  int64_t experts = 0;
  double rate = 0;
  const float *bias = nullptr;   ///< [experts]
  const float *counts = nullptr; ///< [experts]
  const float *skip = nullptr;   ///< [1]
  float *result = nullptr;       ///< [experts]
};

// One token; `scratch` has routerScratch(experts) doubles.
void routeToken(const RouterArguments &args, int64_t token, double *scratch);
void routeTokenGradient(const RouterGradientArguments &args, int64_t token,
                        double *scratch);
/// The bias of one sequence, whose logits these are, [each, experts]; `costs`
/// is [each, experts], and `columns` and `sums` are [experts].
void balanceSequence(const float *logits, int64_t each, int64_t experts,
                     double *costs, double *columns, double *sums, float *bias);
/// Adds the token's q to `sums`.
void addProbabilities(const RouterShape &shape, const float *row, double *sums,
                      double *scratch);
void probabilitiesGradient(const RouterProbabilitiesGradientArguments &args,
                           int64_t token, double *scratch);
/// logsumexp of `experts` logits.
double logSumExp(const float *row, int64_t experts);
void zLossGradient(const RouterZLossGradientArguments &args, int64_t token);

namespace reference {
[[nodiscard]] KernelError router(const RouterArguments &args);
[[nodiscard]] KernelError sinkhorn(const SinkhornArguments &args);
[[nodiscard]] KernelError routerGradient(const RouterGradientArguments &args);
[[nodiscard]] KernelError
routerProbabilities(const RouterProbabilitiesArguments &args);
[[nodiscard]] KernelError
routerProbabilitiesGradient(const RouterProbabilitiesGradientArguments &args);
[[nodiscard]] KernelError routerZLoss(const RouterZLossArguments &args);
[[nodiscard]] KernelError
routerZLossGradient(const RouterZLossGradientArguments &args);
[[nodiscard]] KernelError balanceBias(const BalanceBiasArguments &args);
} // namespace reference

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_REFERENCE_ROUTER_H
