//===- Interleaved.cpp - 1F1B, plain and over chunks ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Forwards take groups of N microbatches through chunk 0, 1, ... before the
/// next group; backwards the same with the last chunk first. For P=2, N=3,
/// M=5, v=2 the forwards are
///
///   microbatch  0 1 2 0 1 2 3 4 3 4
///   chunk       0 0 0 1 1 1 0 0 1 1
///
/// Every rank has these two orders; ranks differ in how many forwards they run
/// before the first backward.
///
//===----------------------------------------------------------------------===//

#include "passes/planning/ScheduleGenerators.h"
#include "passes/planning/schedules/ScheduleBuilder.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::planning;

namespace {

int64_t groupOf(const ScheduleProblem &problem) {
  return problem.group == 0 ? problem.shape.ranks : problem.group;
}

/// A remainder below P leaves ranks without work in the middle of a group.
bool fits(int64_t ranks, int64_t microbatches, int64_t group) {
  int64_t rest = microbatches % group;
  return ranks <= group && group <= microbatches &&
         (rest == 0 || rest >= ranks);
}

/// Q14, with the closest group and the closest numbers of microbatches.
Status checkGroup(const ScheduleProblem &problem) {
  int64_t ranks = problem.shape.ranks, group = groupOf(problem);
  int64_t microbatches = problem.shape.microbatches;
  if (fits(ranks, microbatches, group))
    return okStatus();
  int64_t least = std::max(group, ranks);
  std::string advice;
  for (int64_t away = 1; away <= microbatches && advice.empty(); ++away)
    for (int64_t other : {group - away, group + away})
      if (advice.empty() && other >= 1 && fits(ranks, microbatches, other))
        advice = "use groups of " + std::to_string(other) + ", or ";
  int64_t below = microbatches, above = microbatches;
  while (below > 0 && !fits(ranks, below, least))
    --below;
  while (!fits(ranks, above, least))
    ++above;
  advice += below > 0 ? std::to_string(below) + " or " : "";
  return invalidArgument(
      "Q14: interleaved-1f1b needs ranks <= group <= microbatches, and of "
      "microbatches modulo group 0 or at least ranks; found " +
      std::to_string(ranks) + " ranks, groups of " + std::to_string(group) +
      " and " + std::to_string(microbatches) + " microbatches: " + advice +
      std::to_string(above) + " microbatches" +
      (least == group ? "" : " in groups of " + std::to_string(least)));
}

/// The forwards of every rank, as (F, chunk, microbatch).
std::vector<Action> forwardOrder(const PipelineShape &shape, int64_t group) {
  std::vector<Action> order;
  RankBuilder builder(order, shape.microbatches);
  for (int64_t low = 0; low < shape.microbatches; low += group)
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk)
      for (int64_t m = low; m < low + group; ++m)
        builder.append(ActionKind::F, chunk, m);
  return order;
}

Schedule interleave(const ScheduleProblem &problem, std::string_view name) {
  const PipelineShape &shape = problem.shape;
  std::vector<Action> forwards = forwardOrder(shape, groupOf(problem));
  std::vector<Action> backwards = forwards;
  for (Action &action : backwards) {
    action.kind = ActionKind::BW;
    action.chunk = static_cast<int32_t>(shape.chunks) - 1 - action.chunk;
  }
  Schedule schedule = emptySchedule(name, shape);
  for (int64_t rank = 0; rank < shape.ranks; ++rank) {
    size_t lead = warmupForwards(problem, rank);
    std::vector<Action> &actions = schedule.ranks[rank];
    for (size_t i = 0; i < forwards.size() + lead; ++i) {
      if (i < forwards.size())
        actions.push_back(forwards[i]);
      if (i >= lead)
        actions.push_back(backwards[i - lead]);
    }
  }
  return schedule;
}

} // namespace

int64_t hocket::planning::warmupForwards(const ScheduleProblem &problem,
                                         int64_t rank) {
  const PipelineShape &shape = problem.shape;
  int64_t behind = shape.ranks - rank - 1;
  if (shape.chunks == 1)
    return std::min(behind, shape.microbatches);
  return std::min(shape.chunks * shape.microbatches,
                  2 * behind + (shape.chunks - 1) * groupOf(problem));
}

StatusOr<Schedule>
hocket::planning::makeOneForwardOneBackward(const ScheduleProblem &problem) {
  HOCKET_RETURN_IF_ERROR(checkProblem(problem));
  HOCKET_RETURN_IF_ERROR(expectChunks("1f1b", problem, 1));
  return interleave(problem, "1f1b");
}

StatusOr<Schedule>
hocket::planning::makeInterleaved(const ScheduleProblem &problem) {
  HOCKET_RETURN_IF_ERROR(checkProblem(problem));
  if (problem.shape.chunks > 1)
    HOCKET_RETURN_IF_ERROR(checkGroup(problem));
  HOCKET_RETURN_IF_ERROR(
      expectPlacement("interleaved-1f1b", problem, Placement::RoundRobin));
  return interleave(problem, "interleaved-1f1b");
}
