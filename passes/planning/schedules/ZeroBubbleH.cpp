//===- ZeroBubbleH.cpp - 1F1B with weight gradients in the bubble ---------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Both run `lead` forwards first and then one forward, one backward, as 1F1B
/// does; the W of a microbatch comes `lag` microbatches after its B:
///
///            lead on rank r   lag on rank r   live on rank r
///     ZB-H1  P-r-1            r               at most P
///     ZB-H2  2(P-r-1)         2r              at most 2P-1
///
/// Later ranks start later and so put off more W, which then fill the time in
/// which 1F1B waits for the last backwards. With T_F = T_B = T_W the bubble is
/// (P-1)(T_F + T_B - T_W) for ZB-H1, and 0 for ZB-H2 with M >= 2P-1, where each
/// rank's time is counted from its first action to its last.
///
//===----------------------------------------------------------------------===//

#include "passes/planning/ScheduleGenerators.h"
#include "passes/planning/schedules/ScheduleBuilder.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::planning;

namespace {

void writeRank(RankBuilder rank, int64_t microbatches, int64_t lead,
               int64_t lag) {
  for (int64_t i = 0; i < microbatches + lead; ++i) {
    rank.append(ActionKind::F, 0, i);
    if (i >= lead)
      rank.append(ActionKind::B, 0, i - lead);
    if (i >= lead + lag)
      rank.append(ActionKind::W, 0, i - lead - lag);
  }
  for (int64_t m = std::max<int64_t>(0, microbatches - lag); m < microbatches;
       ++m)
    rank.append(ActionKind::W, 0, m);
}

StatusOr<Schedule> makeZeroBubbleH(std::string_view name,
                                   const ScheduleProblem &problem,
                                   int64_t depth) {
  HOCKET_RETURN_IF_ERROR(checkProblem(problem));
  HOCKET_RETURN_IF_ERROR(expectChunks(name, problem, 1));
  HOCKET_RETURN_IF_ERROR(expectSplitWeight(name, problem));
  const PipelineShape &shape = problem.shape;
  Schedule schedule = emptySchedule(name, shape);
  for (int64_t rank = 0; rank < shape.ranks; ++rank)
    writeRank(RankBuilder(schedule.ranks[rank], shape.microbatches),
              shape.microbatches, depth * (shape.ranks - rank - 1),
              depth * rank);
  return schedule;
}

} // namespace

StatusOr<Schedule>
hocket::planning::makeZeroBubbleH1(const ScheduleProblem &problem) {
  return makeZeroBubbleH("zb-h1", problem, 1);
}

StatusOr<Schedule>
hocket::planning::makeZeroBubbleH2(const ScheduleProblem &problem) {
  return makeZeroBubbleH("zb-h2", problem, 2);
}
