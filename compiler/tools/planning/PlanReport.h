//===- PlanReport.h - Plans and prices as text and JSON ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_PLANNING_PLANREPORT_H
#define HOCKET_COMPILER_TOOLS_PLANNING_PLANREPORT_H

#include "compiler/tools/planning/PlanProblem.h"
#include "passes/planning/ScheduleSimulator.h"

#include <nlohmann/json_fwd.hpp>

namespace hocket {

/// How much a device does under a price.
struct PlanSpeed {
  double tokensPerSecond = 0;
  double flopsPerSecond = 0; ///< The model's alone.
  double peakFlops = 0;      ///< Of its GEMMs.
};
PlanSpeed speedOf(const planning::CostProblem &problem,
                  const planning::StepCost &cost);

/// A step's time with its spread, tokens, FLOP/s and utilisation: one line.
std::string summaryText(const planning::CostProblem &problem,
                        const planning::StepCost &cost);

/// The items of time and memory, as shares of their sums, the largest first.
std::string priceText(const planning::StepCost &cost);

/// Bytes of every pipeline rank against the device's.
std::string memoryText(const planning::CostProblem &problem,
                       const planning::StepCost &cost);

/// The items of one price beside those of another; differences sum exactly to
/// that of the totals.
std::string differenceText(const std::vector<PriceItem> &before,
                           const std::vector<PriceItem> &after);

/// A plan's schedule, and when each of its passes runs, in nanoseconds.
struct PlayedPlan {
  planning::Schedule schedule;
  planning::Timeline timeline;
};

StatusOr<PlayedPlan> playPlan(const planning::CostProblem &problem,
                              const planning::ParallelPlan &plan);

nlohmann::json jsonOf(const planning::CostProblem &problem,
                      const planning::PricedPlan &plan);

} // namespace hocket

#endif // HOCKET_COMPILER_TOOLS_PLANNING_PLANREPORT_H
