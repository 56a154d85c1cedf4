//===- ScheduleGenerators.h - Schedules by name -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each generator writes the schedule of a problem, or refuses it with what to
/// change (Q10 to Q16). What it writes passes the verifier, except that only
/// the list scheduler heeds caps: the others have the memory they have.
///
///   name             chunks  placement    backward  microbatches M, group N
///   gpipe            any     any          BW        any
///   1f1b             1       any          BW        any
///   interleaved-1f1b any     round-robin  BW        P <= N <= M, M mod N = 0
///                                                   or M mod N >= P
///   zb-h1, zb-h2     1       any          B, W      any
///   zb-v             2       v-shaped     B, W      any
///   dualpipe-v       2       v-shaped     B, W, BW  M >= 2P
///   list             any     any          any       any
///
/// A schedule that never splits the backward is fine for a problem that could.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_SCHEDULEGENERATORS_H
#define HOCKET_PASSES_PLANNING_SCHEDULEGENERATORS_H

#include "passes/planning/Schedule.h"

#include <string_view>
#include <vector>

namespace hocket::planning {

/// What is known of a schedule by its name alone.
struct ScheduleTraits {
  std::string_view name;
  Placement placement = Placement::RoundRobin;
  /// Whether its backward is compiled as two fragments, B and W, and priced so.
  bool splitsWeights = false;
};

/// The traits of the schedule called `name`, short or in full; null for a name
/// that no generator has.
const ScheduleTraits *scheduleTraits(std::string_view name);

/// Every name that generateSchedule takes, in the order of the table above.
const std::vector<std::string_view> &scheduleNames();

/// Refuses an unknown name (Q10) by listing those it knows.
Status checkScheduleName(std::string_view name);

/// The schedule called `name`, which checkScheduleName() is to take, for a
/// problem that passes checkProblem.
StatusOr<Schedule> generateSchedule(std::string_view name,
                                    const ScheduleProblem &problem);

/// The schedule called `name` that a program is compiled with. Programs are cut
/// before anything of them is timed, so of the problem only the shape, the
/// group and whether the backward is split count: all stages cost the same, and
/// no rank has a cap. Prices use it too, so that they are of what is compiled.
StatusOr<Schedule> compiledSchedule(std::string_view name,
                                    const ScheduleProblem &problem);

/// All forwards, then all backwards (Huang et al., arXiv 1811.06965).
StatusOr<Schedule> makeGPipe(const ScheduleProblem &problem);

/// min(P-r-1, M) forwards on rank r, then one forward, one backward
/// (Narayanan et al., arXiv 2104.04473, section 2.2.1).
StatusOr<Schedule> makeOneForwardOneBackward(const ScheduleProblem &problem);

/// The same over chunks (section 2.2.2), with groups of any size.
StatusOr<Schedule> makeInterleaved(const ScheduleProblem &problem);

/// 1F1B whose weight gradients fill the bubble, with the memory of 1F1B (Qi et
/// al., arXiv 2401.10241, section 3.1).
StatusOr<Schedule> makeZeroBubbleH1(const ScheduleProblem &problem);

/// The same with twice the memory and no bubble (section 3.2).
StatusOr<Schedule> makeZeroBubbleH2(const ScheduleProblem &problem);

/// No bubble with the memory of 1F1B, by two chunks laid out as a V (section
/// 6).
StatusOr<Schedule> makeZeroBubbleV(const ScheduleProblem &problem);

/// The half of DualPipe that needs one copy of the weights (DeepSeek-AI, arXiv
/// 2412.19437, section 3.2.1, folded at the middle).
StatusOr<Schedule> makeDualPipeV(const ScheduleProblem &problem);

/// A schedule made from the problem's own times and caps: the shortest of
/// several greedy ones.
StatusOr<Schedule> makeListSchedule(const ScheduleProblem &problem);

/// Warm-up forwards of rank r under 1F1B (one chunk) and interleaved 1F1B:
/// min(M, P-r-1), and min(M v, 2(P-r-1) + (v-1) N).
int64_t warmupForwards(const ScheduleProblem &problem, int64_t rank);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_SCHEDULEGENERATORS_H
