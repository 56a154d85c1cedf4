//===- WhyNot.h - What keeps a plan from being best -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_PLANNING_WHYNOT_H
#define HOCKET_COMPILER_TOOLS_PLANNING_WHYNOT_H

#include "compiler/tools/planning/PlanReport.h"

namespace hocket {

/// The fastest plan with the values that `text` fixes ("tp=8,pp=16"): what it
/// takes more than `best`, item by item; or, where it does not fit `memory`,
/// which rank has too many bytes, and of what; or why there is none. Refuses
/// text that is not of that form.
StatusOr<std::string> whyNot(const planning::CostProblem &problem,
                             const std::string &text, int64_t memory,
                             const planning::PricedPlan &best);

/// Of a price that does not fit: "pipeline rank 3 needs 93.10 GiB, 17.10 GiB
/// more than the 76.00 GiB that it may use: activations 61.20 GiB, ...".
std::string overflowText(const planning::CostProblem &problem,
                         const planning::StepCost &cost, int64_t memory);

} // namespace hocket

#endif // HOCKET_COMPILER_TOOLS_PLANNING_WHYNOT_H
