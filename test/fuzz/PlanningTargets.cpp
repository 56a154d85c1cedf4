//===- PlanningTargets.cpp - Schedules, shardings, problems ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/RecomputePlan.h"
#include "passes/planning/ScheduleText.h"
#include "passes/planning/StageBalance.h"
#include "passes/planning/cost/ParallelPlan.h"
#include "passes/planning/memory/MemoryCsv.h"
#include "passes/planning/search/PlanProblemText.h"
#include "passes/planning/strategy/ChosenSplits.h"
#include "passes/planning/strategy/StrategyText.h"
#include "runtime/cluster/Systems.h"
#include "test/fuzz/Target.h"

using namespace hocket;
using namespace hocket::planning;

namespace {
/// What is read can be written, and is then read as the same.
template <typename Read, typename Write>
fuzz::Target roundTrip(Read read, Write write) {
  return [=](std::string_view bytes) {
    auto value = read("fuzz", bytes);
    if (!value.ok())
      return;
    std::string once = write(*value);
    auto again = read("written", once);
    fuzz::require(again.ok(), "what was written is read");
    fuzz::require(write(*again) == once, "it is written as it was");
  };
}
} // namespace

void fuzz::addPlanningTargets(std::map<std::string, Target> &targets) {
  targets["schedule"] = roundTrip(readSchedule, writeSchedule);
  targets["schedule-problem"] = roundTrip(readProblem, writeProblem);
  targets["recompute-problem"] =
      roundTrip(readRecomputeProblem, writeRecomputeProblem);
  targets["stage-balance"] = roundTrip(readStageBalance, writeStageBalance);
  targets["plan-problem"] = roundTrip(readPlanProblem, writePlanProblem);
  targets["strategy-problem"] =
      roundTrip(readStrategyProblem, writtenStrategyProblem);
  targets["strategy-choice"] =
      roundTrip(readStrategyChoice, writtenStrategyChoice);
  targets["plan"] = roundTrip(
      [](std::string_view, std::string_view text) { return parsePlan(text); },
      printPlan);
  targets["shardings"] = [](std::string_view bytes) {
    (void)readChosenSplits("fuzz", bytes);
  };
  targets["memory-table"] = [](std::string_view bytes) {
    (void)readMemoryCsv("fuzz", bytes);
  };
  targets["cluster"] = [](std::string_view bytes) {
    (void)cluster::parseSystem("fuzz", std::string(bytes));
  };
}
