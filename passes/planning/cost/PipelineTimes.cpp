//===- PipelineTimes.cpp - When each pipeline rank is done ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/cost/PipelineTimes.h"

#include "passes/planning/ScheduleGenerators.h"
#include "passes/planning/ScheduleSimulator.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::planning;

namespace {

/// Plays 1F1B, plain or interleaved in groups of one microbatch per rank: each
/// rank runs its list as far as what it needs is there, then its neighbours
/// are looked at again.
class OneForwardOneBackward {
public:
  explicit OneForwardOneBackward(const ScheduleProblem &problem)
      : problem(problem), shape(problem.shape),
        total(shape.chunks * shape.microbatches),
        forwardEnd(size_t(shape.cells()), -1),
        backwardEnd(size_t(shape.cells()), -1), ranks(size_t(shape.ranks)) {}

  PipelineEnds play();

private:
  struct Cell {
    int64_t chunk, microbatch;
  };
  /// A rank's place in its list.
  struct Place {
    int64_t forwards = 0, backwards = 0;
    double time = 0;
  };

  /// The index-th pass of a rank in the order of forwards; backwards take the
  /// chunks the other way round.
  Cell cell(int64_t index) const;
  bool step(int64_t rank);
  bool forward(int64_t rank, Place &place);
  bool backward(int64_t rank, Place &place);
  size_t at(int64_t stage, int64_t microbatch) const {
    return size_t(stage * shape.microbatches + microbatch);
  }

  const ScheduleProblem &problem;
  const PipelineShape &shape;
  int64_t total;
  std::vector<double> forwardEnd, backwardEnd;
  std::vector<Place> ranks;
};

OneForwardOneBackward::Cell OneForwardOneBackward::cell(int64_t index) const {
  if (shape.chunks == 1)
    return {0, index};
  int64_t group = shape.ranks, round = group * shape.chunks;
  int64_t low = index / round * group;
  int64_t width = std::min(group, shape.microbatches - low);
  int64_t inside = index - low * shape.chunks;
  return {inside / width, low + inside % width};
}

bool OneForwardOneBackward::forward(int64_t rank, Place &place) {
  Cell next = cell(place.forwards);
  int64_t stage = next.chunk * shape.ranks + rank;
  double ready = 0;
  if (stage > 0) {
    ready = forwardEnd[at(stage - 1, next.microbatch)];
    if (ready < 0)
      return false;
    ready += shape.ranks > 1 ? problem.transfer : 0;
  }
  const ChunkCost &cost = problem.cost(rank, next.chunk);
  place.time = std::max(place.time, ready) + cost.forward;
  forwardEnd[at(stage, next.microbatch)] = place.time;
  ++place.forwards;
  return true;
}

bool OneForwardOneBackward::backward(int64_t rank, Place &place) {
  Cell next = cell(place.backwards);
  next.chunk = shape.chunks - 1 - next.chunk;
  int64_t stage = next.chunk * shape.ranks + rank;
  double ready = forwardEnd[at(stage, next.microbatch)];
  if (ready < 0)
    return false;
  if (stage + 1 < shape.stages()) {
    double after = backwardEnd[at(stage + 1, next.microbatch)];
    if (after < 0)
      return false;
    ready = std::max(ready, after + (shape.ranks > 1 ? problem.transfer : 0));
  }
  const ChunkCost &cost = problem.cost(rank, next.chunk);
  place.time = std::max(place.time, ready) + cost.backward + cost.weight;
  backwardEnd[at(stage, next.microbatch)] = place.time;
  ++place.backwards;
  return true;
}

/// Whether the rank ran an action.
bool OneForwardOneBackward::step(int64_t rank) {
  Place &place = ranks[size_t(rank)];
  if (place.backwards == total)
    return false;
  int64_t warmup = warmupForwards(problem, rank);
  bool isForward =
      place.forwards < total && place.forwards - place.backwards <= warmup;
  return isForward ? forward(rank, place) : backward(rank, place);
}

PipelineEnds OneForwardOneBackward::play() {
  for (bool moved = true; moved;) {
    moved = false;
    for (int64_t rank = 0; rank < shape.ranks; ++rank)
      while (step(rank))
        moved = true;
    for (int64_t rank = shape.ranks - 1; rank >= 0; --rank)
      while (step(rank))
        moved = true;
  }
  PipelineEnds ends;
  for (const Place &place : ranks)
    ends.push_back(place.time);
  return ends;
}

} // namespace

StatusOr<PipelineEnds> planning::pipelineEnds(const std::string &schedule,
                                              const ScheduleProblem &problem,
                                              ScheduleOrders &orders) {
  if (isPlayedDirectly(schedule, problem))
    return OneForwardOneBackward(problem).play();
  HOCKET_ASSIGN_OR_RETURN(const ScheduleOrder *order,
                          orders.find(schedule, problem));
  HOCKET_ASSIGN_OR_RETURN(Timeline timeline,
                          simulateVerified(problem, order->schedule));
  PipelineEnds ends;
  for (const RankTimeline &rank : timeline.ranks)
    ends.push_back(rank.times.empty() ? 0 : rank.times.back().end);
  return std::move(ends);
}
