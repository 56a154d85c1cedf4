//===- ScheduleOrders.h - What schedules of a shape hold --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The order in which a rank runs its actions follows from a schedule's name
/// and shape (ScheduleGenerators.h, compiledSchedule). What follows from the
/// order alone is found once for each shape and kept: the schedule with its
/// verification, and the copies of residuals that it needs. So the bytes of a
/// plan are known before any time is.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_COST_SCHEDULEORDERS_H
#define HOCKET_PASSES_PLANNING_COST_SCHEDULEORDERS_H

#include "passes/planning/Schedule.h"

#include <map>
#include <memory>
#include <string>
#include <tuple>

namespace hocket::planning {

struct ScheduleOrder {
  Schedule schedule; ///< Verified.
  /// Copies of residuals of (rank, chunk), by how long they live: counts of
  /// ResidualSlots.h, [rank * chunks + chunk].
  std::vector<int64_t> toBackward, toWeight, afterBackward;
  /// Those that would do for all of a rank's chunks together, of what lives to
  /// W; at the same places.
  std::vector<int64_t> frames;
};

/// Whether a schedule's times and bytes are computed without writing it down:
/// 1F1B, and interleaved 1F1B in groups of one microbatch per rank.
bool isPlayedDirectly(const std::string &schedule,
                      const ScheduleProblem &problem);

/// Keeps an order for each name and shape. Not for several threads.
class ScheduleOrders {
public:
  /// The order of compiledSchedule. Refuses what that refuses. The pointer is
  /// good as long as this is.
  StatusOr<const ScheduleOrder *> find(const std::string &schedule,
                                       const ScheduleProblem &problem);

private:
  using Key = std::tuple<std::string, int64_t, int64_t, int64_t, Placement,
                         int64_t, bool>;
  std::map<Key, std::unique_ptr<const ScheduleOrder>> orders;
};

/// The most bytes of live chunks of each rank, in the order of `schedule`; of a
/// split backward as costs[...].kept says.
StatusOr<std::vector<int64_t>> peakBytes(const std::string &schedule,
                                         const ScheduleProblem &problem,
                                         ScheduleOrders &orders);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_COST_SCHEDULEORDERS_H
