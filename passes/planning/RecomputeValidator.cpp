//===- RecomputeValidator.cpp - Whether a recompute plan is right ---------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/RecomputePlan.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::planning;

namespace {

Status refuse(size_t rank, const std::string &reason) {
  return invalidArgument("rank " + std::to_string(rank) + ": " + reason);
}

/// Bytes at the moment when block `block` is recomputed.
int64_t bytesDuring(int64_t block, const RecomputeRank &rank,
                    const RankRecompute &plan) {
  int64_t bytes = rank.fixed;
  for (size_t i = 0; i < rank.residuals.size(); ++i) {
    if (!plan.recomputed[i])
      bytes += rank.residuals[i].bytes * rank.residuals[i].live;
    else if (plan.blocks[i] == block)
      bytes += rank.residuals[i].bytes;
  }
  return bytes;
}

/// An input that is not saved is the output of the layer before it, which has
/// to be recomputed in the same block, from its own input on.
bool inputIsMade(const RecomputeRank &rank, const RankRecompute &plan,
                 size_t input) {
  const Residual &wanted = rank.residuals[input];
  int64_t before = -1;
  for (const Residual &other : rank.residuals)
    if (other.chunk == wanted.chunk && other.layer < wanted.layer)
      before = std::max(before, other.layer);
  if (before < 0)
    return false;
  for (size_t i = 0; i < rank.residuals.size(); ++i)
    if (rank.residuals[i].chunk == wanted.chunk &&
        rank.residuals[i].layer == before &&
        plan.blocks[i] != plan.blocks[input])
      return false;
  return true;
}

Status validateRank(size_t index, double microbatches,
                    const RecomputeRank &rank, const RankRecompute &plan) {
  size_t count = rank.residuals.size();
  if (plan.recomputed.size() != count || plan.blocks.size() != count)
    return refuse(index, "the plan is of other residuals");
  int64_t peak = bytesDuring(-1, rank, plan);
  double seconds = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!plan.recomputed[i])
      continue;
    if (rank.residuals[i].group == ResidualGroup::Input &&
        !inputIsMade(rank, plan, i))
      return refuse(index, "nothing makes the input of layer " +
                               std::to_string(rank.residuals[i].layer));
    peak = std::max(peak, bytesDuring(plan.blocks[i], rank, plan));
    seconds += rank.residuals[i].seconds * microbatches;
  }
  double margin = 1e-9 * std::max(1.0, seconds);
  if (peak != plan.peak)
    return refuse(index, "the peak is " + std::to_string(peak) + ", not " +
                             std::to_string(plan.peak));
  if (std::abs(seconds - plan.seconds) > margin)
    return refuse(index, "recomputing takes " + std::to_string(seconds) +
                             " seconds, not " + std::to_string(plan.seconds));
  if (peak > rank.budget)
    return refuse(index, "the peak is above the budget");
  if (plan.bound > plan.seconds + margin)
    return refuse(index, "the bound is above the time");
  return okStatus();
}

} // namespace

Status hocket::planning::validateRecompute(const RecomputeProblem &problem,
                                           const RecomputePlan &plan) {
  if (plan.ranks.size() != problem.ranks.size())
    return invalidArgument("the plan is of another number of ranks");
  for (size_t rank = 0; rank < plan.ranks.size(); ++rank)
    HOCKET_RETURN_IF_ERROR(validateRank(rank, double(problem.microbatches),
                                        problem.ranks[rank], plan.ranks[rank]));
  return okStatus();
}
