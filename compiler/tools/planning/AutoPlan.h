//===- AutoPlan.h - hocket compile --plan auto ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Searches a plan for a cluster and compiles it. The search's bytes are an
/// estimate; the plan is the fastest one whose program, laid out rank by rank,
/// fits (FittingPlan.h). So a plan has three numbers for every pipeline rank:
/// what the cost model *priced*, what the memory planner *planned* when the
/// program was laid out, and what the *certificate* of the finished program
/// says, which the checker finds again from the program alone. The last two are
/// equal to the byte, or the compile says where they are not.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_PLANNING_AUTOPLAN_H
#define HOCKET_COMPILER_TOOLS_PLANNING_AUTOPLAN_H

#include "compiler/driver/Compile.h"
#include "compiler/tools/planning/PlanProblem.h"
#include "passes/planning/search/FittingPlan.h"

#include <nlohmann/json_fwd.hpp>

namespace hocket {

/// What a user gives besides a CompileRequest.
struct AutoPlanOptions {
  std::string cluster;  ///< SYSTEM:DEVICES
  double margin = 0.05; ///< Of a device's memory, what is left free.
};

struct AutoPlan {
  planning::CostProblem problem;
  planning::FittingResult search;
  /// Of the plan that was found, by pipeline rank.
  std::vector<RoleMemory> planned;
  /// What came of it, where laying it out was all but the end of compiling it.
  std::optional<CompileResult> compiled;

  const planning::PricedPlan &best() const { return search.best(); }
};

/// Searches, and has `request` compile what was found; a program is `compiled`
/// at once, unless its phases are wanted. InvalidArgument where no plan fits:
/// which came nearest, and what it needs.
StatusOr<AutoPlan> choosePlan(const AutoPlanOptions &options,
                              CompileRequest &request);

/// Where the certificate's peaks differ from the planned arenas: a line for
/// each pipeline rank, or nothing.
std::string unequalPeaks(const AutoPlan &plan, const program::Program &program);

/// The plan, how it was found, and its bytes: a row for each pipeline rank with
/// what was priced, what was planned, and the difference by kinds.
std::string autoPlanText(const AutoPlan &plan);
nlohmann::json autoPlanJson(const AutoPlan &plan);

} // namespace hocket

#endif // HOCKET_COMPILER_TOOLS_PLANNING_AUTOPLAN_H
