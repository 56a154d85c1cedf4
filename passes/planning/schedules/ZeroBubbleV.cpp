//===- ZeroBubbleV.cpp - No bubble with the memory of 1F1B ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Rank r holds stages r (chunk 0, on the way down) and 2P-1-r (chunk 1, on
/// the way up). Forwards and backwards of a chunk each run in the order of the
/// microbatches, so that a rank's list is a word over F0 F1 B0 B1 W0 W1:
///
///     2(P-r)-1 times     F0                   fill
///     r times            F1 F0
///     P-r times          F1 B1 W1
///     while forwards     F0 B0 W0 F1 B1 W1    steady: no rank waits
///     r times            B0 B1                drain, W are put off
///     P-r times          B0 W0
///     the rest           W1, then W0
///
/// It is written for at least 2P-1 microbatches; of fewer, those that do not
/// exist are left out.
///
//===----------------------------------------------------------------------===//

#include "passes/planning/ScheduleGenerators.h"
#include "passes/planning/schedules/ScheduleBuilder.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::planning;

namespace {

/// One rank's list, with the next microbatch of every kind and chunk.
class VWriter {
public:
  VWriter(RankBuilder rank) : rank(rank) {}

  void run(ActionKind kind, int64_t chunk) {
    rank.append(kind, chunk, done(kind, chunk)++);
  }
  int64_t &done(ActionKind kind, int64_t chunk) {
    return counts[static_cast<size_t>(kind)][chunk];
  }

private:
  RankBuilder rank;
  int64_t counts[3][2] = {};
};

void fill(VWriter &writer, int64_t ranks, int64_t rank) {
  for (int64_t i = 0; i < 2 * (ranks - rank) - 1; ++i)
    writer.run(ActionKind::F, 0);
  for (int64_t i = 0; i < rank; ++i) {
    writer.run(ActionKind::F, 1);
    writer.run(ActionKind::F, 0);
  }
  for (int64_t i = 0; i < ranks - rank; ++i)
    for (ActionKind kind : {ActionKind::F, ActionKind::B, ActionKind::W})
      writer.run(kind, 1);
}

void steady(VWriter &writer, int64_t microbatches) {
  while (writer.done(ActionKind::F, 1) < microbatches) {
    if (writer.done(ActionKind::F, 0) < microbatches)
      writer.run(ActionKind::F, 0);
    writer.run(ActionKind::B, 0);
    writer.run(ActionKind::W, 0);
    for (ActionKind kind : {ActionKind::F, ActionKind::B, ActionKind::W})
      writer.run(kind, 1);
  }
}

void drain(VWriter &writer, int64_t ranks, int64_t rank) {
  for (int64_t i = 0; i < rank; ++i)
    for (int64_t chunk : {0, 1})
      writer.run(ActionKind::B, chunk);
  for (int64_t i = 0; i < ranks - rank; ++i)
    for (ActionKind kind : {ActionKind::B, ActionKind::W})
      writer.run(kind, 0);
  for (int64_t chunk : {1, 0})
    while (writer.done(ActionKind::W, chunk) <
           writer.done(ActionKind::B, chunk))
      writer.run(ActionKind::W, chunk);
}

} // namespace

StatusOr<Schedule>
hocket::planning::makeZeroBubbleV(const ScheduleProblem &problem) {
  HOCKET_RETURN_IF_ERROR(checkProblem(problem));
  HOCKET_RETURN_IF_ERROR(expectChunks("zb-v", problem, 2));
  HOCKET_RETURN_IF_ERROR(expectPlacement("zb-v", problem, Placement::VShaped));
  HOCKET_RETURN_IF_ERROR(expectSplitWeight("zb-v", problem));
  const PipelineShape &shape = problem.shape;
  int64_t microbatches = std::max(shape.microbatches, 2 * shape.ranks - 1);
  Schedule schedule = emptySchedule("zb-v", shape);
  for (int64_t rank = 0; rank < shape.ranks; ++rank) {
    VWriter writer(RankBuilder(schedule.ranks[rank], shape.microbatches));
    fill(writer, shape.ranks, rank);
    steady(writer, microbatches);
    drain(writer, shape.ranks, rank);
  }
  return schedule;
}
