//===- SharedSimulator.h - Ranks that share processors ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Predicts a schedule as ScheduleSimulator.h does, where ranks of a node share
/// its processors: a rank that waits leaves them to the others. While n ranks
/// of a node have work, of `load` devices each, all of them work at min(1,
/// atOnce / (n load)) of their own speed (egalitarian processor sharing;
/// Kleinrock, Queueing Systems II, 4.4), which changes whenever one of them
/// begins or ends something.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_SHAREDSIMULATOR_H
#define HOCKET_PASSES_PLANNING_SHAREDSIMULATOR_H

#include "passes/planning/ScheduleSimulator.h"

namespace hocket::planning {

/// What ranks of a node have together. All are positive.
struct ProcessorShare {
  int64_t ranksOfNode = 1; ///< Of ranks 0, 1, ... so many are on each node.
  double load = 1;         ///< Devices of one rank there.
  double atOnce = 1;       ///< Devices that the node runs at their own speed.
};

struct SharedRank {
  std::vector<ActionTime> times; ///< In the order of the rank's list.
  double end = 0;                ///< Of the last one and of what follows it.
  double lost = 0;               ///< Time that others' work took from its own.
};

/// `tails[rank]` is a rank's work after its last action; costs are those of a
/// rank that shares with none. Pairs run one after the other
/// (ScheduleProblem::pair). Refuses what simulateSchedule refuses.
StatusOr<std::vector<SharedRank>>
simulateShared(const ScheduleProblem &problem, const Schedule &schedule,
               const ProcessorShare &share, const std::vector<double> &tails);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_SHAREDSIMULATOR_H
