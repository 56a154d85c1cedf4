//===- ScheduleVerifier.h - Whether a schedule can run ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One verifier for schedules of any origin. It shares nothing with the
/// generators and the simulator, and is written to be obviously right.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_SCHEDULEVERIFIER_H
#define HOCKET_PASSES_PLANNING_SCHEDULEVERIFIER_H

#include "passes/planning/Schedule.h"

namespace hocket::planning {

/// Ok, or InvalidArgument with the first reason why `schedule` cannot run:
///
///   Q20  its ranks, chunks, microbatches and placement are the problem's
///   Q21  every action is of a chunk and microbatch that exist; B and W only
///        where the problem splits the backward
///   Q22  every (stage, microbatch) has one F and one BW, or one F, B and W
///   Q23  on each rank a microbatch's F comes before its B, its B before its W
///   Q24  a channel's messages are sent in the order in which the receiver's
///        actions need them
///   Q25  no rank waits for ever: some order of all ranks' actions meets every
///        dependency
///   Q26  the live chunks of each rank stay within its cap
///
/// Also refuses what checkProblem refuses.
Status verifySchedule(const ScheduleProblem &problem, const Schedule &schedule);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_SCHEDULEVERIFIER_H
