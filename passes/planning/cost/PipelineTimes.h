//===- PipelineTimes.h - When each pipeline rank is done --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a price needs of a schedule's times: the end of each rank's last
/// action. 1F1B and interleaved 1F1B are played directly, without writing the
/// schedule down; the result is that of compiledSchedule and simulateSchedule,
/// which every other schedule goes through. Bytes do not depend on times
/// (ScheduleOrders.h).
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_COST_PIPELINETIMES_H
#define HOCKET_PASSES_PLANNING_COST_PIPELINETIMES_H

#include "passes/planning/cost/ScheduleOrders.h"

namespace hocket::planning {

/// In nanoseconds; the first action starts at 0.
using PipelineEnds = std::vector<double>;

/// Refuses what the schedule's generator refuses.
StatusOr<PipelineEnds> pipelineEnds(const std::string &schedule,
                                    const ScheduleProblem &problem,
                                    ScheduleOrders &orders);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_COST_PIPELINETIMES_H
