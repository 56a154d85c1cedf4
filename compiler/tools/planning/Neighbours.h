//===- Neighbours.h - Plans one change away ---------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_PLANNING_NEIGHBOURS_H
#define HOCKET_COMPILER_TOOLS_PLANNING_NEIGHBOURS_H

#include "compiler/tools/planning/PlanProblem.h"

namespace hocket {

/// A plan that differs from the best in one choice, and why it is not the best.
struct Neighbour {
  std::string change; ///< "tp=4"; the data-parallel ranks follow.
  std::string plan;
  std::string reason; ///< One sentence.
};

/// Twice and half of every axis, the microbatch and the virtual stages, every
/// other ZeRO stage, recompute and schedule. Changes that the space does not
/// have are left out.
std::vector<Neighbour> neighboursOf(const planning::CostProblem &problem,
                                    const planning::PricedPlan &best,
                                    int64_t memory);

} // namespace hocket

#endif // HOCKET_COMPILER_TOOLS_PLANNING_NEIGHBOURS_H
