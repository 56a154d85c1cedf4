//===- ScheduleBuilder.h - Writing a schedule -------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the generators share: appending actions to a rank, and the two
/// refusals that several of them have.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_SCHEDULES_SCHEDULEBUILDER_H
#define HOCKET_PASSES_PLANNING_SCHEDULES_SCHEDULEBUILDER_H

#include "passes/planning/Schedule.h"

#include <string_view>

namespace hocket::planning {

/// A schedule without actions.
Schedule emptySchedule(std::string_view name, const PipelineShape &shape);

/// Appends to one rank's list.
class RankBuilder {
public:
  /// Actions of microbatches from `microbatches` on are left out: a generator
  /// may write the schedule of more microbatches than there are.
  RankBuilder(std::vector<Action> &actions, int64_t microbatches)
      : actions(actions), microbatches(microbatches) {}

  void append(ActionKind kind, int64_t chunk, int64_t microbatch) {
    if (microbatch < microbatches)
      actions.push_back({kind, static_cast<int32_t>(chunk),
                         static_cast<int32_t>(microbatch)});
  }

private:
  std::vector<Action> &actions;
  int64_t microbatches;
};

/// Q11: the schedule has as many chunks per rank as the problem.
Status expectChunks(std::string_view name, const ScheduleProblem &problem,
                    int64_t chunks);
/// Q12: the schedule's placement is the problem's, or there is one chunk.
Status expectPlacement(std::string_view name, const ScheduleProblem &problem,
                       Placement placement);
/// Q13: a schedule of B and W is for a problem that splits the backward.
Status expectSplitWeight(std::string_view name, const ScheduleProblem &problem);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_SCHEDULES_SCHEDULEBUILDER_H
