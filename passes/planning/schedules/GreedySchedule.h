//===- GreedySchedule.h - One greedy schedule -------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs the pipeline forward in time: whichever rank can start something first
/// starts it. A rank prefers a backward to a forward, and either to a weight
/// gradient, which fills the time until the next of them arrives.
///
/// Memory cannot lock it up, by the banker's rule: a forward is admitted only
/// if after it the oldest unfinished microbatch of the rank still has room for
/// all its other forwards there. That microbatch can then finish, which frees
/// room for the next oldest, and so on. Channels in order can still lock up a
/// choice (what is next in the channel is not admitted); then there is no
/// schedule of that policy. With forwards in the order of GreedyPolicy::group
/// = 1 there always is one.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_SCHEDULES_GREEDYSCHEDULE_H
#define HOCKET_PASSES_PLANNING_SCHEDULES_GREEDYSCHEDULE_H

#include "passes/planning/Schedule.h"

#include <optional>

namespace hocket::planning {

struct GreedyPolicy {
  /// Of several forwards that could run, the one of the last chunk or of the
  /// first; not used where `group` says which.
  bool deepFirst = true;
  /// Above 0, forwards run in the order of interleaved 1F1B with such groups.
  int64_t group = 0;
  /// A weight gradient starts only if this share of it is over before the next
  /// F or B that is known to arrive. 0 to 1.
  double patience = 0;
  /// Forwards run at most this far ahead of the rank's oldest microbatch; 0:
  /// as far as memory allows.
  int64_t ahead = 0;
};

/// The bytes that a rank's cap must hold so that one microbatch can pass: the
/// larger of `memory` and `kept`, of all its chunks.
int64_t leastMemory(const ScheduleProblem &problem, int64_t rank);

/// The schedule of `policy`, named "list", or nothing where the policy locks
/// up. Every cap is at least leastMemory.
std::optional<Schedule> runGreedy(const ScheduleProblem &problem,
                                  const GreedyPolicy &policy);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_SCHEDULES_GREEDYSCHEDULE_H
