//===- PlanPage.h - A searched plan as a page -------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_PLANNING_PLANPAGE_H
#define HOCKET_COMPILER_TOOLS_PLANNING_PLANPAGE_H

#include "compiler/tools/planning/Neighbours.h"

#include <nlohmann/json_fwd.hpp>

namespace hocket {

/// What the page shows.
struct PlanPageContent {
  const planning::CostProblem &problem;
  const planning::SearchResult &result;
  const std::vector<planning::PricedPlan> &front;
  const std::vector<Neighbour> &neighbours;
};

/// What the page shows, which stands in its element #data:
///
///   model, system, devices, plan, spread, gap, bounded, priced, parameters,
///   sequence, global_batch, tokens_per_second, flops_per_second, peak_flops
///   nanoseconds, bytes, host_bytes, capacity   of the chosen plan
///   busiest, fullest        the pipeline ranks that `time` and `bytes` are of
///   time                    [{"name", "value"}], in nanoseconds
///   memory[rank]            the same of each pipeline rank, in bytes
///   front                   [{"plan", "nanoseconds", "bytes"}], the Pareto
///   front timeline                passes, as in PageReport.h; "whole": whether
///   all of
///                           them, or as many as can be drawn from the first on
///   neighbours              [{"change", "plan", "reason"}]
StatusOr<nlohmann::ordered_json> planPageJson(const PlanPageContent &content);

/// One HTML file with everything in it, in the design of `inspect --html`.
StatusOr<std::string> planPage(const PlanPageContent &content);

} // namespace hocket

#endif // HOCKET_COMPILER_TOOLS_PLANNING_PLANPAGE_H
