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

  Timeline run();

private:
  static constexpr double kNever = -1;

  /// When the action's input is on its rank; nothing if it is not made yet.
  std::optional<double> readyAt(int64_t rank, const Action &action) const;
  /// The end of `stage`'s part, with the way to `rank`; nothing if not run.
  std::optional<double> arrival(const std::vector<double> &ends, int64_t stage,
                                int64_t rank, int64_t microbatch) const;
  void place(int64_t rank, const Action &action, double ready);
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

void Simulation::place(int64_t rank, const Action &action, double ready) {
  double start = std::max(free[rank], ready);
  double end = start + durationOf(problem, rank, action);
  timeline.ranks[rank].times.push_back({start, end});
  free[rank] = end;
  int64_t cell = shape.stageOf(rank, action.chunk) * shape.microbatches +
                 action.microbatch;
  if (action.kind == ActionKind::F)
    forwardEnd[cell] = end;
  else if (action.kind != ActionKind::W)
    backwardEnd[cell] = end;
}

void Simulation::measure(int64_t rank) {
  RankTimeline &line = timeline.ranks[rank];
  int64_t live = 0, memory = 0;
  for (const Action &action : schedule.ranks[rank]) {
    const ChunkCost &cost = problem.cost(rank, action.chunk);
    line.busy += durationOf(problem, rank, action);
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

Timeline Simulation::run() {
  for (bool progress = true; progress;) {
    progress = false;
    for (int64_t rank = 0; rank < shape.ranks; ++rank) {
      const std::vector<Action> &actions = schedule.ranks[rank];
      size_t next = timeline.ranks[rank].times.size();
      for (; next < actions.size(); ++next, progress = true) {
        std::optional<double> ready = readyAt(rank, actions[next]);
        if (!ready)
          break;
        place(rank, actions[next], *ready);
      }
    }
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
