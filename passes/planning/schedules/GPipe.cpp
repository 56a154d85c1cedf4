//===- GPipe.cpp - All forwards, then all backwards -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/ScheduleGenerators.h"
#include "passes/planning/schedules/ScheduleBuilder.h"

using namespace hocket;
using namespace hocket::planning;

StatusOr<Schedule> hocket::planning::makeGPipe(const ScheduleProblem &problem) {
  HOCKET_RETURN_IF_ERROR(checkProblem(problem));
  const PipelineShape &shape = problem.shape;
  Schedule schedule = emptySchedule("gpipe", shape);
  for (std::vector<Action> &actions : schedule.ranks) {
    RankBuilder rank(actions, shape.microbatches);
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk)
      for (int64_t m = 0; m < shape.microbatches; ++m)
        rank.append(ActionKind::F, chunk, m);
    for (int64_t chunk = shape.chunks; chunk-- > 0;)
      for (int64_t m = 0; m < shape.microbatches; ++m)
        rank.append(ActionKind::BW, chunk, m);
  }
  return schedule;
}
