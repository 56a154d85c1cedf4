//===- PipelineTimes.h - When each pipeline rank is done --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a price needs of a schedule: the end of each rank's last action and the
/// most bytes of its live chunks. 1F1B and interleaved 1F1B are played
/// directly, without writing the schedule down; the result is that of
/// compiledSchedule and simulateSchedule, which every other schedule goes
/// through.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_COST_PIPELINETIMES_H
#define HOCKET_PASSES_PLANNING_COST_PIPELINETIMES_H

#include "passes/planning/Schedule.h"

#include <optional>

namespace hocket::planning {

struct PipelineTimes {
  std::vector<double> ends;  ///< Of each rank; the first action starts at 0.
  std::vector<int64_t> live; ///< Bytes.
  /// Where one was written down.
  std::optional<Schedule> schedule;
};

/// Refuses what the schedule's generator refuses.
StatusOr<PipelineTimes> pipelineTimes(const std::string &schedule,
                                      const ScheduleProblem &problem);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_COST_PIPELINETIMES_H
