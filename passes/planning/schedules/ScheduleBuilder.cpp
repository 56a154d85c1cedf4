//===- ScheduleBuilder.cpp - Writing a schedule ---------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/schedules/ScheduleBuilder.h"

using namespace hocket;
using namespace hocket::planning;

Schedule hocket::planning::emptySchedule(std::string_view name,
                                         const PipelineShape &shape) {
  Schedule schedule;
  schedule.name = name;
  schedule.shape = shape;
  schedule.ranks.resize(shape.ranks);
  return schedule;
}

Status hocket::planning::expectChunks(std::string_view name,
                                      const ScheduleProblem &problem,
                                      int64_t chunks) {
  if (problem.shape.chunks == chunks)
    return okStatus();
  std::string instead = chunks == 1 ? "interleaved-1f1b" : "1f1b";
  return invalidArgument(
      "Q11: " + std::string(name) + " has " + std::to_string(chunks) +
      (chunks == 1 ? " chunk" : " chunks") + " per rank, the problem has " +
      std::to_string(problem.shape.chunks) + ": use " + std::to_string(chunks) +
      (problem.shape.chunks > 1 && chunks > 1 ? "" : ", or " + instead));
}

Status hocket::planning::expectPlacement(std::string_view name,
                                         const ScheduleProblem &problem,
                                         Placement placement) {
  const PipelineShape &shape = problem.shape;
  if (shape.chunks == 1 || shape.placement == placement)
    return okStatus();
  return invalidArgument(
      "Q12: " + std::string(name) + " needs its chunks placed " +
      std::string(spelled(placement)) + ", and the problem has them " +
      std::string(spelled(shape.placement)));
}

Status hocket::planning::expectSplitWeight(std::string_view name,
                                           const ScheduleProblem &problem) {
  if (problem.splitWeight)
    return okStatus();
  return invalidArgument("Q13: " + std::string(name) +
                         " runs weight gradients as actions of their own, and "
                         "the problem joins them with the backward: split "
                         "them, or use 1f1b or interleaved-1f1b");
}
