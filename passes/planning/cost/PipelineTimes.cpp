//===- PipelineTimes.cpp - When each pipeline rank is done ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/cost/PipelineTimes.h"

#include "passes/planning/ScheduleGenerators.h"
#include "passes/planning/ScheduleSimulator.h"

#include <algorithm>
#include <optional>

using namespace hocket;
using namespace hocket::planning;

namespace {

/// Plays 1F1B, plain or interleaved in groups of one microbatch per rank: each
/// rank runs its list as far as what it needs is there, then its neighbours
/// are looked at again.
///
/// All ranks go through the same list of (chunk, microbatch) forward, and
/// through the same with chunks the other way round backward. So the pass that
/// one waits for has the same index on the rank before it, or, from the last
/// rank to the first, that of the chunk before.
class OneForwardOneBackward {
public:
  explicit OneForwardOneBackward(const ScheduleProblem &problem)
      : problem(problem), shape(problem.shape),
        total(size_t(shape.chunks * shape.microbatches)),
        transfer(shape.ranks > 1 ? problem.transfer : 0),
        ranks(size_t(shape.ranks)) {
    listPasses();
    for (int64_t rank = 0; rank < shape.ranks; ++rank)
      start(rank);
  }

  PipelineEnds play();
  /// Once it was played: the seconds from a group of microbatches to the next
  /// if all ranks have come to the same, for as many passes as one depends on.
  std::optional<double> period() const;

private:
  struct Pass {
    size_t chunk;
    size_t width; ///< Microbatches of its group: how far its chunk before is.
    size_t own;   ///< Of a backward pass, the index of its forward.
  };
  struct Seconds {
    double forward, backward;
  };
  /// A rank's place in its list, and when its passes ended.
  struct Place {
    size_t forwards = 0, backwards = 0;
    double time = 0;
    int64_t warmup = 0;
    std::vector<double> forwardEnds, backwardEnds;
    std::vector<Seconds> chunks;
  };

  void listPasses();
  void start(int64_t rank);
  bool step(size_t rank);
  bool forward(size_t rank, Place &place);
  bool backward(size_t rank, Place &place);

  const ScheduleProblem &problem;
  const PipelineShape &shape;
  size_t total;
  double transfer;
  std::vector<Pass> passes;
  std::vector<Place> ranks;
};

void OneForwardOneBackward::listPasses() {
  int64_t group = shape.chunks == 1 ? shape.microbatches : shape.ranks;
  passes.reserve(total);
  for (int64_t low = 0; low < shape.microbatches; low += group) {
    int64_t width = std::min(group, shape.microbatches - low);
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk)
      for (int64_t i = 0; i < width; ++i) {
        int64_t other = shape.chunks - 1 - chunk; // Of the backward pass.
        passes.push_back({size_t(chunk), size_t(width),
                          size_t(low * shape.chunks + other * width + i)});
      }
  }
}

void OneForwardOneBackward::start(int64_t rank) {
  Place &place = ranks[size_t(rank)];
  place.warmup = warmupForwards(problem, rank);
  place.forwardEnds.resize(total);
  place.backwardEnds.resize(total);
  for (int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
    const ChunkCost &cost = problem.cost(rank, chunk);
    place.chunks.push_back({cost.forward, cost.backward + cost.weight});
  }
}

bool OneForwardOneBackward::forward(size_t rank, Place &place) {
  size_t index = place.forwards;
  const Pass &next = passes[index];
  double ready = 0;
  if (rank > 0 || next.chunk > 0) {
    const Place &before = ranks[rank > 0 ? rank - 1 : ranks.size() - 1];
    size_t needed = rank > 0 ? index : index - next.width;
    if (before.forwards <= needed)
      return false;
    ready = before.forwardEnds[needed] + transfer;
  }
  place.time = std::max(place.time, ready) + place.chunks[next.chunk].forward;
  place.forwardEnds[index] = place.time;
  ++place.forwards;
  return true;
}

bool OneForwardOneBackward::backward(size_t rank, Place &place) {
  size_t index = place.backwards;
  const Pass &next = passes[index];
  if (place.forwards <= next.own)
    return false;
  double ready = 0;
  bool isLast = rank + 1 == ranks.size();
  if (!isLast || next.chunk > 0) {
    const Place &after = ranks[isLast ? 0 : rank + 1];
    size_t needed = isLast ? index - next.width : index;
    if (after.backwards <= needed)
      return false;
    ready = after.backwardEnds[needed] + transfer;
  }
  size_t chunk = size_t(shape.chunks) - 1 - next.chunk;
  place.time = std::max(place.time, ready) + place.chunks[chunk].backward;
  place.backwardEnds[index] = place.time;
  ++place.backwards;
  return true;
}

/// Whether the rank ran an action.
bool OneForwardOneBackward::step(size_t rank) {
  Place &place = ranks[rank];
  if (place.backwards == total)
    return false;
  bool isForward = place.forwards < total &&
                   int64_t(place.forwards - place.backwards) <= place.warmup;
  return isForward ? forward(rank, place) : backward(rank, place);
}

PipelineEnds OneForwardOneBackward::play() {
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      while (step(rank))
        moved = true;
    for (size_t rank = ranks.size(); rank > 0; --rank)
      while (step(rank - 1))
        moved = true;
  }
  PipelineEnds ends;
  for (const Place &place : ranks)
    ends.push_back(place.time);
  return ends;
}

std::optional<double> OneForwardOneBackward::period() const {
  auto group = size_t(shape.chunks * shape.ranks);
  size_t ahead = size_t(ranks[0].warmup) + 1; // The most of all ranks.
  size_t needed = ahead + group; // How far back what a pass waits for lies.
  // Backward passes after the last forward pass keep no distance to one.
  if (total < 2 * needed + ahead)
    return std::nullopt;
  double found =
      ranks[0].forwardEnds[total - 1] - ranks[0].forwardEnds[total - 1 - group];
  auto repeats = [&](const std::vector<double> &ends, size_t end) {
    for (size_t i = end - needed; i < end; ++i)
      if (ends[i] - ends[i - group] != found)
        return false;
    return true;
  };
  for (const Place &place : ranks)
    if (!repeats(place.forwardEnds, total) ||
        !repeats(place.backwardEnds, total - ahead))
      return std::nullopt;
  return found;
}

/// In between, what each pass waits for lies a fixed number of passes back: as
/// soon as all of that repeats, everything does, and groups of microbatches
/// may be left out. Times are whole nanoseconds, so sums of them are exact.
PipelineEnds playRepeating(const ScheduleProblem &problem) {
  constexpr int64_t enough = 8; // Groups, after which most pipelines repeat.
  int64_t group = problem.shape.ranks;
  int64_t more = problem.shape.microbatches / group - enough;
  if (more > enough) {
    ScheduleProblem shorter = problem;
    shorter.shape.microbatches -= more * group;
    OneForwardOneBackward player(shorter);
    PipelineEnds ends = player.play();
    if (std::optional<double> period = player.period()) {
      for (double &end : ends)
        end += double(more) * *period;
      return ends;
    }
  }
  return OneForwardOneBackward(problem).play();
}

} // namespace

StatusOr<PipelineEnds> planning::pipelineEnds(const std::string &schedule,
                                              const ScheduleProblem &problem,
                                              ScheduleOrders &orders) {
  if (isPlayedDirectly(schedule, problem))
    return playRepeating(problem);
  HOCKET_ASSIGN_OR_RETURN(const ScheduleOrder *order,
                          orders.find(schedule, problem));
  HOCKET_ASSIGN_OR_RETURN(Timeline timeline,
                          simulateVerified(problem, order->schedule));
  PipelineEnds ends;
  for (const RankTimeline &rank : timeline.ranks)
    ends.push_back(rank.times.empty() ? 0 : rank.times.back().end);
  return std::move(ends);
}
