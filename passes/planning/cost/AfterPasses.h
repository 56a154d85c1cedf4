//===- AfterPasses.h - Sums of gradients, and the update --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a pipeline rank does beside and after its passes. Gradients are summed
/// over the ranks that hold the same parameters, beside the last backward pass
/// as far as the software overlaps them; with ZeRO the updated parameters are
/// gathered beside the first forward pass; with stage 3 parameters are
/// gathered for every pass of every microbatch.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_COST_AFTERPASSES_H
#define HOCKET_PASSES_PLANNING_COST_AFTERPASSES_H

#include "passes/planning/cost/RankParameters.h"
#include "passes/planning/cost/StepCost.h"

namespace hocket::planning {

/// Seconds of one pipeline rank.
struct AfterPasses {
  double data = 0;
  double update = 0;
  double offload = 0; ///< Of the optimizer's state; the update hides the rest.

  double seconds() const { return data + update + offload; }
};

/// `held`: the plan's rankParameters.
std::vector<AfterPasses> afterPasses(const CostProblem &problem,
                                     const ParallelPlan &plan,
                                     const StageCosts &stages,
                                     const std::vector<RankParameters> &held);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_COST_AFTERPASSES_H
