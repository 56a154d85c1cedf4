//===- ScheduleText.h - Schedules and their problems as text ----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A schedule that a person can write:
///
///     pipeline-schedule
///     name by-hand
///     ranks 2
///     chunks 1               # may be left out: 1
///     microbatches 3
///     placement round-robin  # or v-shaped; may be left out
///     rank 0
///       F0 F1 B0 W0 F2 B1 W1 B2 W2
///     rank 1
///       F0 B0 F1 B1 W0 F2 B2 W1 W2
///
/// An action is F, B, W or BW and the microbatch, then '@' and the chunk where
/// that is not 0: BW3@1. A list may run over any number of lines.
///
/// And a problem, for the list scheduler or the simulator:
///
///     pipeline-problem
///     ranks 2
///     chunks 2
///     microbatches 8
///     placement round-robin
///     group 2                # of interleaved-1f1b; 0: one per rank
///     weights joined         # BW only, or `split`: B and W
///     transfer 0.1
///     pair 0                 # or the share of F and BW run as one
///     forward 1              # of every chunk,
///     forward rank 1 1 2.5   # or of the chunks of one rank
///     backward 1             # gradient of the input
///     weight 1               # gradient of the weights
///     memory 3               # from F to B or BW
///     kept 2                 # from B to W
///     cap none
///     cap rank 1 12
///
/// `ranks` and `microbatches` have to be there. What was written is read back
/// as the same, and what is read from such a text is written as the same text.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_SCHEDULETEXT_H
#define HOCKET_PASSES_PLANNING_SCHEDULETEXT_H

#include "passes/planning/Schedule.h"

#include <string>
#include <string_view>

namespace hocket::planning {

/// Refuses what is not a schedule's text (Q30), with `file`, line and column.
/// Whether the schedule can run is the verifier's to say.
StatusOr<Schedule> readSchedule(std::string_view file, std::string_view text);
std::string writeSchedule(const Schedule &schedule);

/// The same of a problem, which has then passed checkProblem.
StatusOr<ScheduleProblem> readProblem(std::string_view file,
                                      std::string_view text);
std::string writeProblem(const ScheduleProblem &problem);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_SCHEDULETEXT_H
