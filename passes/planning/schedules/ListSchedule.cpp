//===- ListSchedule.cpp - A schedule from measured times ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Simulates greedy schedules of several policies, and the named schedules
/// that the problem and its caps admit, and takes the shortest; of equals the
/// one with the least memory on its fullest rank.
///
//===----------------------------------------------------------------------===//

#include "passes/planning/ScheduleGenerators.h"
#include "passes/planning/ScheduleSimulator.h"
#include "passes/planning/ScheduleVerifier.h"
#include "passes/planning/schedules/GreedySchedule.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::planning;

namespace {

/// Actions over all candidates, so that a large problem is tried in few ways.
constexpr int64_t kMostActions = 1'000'000;

/// The best so far.
class Contest {
public:
  Contest(const ScheduleProblem &problem) : problem(problem) {}

  void enter(Schedule schedule) {
    if (!verifySchedule(problem, schedule).ok())
      return;
    StatusOr<Timeline> timeline = simulateSchedule(problem, schedule);
    if (!timeline.ok())
      return;
    int64_t memory = 0;
    for (const RankTimeline &rank : timeline->ranks)
      memory = std::max(memory, rank.peakMemory);
    // Times that differ by rounding alone are equal.
    double margin = 1e-9 * makespan;
    bool shorter = timeline->makespan < makespan - margin;
    bool equal = timeline->makespan <= makespan + margin;
    if (hasBest && !shorter && !(equal && memory < peakMemory))
      return;
    hasBest = true;
    makespan = timeline->makespan;
    peakMemory = memory;
    best = std::move(schedule);
  }
  bool won() const { return hasBest; }
  Schedule winner() { return std::move(best); }

private:
  const ScheduleProblem &problem;
  bool hasBest = false;
  double makespan = 0;
  int64_t peakMemory = 0;
  Schedule best;
};

std::vector<GreedyPolicy> policiesOf(const PipelineShape &shape) {
  std::vector<GreedyPolicy> policies;
  for (int64_t ahead : {int64_t(0), 2 * shape.ranks, shape.ranks})
    for (double patience : {0.0, 1.0, 0.5}) {
      policies.push_back({.patience = patience, .ahead = ahead});
      if (shape.chunks == 1)
        continue;
      policies.push_back(
          {.deepFirst = false, .patience = patience, .ahead = ahead});
      for (int64_t group : {shape.ranks, 2 * shape.ranks})
        policies.push_back(
            {.group = group, .patience = patience, .ahead = ahead});
    }
  return policies;
}

} // namespace

StatusOr<Schedule>
hocket::planning::makeListSchedule(const ScheduleProblem &problem) {
  HOCKET_RETURN_IF_ERROR(checkProblem(problem));
  for (int64_t rank = 0; rank < problem.shape.ranks; ++rank)
    if (int64_t least = leastMemory(problem, rank); problem.caps[rank] < least)
      return invalidArgument(
          "Q16: one microbatch takes " + std::to_string(least) + " on rank " +
          std::to_string(rank) + ", and its cap is " +
          std::to_string(problem.caps[rank]) + ": raise it by " +
          std::to_string(least - problem.caps[rank]));
  Contest contest(problem);
  for (std::string_view name : scheduleNames()) {
    if (name == "list")
      continue;
    StatusOr<Schedule> named = generateSchedule(name, problem);
    if (named.ok())
      contest.enter(*std::move(named));
  }
  int64_t actions = 0;
  for (const GreedyPolicy &policy : policiesOf(problem.shape)) {
    if (actions > kMostActions)
      break;
    actions += 3 * problem.shape.cells();
    if (std::optional<Schedule> made = runGreedy(problem, policy))
      contest.enter(*std::move(made));
  }
  // Memory so small that channels in order lock up every policy but this one.
  if (!contest.won())
    if (std::optional<Schedule> made = runGreedy(problem, {.group = 1}))
      contest.enter(*std::move(made));
  if (!contest.won())
    return internalError("no greedy schedule passes the verifier");
  Schedule schedule = contest.winner();
  schedule.name = "list";
  return schedule;
}
