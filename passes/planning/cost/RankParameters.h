//===- RankParameters.h - Which parameters a rank holds ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_COST_RANKPARAMETERS_H
#define HOCKET_PASSES_PLANNING_COST_RANKPARAMETERS_H

#include "passes/planning/Schedule.h"
#include "passes/planning/cost/ParallelPlan.h"

#include <array>

namespace hocket::planning {

/// Numbers of one rank, before anything is sharded over data-parallel ranks.
struct RankParameters {
  double dense = 0;   ///< Summed over dp * cp ranks.
  double experts = 0; ///< Routed ones, summed over those with the same.
  double layers = 0;  ///< Of both, those of layers.
  /// Beside those, of a tower and its projector (VisionShape); summed as
  /// `dense`, and of them those that are trained.
  double vision = 0, visionTrained = 0;

  double all() const { return dense + experts; }
};

/// Bytes of a parameter's copies: read by GEMMs, gradient, and the rest.
std::array<double, 3> bytesOfParameter(const StepShape &step);

/// Of every pipeline rank; the ranks of one stage hold as many each.
std::vector<RankParameters> rankParameters(const ModelShape &model,
                                           const ParallelPlan &plan,
                                           Placement placement);

/// Where the plan's schedule puts stages.
Placement stagePlacement(const ParallelPlan &plan);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_COST_RANKPARAMETERS_H
