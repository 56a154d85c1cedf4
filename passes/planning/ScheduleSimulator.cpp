//===- ScheduleSimulator.cpp - When each action runs ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/ScheduleSimulator.h"

#include "passes/planning/InputTimes.h"
#include "passes/planning/ScheduleVerifier.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::planning;

namespace {

class Simulation {
public:
  Simulation(const ScheduleProblem &problem, const Schedule &schedule)
      : problem(problem), shape(problem.shape), schedule(schedule),
        inputs(problem), free(shape.ranks, 0) {
    timeline.ranks.resize(shape.ranks);
  }

  StatusOr<Timeline> run();

private:
  bool isPair(int64_t rank, size_t index) const;
  bool runNext(int64_t rank);
  void measure(int64_t rank);

  const ScheduleProblem &problem;
  const PipelineShape &shape;
  const Schedule &schedule;
  InputTimes inputs;
  std::vector<double> free; ///< By rank.
  Timeline timeline;
};

bool Simulation::isPair(int64_t rank, size_t index) const {
  const std::vector<Action> &actions = schedule.ranks[rank];
  return problem.pair > 0 && index + 1 < actions.size() &&
         actions[index].kind == ActionKind::F &&
         actions[index + 1].kind == ActionKind::BW &&
         actions[index].chunk != actions[index + 1].chunk;
}

/// Runs the rank's next action, or its next two as a pair; false if they have
/// to wait.
bool Simulation::runNext(int64_t rank) {
  RankTimeline &line = timeline.ranks[rank];
  size_t first = line.times.size();
  bool pair = isPair(rank, first);
  double start = free[rank], duration = 0;
  for (size_t i = first; i <= first + pair; ++i) {
    const Action &action = schedule.ranks[rank][i];
    std::optional<double> ready = inputs.readyAt(rank, action);
    if (!ready)
      return false;
    start = std::max(start, *ready);
    duration += durationOf(problem, rank, action);
  }
  duration *= pair ? problem.pair : 1;
  line.busy += duration;
  free[rank] = start + duration;
  for (size_t i = first; i <= first + pair; ++i) {
    const Action &action = schedule.ranks[rank][i];
    line.times.push_back({start, free[rank]});
    inputs.ended(rank, action, free[rank]);
  }
  return true;
}

void Simulation::measure(int64_t rank) {
  RankTimeline &line = timeline.ranks[rank];
  OrderPeaks peaks = peaksOfOrder(problem, schedule, rank);
  line.peakLive = peaks.live;
  line.peakMemory = peaks.memory;
  double span = line.times.back().end - line.times.front().start;
  line.gaps = std::max(0.0, span - line.busy);
  line.bubble = std::max(0.0, timeline.makespan - line.busy);
}

StatusOr<Timeline> Simulation::run() {
  auto finished = [&](int64_t rank) {
    return timeline.ranks[rank].times.size() == schedule.ranks[rank].size();
  };
  for (bool progress = true; progress;) {
    progress = false;
    for (int64_t rank = 0; rank < shape.ranks; ++rank)
      while (!finished(rank) && runNext(rank))
        progress = true;
  }
  for (int64_t rank = 0; rank < shape.ranks; ++rank)
    if (!finished(rank)) {
      size_t next = timeline.ranks[rank].times.size();
      return invalidArgument(
          "Q27: " + placeOf(rank, next, schedule.ranks[rank][next]) +
          " waits for ever if F and BW of a pair run as one: set `pair` to 0");
    }
  timeline.makespan = *std::max_element(free.begin(), free.end());
  for (int64_t rank = 0; rank < shape.ranks; ++rank)
    measure(rank);
  return std::move(timeline);
}

} // namespace

OrderPeaks hocket::planning::peaksOfOrder(const ScheduleProblem &problem,
                                          const Schedule &schedule,
                                          int64_t rank) {
  OrderPeaks peaks;
  int64_t live = 0, memory = 0;
  for (const Action &action : schedule.ranks[rank]) {
    const ChunkCost &cost = problem.cost(rank, action.chunk);
    switch (action.kind) {
    case ActionKind::F:
      peaks.live = std::max(peaks.live, ++live);
      memory += cost.memory;
      break;
    case ActionKind::B:
      memory += cost.kept - cost.memory;
      break;
    case ActionKind::W:
      --live;
      memory -= cost.kept;
      break;
    case ActionKind::BW:
      --live;
      memory -= cost.memory;
      break;
    }
    peaks.memory = std::max(peaks.memory, memory);
  }
  return peaks;
}

StatusOr<Timeline>
hocket::planning::simulateVerified(const ScheduleProblem &problem,
                                   const Schedule &schedule) {
  return Simulation(problem, schedule).run();
}

StatusOr<Timeline>
hocket::planning::simulateSchedule(const ScheduleProblem &problem,
                                   const Schedule &schedule) {
  ScheduleProblem uncapped = problem;
  uncapped.caps.assign(uncapped.caps.size(), kNoCap);
  HOCKET_RETURN_IF_ERROR(verifySchedule(uncapped, schedule));
  return simulateVerified(uncapped, schedule);
}
