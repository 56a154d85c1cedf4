//===- PlanPage.cpp - A searched plan as a page ---------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/planning/PlanPage.h"

#include "compiler/tools/planning/PlanReport.h"
#include "runtime/tools/page/Page.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

using namespace hocket;
using namespace hocket::planning;
using nlohmann::ordered_json;

/// The passes of every rank up to a time by which at most this many began.
static constexpr size_t mostPasses = 20000;
/// Units of time in what is shown: a page cannot show less.
static constexpr double ticksShown = 1e7;

static ordered_json timeJson(const StepCost &cost) {
  ordered_json items = ordered_json::array();
  for (size_t item = 0; item < kTimeItems; ++item)
    items.push_back({{"name", spelled(TimeItem(item))},
                     // What rounding leaves of a bubble may be below 0.
                     {"value", std::max<int64_t>(0, cost.items[item])}});
  return items;
}

static ordered_json memoryJson(const StepCost &cost) {
  ordered_json ranks = ordered_json::array();
  for (const RankMemory &memory : cost.memory) {
    ordered_json &items = ranks.emplace_back(ordered_json::array());
    for (size_t item = 0; item < kMemoryItems; ++item)
      items.push_back(
          {{"name", spelled(MemoryItem(item))}, {"value", memory.items[item]}});
  }
  return ranks;
}

namespace {

/// The kinds of passes that lanes are made of, in the order of their index.
constexpr const char *passNames[] = {"forward", "backward", "weight gradient"};

size_t passOf(ActionKind kind) {
  return kind == ActionKind::F ? 0 : kind == ActionKind::W ? 2 : 1;
}

/// One pipeline rank's passes until a time.
ordered_json laneJson(const std::vector<Action> &actions,
                      const RankTimeline &timeline, size_t rank, double until,
                      double tick) {
  ordered_json runs = ordered_json::array();
  std::vector<double> seconds(std::size(passNames), 0);
  for (size_t i = 0; i < actions.size(); ++i) {
    const ActionTime &time = timeline.times[i];
    if (time.start >= until)
      break;
    double end = std::min(time.end, until);
    size_t pass = passOf(actions[i].kind);
    seconds[pass] = end - time.start;
    runs.push_back({pass, actions[i].microbatch,
                    std::llround(time.start / tick),
                    std::llround((end - time.start) / tick), 0});
  }
  ordered_json parts = ordered_json::array();
  for (double length : seconds)
    parts.push_back(ordered_json::array({{0, 0, length / tick}}));
  return {{"name", "rank " + std::to_string(rank)},
          {"ranks", 1},
          {"first_rank", rank},
          {"streams", ordered_json::array()},
          {"fragments", passNames},
          {"parts", parts},
          {"runs", runs},
          {"beside", ordered_json::array()}};
}

} // namespace

static StatusOr<ordered_json> passesJson(const CostProblem &problem,
                                         const ParallelPlan &plan) {
  HOCKET_ASSIGN_OR_RETURN(PlayedPlan played, playPlan(problem, plan));
  const auto &[schedule, timeline] = played;
  std::vector<double> starts;
  for (const RankTimeline &rank : timeline.ranks)
    for (const ActionTime &time : rank.times)
      starts.push_back(time.start);
  std::sort(starts.begin(), starts.end());
  bool whole = starts.size() <= mostPasses;
  double until = whole ? timeline.makespan : starts[mostPasses];
  double tick = until > 0 ? until / ticksShown : 1;
  ordered_json roles = ordered_json::array();
  for (size_t rank = 0; rank < timeline.ranks.size(); ++rank)
    roles.push_back(laneJson(schedule.ranks[rank], timeline.ranks[rank], rank,
                             until, tick));
  return ordered_json{{"seconds", until * 1e-9},
                      {"tick", tick * 1e-9},
                      {"whole", whole},
                      {"texts", {"compute"}},
                      {"roles", std::move(roles)}};
}

StatusOr<ordered_json> hocket::planPageJson(const PlanPageContent &content) {
  const CostProblem &problem = content.problem;
  const PricedPlan &best = content.result.best[0];
  HOCKET_ASSIGN_OR_RETURN(ordered_json passes, passesJson(problem, best.plan));
  ordered_json front = ordered_json::array(), neighbours = front;
  for (const PricedPlan &plan : content.front)
    front.push_back({{"plan", printPlan(plan.plan)},
                     {"nanoseconds", plan.cost.nanoseconds()},
                     {"bytes", plan.cost.bytes()}});
  for (const Neighbour &neighbour : content.neighbours)
    neighbours.push_back({{"change", neighbour.change},
                          {"plan", neighbour.plan},
                          {"reason", neighbour.reason}});
  PlanSpeed speed = speedOf(problem, best.cost);
  return ordered_json{{"model", problem.model.name},
                      {"system", problem.system.name()},
                      {"devices", problem.devices},
                      {"plan", printPlan(best.plan)},
                      {"spread", spreadOf(problem)},
                      {"gap", content.result.gap()},
                      {"bounded", content.result.fine},
                      {"priced", content.result.priced},
                      {"parameters", problem.model.parameters()},
                      {"sequence", problem.step.sequence},
                      {"global_batch", problem.step.globalBatch},
                      {"tokens_per_second", speed.tokensPerSecond},
                      {"flops_per_second", speed.flopsPerSecond},
                      {"peak_flops", speed.peakFlops},
                      {"nanoseconds", best.cost.nanoseconds()},
                      {"bytes", best.cost.bytes()},
                      {"host_bytes", best.cost.hostBytes()},
                      {"capacity", problem.system.device().memory_bytes()},
                      {"busiest", best.cost.busiest},
                      {"fullest", best.cost.fullest},
                      {"time", timeJson(best.cost)},
                      {"memory", memoryJson(best.cost)},
                      {"front", std::move(front)},
                      {"timeline", std::move(passes)},
                      {"neighbours", std::move(neighbours)}};
}

StatusOr<std::string> hocket::planPage(const PlanPageContent &content) {
  HOCKET_ASSIGN_OR_RETURN(ordered_json data, planPageJson(content));
  return pageText(planPageParts, data);
}
