//===- PlanPage.h - A searched plan as a page -------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_PLANPAGE_H
#define HOCKET_COMPILER_TOOLS_PLANPAGE_H

#include "compiler/tools/Neighbours.h"

namespace hocket {

/// What the page shows.
struct PlanPageContent {
  const planning::CostProblem &problem;
  const planning::SearchResult &result;
  const std::vector<planning::PricedPlan> &front;
  const std::vector<Neighbour> &neighbours;
};

/// One self-contained HTML file, without scripts and without anything from a
/// network: the chosen plan and its price, time against memory of the Pareto
/// front, memory of every rank against the device's, when each pass runs, and
/// the rejected neighbours. The totals carry `data-nanoseconds` and
/// `data-bytes`.
StatusOr<std::string> planPage(const PlanPageContent &content);

} // namespace hocket

#endif // HOCKET_COMPILER_TOOLS_PLANPAGE_H
