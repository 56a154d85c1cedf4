//===- DualPipeV.cpp - DualPipe folded at its middle ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Stages as for ZB-V. In its main part every rank pairs the forward of one
/// chunk with the backward of the other; the two have nothing to do with each
/// other, so that the communication of one runs beside the computation of the
/// other. Here a pair is F and then BW. Backwards are split only where the
/// bubble is: on the way into the main part and out of it.
///
///     2(P-r-1) times     F0
///     r+1 times          F0 F1
///     P-r-1 times        B1 W1 F1
///     M-2P+r+1 times     F0 BW1 F1 BW0       the main part
///     P-r-1 times        BW1 F1 BW0
///     r+1 times          BW1 BW0             B instead of BW in the 2nd half
///     P-r-1 times        W B0
///     the rest           W
///
/// W without a chunk takes the one whose B has waited longest. With 2P stages
/// the bubble is (P-1)(F&B + B - 3W), for F&B the time of a pair, B of a whole
/// backward and W of a weight gradient.
///
//===----------------------------------------------------------------------===//

#include "passes/planning/ScheduleGenerators.h"
#include "passes/planning/schedules/ScheduleBuilder.h"

#include <deque>

using namespace hocket;
using namespace hocket::planning;

namespace {

class DualWriter {
public:
  DualWriter(RankBuilder rank) : rank(rank) {}

  void forward(int64_t chunk) {
    rank.append(ActionKind::F, chunk, forwards[chunk]++);
  }
  void backward(int64_t chunk) {
    rank.append(ActionKind::BW, chunk, backwards[chunk]++);
  }
  /// B, whose W comes later.
  void inputGradient(int64_t chunk) {
    waiting.push_back({ActionKind::W, static_cast<int32_t>(chunk),
                       static_cast<int32_t>(backwards[chunk])});
    rank.append(ActionKind::B, chunk, backwards[chunk]++);
  }
  void weightGradient() {
    Action action = waiting.front();
    waiting.pop_front();
    rank.append(action.kind, action.chunk, action.microbatch);
  }
  bool hasWeightGradient() const { return !waiting.empty(); }

private:
  RankBuilder rank;
  int64_t forwards[2] = {}, backwards[2] = {};
  std::deque<Action> waiting;
};

void fill(DualWriter &writer, int64_t behind, int64_t rank) {
  for (int64_t i = 0; i < 2 * behind; ++i)
    writer.forward(0);
  for (int64_t i = 0; i <= rank; ++i) {
    writer.forward(0);
    writer.forward(1);
  }
  for (int64_t i = 0; i < behind; ++i) {
    writer.inputGradient(1);
    writer.weightGradient();
    writer.forward(1);
  }
}

void pairUp(DualWriter &writer, int64_t count, int64_t behind) {
  for (int64_t i = 0; i < count; ++i) {
    writer.forward(0);
    writer.backward(1);
    writer.forward(1);
    writer.backward(0);
  }
  for (int64_t i = 0; i < behind; ++i) {
    writer.backward(1);
    writer.forward(1);
    writer.backward(0);
  }
}

void drain(DualWriter &writer, int64_t behind, int64_t rank) {
  // 2(rank+1) backwards, of which the last rank+1 are split.
  for (int64_t i = 0; i < 2 * (rank + 1); ++i) {
    int64_t chunk = i % 2 == 0 ? 1 : 0;
    if (i <= rank)
      writer.backward(chunk);
    else
      writer.inputGradient(chunk);
  }
  for (int64_t i = 0; i < behind; ++i) {
    writer.weightGradient();
    writer.inputGradient(0);
  }
  while (writer.hasWeightGradient())
    writer.weightGradient();
}

} // namespace

StatusOr<Schedule>
hocket::planning::makeDualPipeV(const ScheduleProblem &problem) {
  HOCKET_RETURN_IF_ERROR(checkProblem(problem));
  HOCKET_RETURN_IF_ERROR(expectChunks("dualpipe-v", problem, 2));
  HOCKET_RETURN_IF_ERROR(
      expectPlacement("dualpipe-v", problem, Placement::VShaped));
  HOCKET_RETURN_IF_ERROR(expectSplitWeight("dualpipe-v", problem));
  const PipelineShape &shape = problem.shape;
  if (shape.microbatches < 2 * shape.ranks)
    return invalidArgument(
        "Q15: dualpipe-v needs at least two microbatches per rank, " +
        std::to_string(2 * shape.ranks) + " for " +
        std::to_string(shape.ranks) + " ranks; found " +
        std::to_string(shape.microbatches) + ": use more, or zb-v");
  Schedule schedule = emptySchedule("dualpipe-v", shape);
  for (int64_t rank = 0; rank < shape.ranks; ++rank) {
    int64_t behind = shape.ranks - rank - 1;
    DualWriter writer(RankBuilder(schedule.ranks[rank], shape.microbatches));
    fill(writer, behind, rank);
    pairUp(writer, shape.microbatches - 2 * shape.ranks + rank + 1, behind);
    drain(writer, behind, rank);
  }
  return schedule;
}
