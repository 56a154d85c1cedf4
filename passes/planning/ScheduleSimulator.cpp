//===- ScheduleSimulator.cpp - When each action runs ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/ScheduleSimulator.h"

#include "passes/planning/ScheduleVerifier.h"

#include <algorithm>
#include <optional>

using namespace hocket;
using namespace hocket::planning;

namespace {

class Simulation {
public:
  Simulation(const ScheduleProblem &problem, const Schedule &schedule)
      : problem(problem), shape(problem.shape), schedule(schedule),
        forwardEnd(shape.cells(), kNever), backwardEnd(shape.cells(), kNever),
        free(shape.ranks, 0) {
    timeline.ranks.resize(shape.ranks);
  }

  StatusOr<Timeline> run();

private:
  static constexpr double kNever = -1;

  /// When the action's input is on its rank; nothing if it is not made yet.
  std::optional<double> readyAt(int64_t rank, const Action &action) const;
  /// The end of `stage`'s part, with the way to `rank`; nothing if not run.
  std::optional<double> arrival(const std::vector<double> &ends, int64_t stage,
                                int64_t rank, int64_t microbatch) const;
  bool isPair(int64_t rank, size_t index) const;
  bool runNext(int64_t rank);
  void measure(int64_t rank);

  const ScheduleProblem &problem;
  const PipelineShape &shape;
  const Schedule &schedule;
  std::vector<double> forwardEnd, backwardEnd; ///< By (stage, microbatch).
  std::vector<double> free;                    ///< By rank.
  Timeline timeline;
};

std::optional<double> Simulation::arrival(const std::vector<double> &ends,
                                          int64_t stage, int64_t rank,
                                          int64_t microbatch) const {
  double end = ends[stage * shape.microbatches + microbatch];
  if (end == kNever)
    return std::nullopt;
  return end + (shape.rankOf(stage) == rank ? 0 : problem.transfer);
}

std::optional<double> Simulation::readyAt(int64_t rank,
                                          const Action &action) const {
  int64_t stage = shape.stageOf(rank, action.chunk);
  switch (action.kind) {
  case ActionKind::F:
    return stage == 0 ? std::optional<double>(0)
                      : arrival(forwardEnd, stage - 1, rank, action.microbatch);
  case ActionKind::B:
  case ActionKind::BW:
    return stage + 1 == shape.stages()
               ? arrival(forwardEnd, stage, rank, action.microbatch)
               : arrival(backwardEnd, stage + 1, rank, action.microbatch);
  case ActionKind::W:
    return arrival(backwardEnd, stage, rank, action.microbatch);
  }
  return std::nullopt;
}

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
    std::optional<double> ready = readyAt(rank, action);
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
    int64_t cell = shape.stageOf(rank, action.chunk) * shape.microbatches +
                   action.microbatch;
    if (action.kind == ActionKind::F)
      forwardEnd[cell] = free[rank];
    else if (action.kind != ActionKind::W)
      backwardEnd[cell] = free[rank];
  }
  return true;
}

void Simulation::measure(int64_t rank) {
  RankTimeline &line = timeline.ranks[rank];
  int64_t live = 0, memory = 0;
  for (const Action &action : schedule.ranks[rank]) {
    const ChunkCost &cost = problem.cost(rank, action.chunk);
    switch (action.kind) {
    case ActionKind::F:
      line.peakLive = std::max(line.peakLive, ++live);
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
    line.peakMemory = std::max(line.peakMemory, memory);
  }
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

StatusOr<Timeline>
hocket::planning::simulateSchedule(const ScheduleProblem &problem,
                                   const Schedule &schedule) {
  ScheduleProblem uncapped = problem;
  uncapped.caps.assign(uncapped.caps.size(), kNoCap);
  HOCKET_RETURN_IF_ERROR(verifySchedule(uncapped, schedule));
  return Simulation(uncapped, schedule).run();
}
