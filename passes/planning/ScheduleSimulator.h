//===- ScheduleSimulator.h - When each action runs --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Predicts a schedule from the problem's costs: every rank runs its list in
/// order, one action at a time, each as soon as what it needs is there.
/// Results cross to another rank in `transfer`, beside the computation, any
/// number at once; to a stage of the same rank they take no time. Pairs
/// (ScheduleProblem::pair) start when both inputs are there.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_SCHEDULESIMULATOR_H
#define HOCKET_PASSES_PLANNING_SCHEDULESIMULATOR_H

#include "passes/planning/Schedule.h"

namespace hocket::planning {

/// Of one action, in the problem's unit of time; the first starts at 0.
struct ActionTime {
  double start = 0;
  double end = 0;
};

struct RankTimeline {
  /// In the order of the rank's list.
  std::vector<ActionTime> times;
  /// The sum of the durations.
  double busy = 0;
  /// Time without work between the first action's start and the last's end.
  double gaps = 0;
  /// Time without work from 0 to the makespan: gaps, and what comes before the
  /// first action and after the last.
  double bubble = 0;
  /// The most (chunk, microbatch) that are live at once: from F to BW or W.
  int64_t peakLive = 0;
  /// The most bytes of live chunks at once.
  int64_t peakMemory = 0;
};

struct Timeline {
  /// The end of the last action.
  double makespan = 0;
  std::vector<RankTimeline> ranks;
};

/// Refuses what verifySchedule refuses, except for memory: Q26 is not checked.
/// Refuses (Q27) a schedule whose pairs wait for each other for ever.
StatusOr<Timeline> simulateSchedule(const ScheduleProblem &problem,
                                    const Schedule &schedule);

/// The same of a schedule that verifySchedule has accepted, for any problem of
/// its shape, group and splitting: nothing else of a problem counts there.
StatusOr<Timeline> simulateVerified(const ScheduleProblem &problem,
                                    const Schedule &schedule);

/// What a rank's order alone says, whatever the times are.
struct OrderPeaks {
  int64_t live = 0;   ///< As RankTimeline::peakLive.
  int64_t memory = 0; ///< As RankTimeline::peakMemory.
};
OrderPeaks peaksOfOrder(const ScheduleProblem &problem,
                        const Schedule &schedule, int64_t rank);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_SCHEDULESIMULATOR_H
