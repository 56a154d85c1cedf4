//===- PlanProblemText.h - A plan search as text ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Everything that a search of plans is told:
///
///     plan-problem
///     system h100            # one of those that are shipped
///     devices 8
///     memory 34359738368     # bytes that a rank may use; left out: any
///     top 3                  # how many plans; left out: 1
///     compiled 1             # memory as of Hocket's programs; left out: 0
///     offload 1              # look at plans that offload; left out: 0
///     keep tp=2,recompute=full   # what plans have; left out: anything
///     layers 8               # and so on: the model's and the step's sizes
///     sequence 4096
///     next-layers 3 0 1 0 0 0    # as often as one likes, in order: how many
///                                # layers, whether they have attention and a
///                                # scan, its window, the MLP's width, whether
///                                # they have experts
///
/// Sizes that are left out have the defaults of ModelShape and StepShape.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_SEARCH_PLANPROBLEMTEXT_H
#define HOCKET_PASSES_PLANNING_SEARCH_PLANPROBLEMTEXT_H

#include "passes/planning/search/PlanSearch.h"

#include <string>
#include <string_view>

namespace hocket::planning {

struct PlanProblem {
  CostProblem cost;
  PlanConstraints constraints;
  SearchOptions options;
};

/// Refuses what is not such a text (Q30), with `file`, line and column, and
/// sizes that checkShapes refuses.
StatusOr<PlanProblem> readPlanProblem(std::string_view file,
                                      std::string_view text);

/// What is read back as the same. The system is written by its name.
std::string writePlanProblem(const PlanProblem &problem);

/// Ok, or which of the plans found is none (Q80): it does not pass checkPlan or
/// keep the constraints, has no room or another price than priceStep's, or is
/// faster than the one before it.
Status validatePlans(const PlanProblem &problem, const SearchResult &result);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_SEARCH_PLANPROBLEMTEXT_H
