//===- RandomSchedule.h - Any order that can run ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Draws schedules that nobody would write: any shape, and any order in which
/// dependences are met and each rank takes what another sends it in the order
/// in which that was sent.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_PASSES_PLANNING_RANDOMSCHEDULE_H
#define HOCKET_TEST_PASSES_PLANNING_RANDOMSCHEDULE_H

#include "passes/planning/Schedule.h"

#include <deque>
#include <map>
#include <random>
#include <tuple>
#include <vector>

namespace hocket::planning {

class RandomSchedule {
public:
  /// `splits` of ten backwards are B and W apart.
  RandomSchedule(const PipelineShape &shape, int splits,
                 std::mt19937_64 &random)
      : shape(shape), random(random), forward(shape.cells()),
        backward(shape.cells()), weight(shape.cells()) {
    schedule = {"random", shape, std::vector<std::vector<Action>>(shape.ranks)};
    for (int64_t cell = 0; cell < shape.cells(); ++cell)
      isSplit.push_back(int(random() % 10) < splits);
    // From breadth first to depth first.
    eagerness = int(random() % 11);
  }

  Schedule draw() {
    while (step()) {
    }
    return schedule;
  }

private:
  using Channel = std::tuple<int64_t, int64_t, char>;
  using Message = std::pair<int64_t, int32_t>; ///< To a stage.

  size_t cell(int64_t stage, int32_t microbatch) const {
    return size_t(stage * shape.microbatches + microbatch);
  }

  /// Whether what goes to `stage` is there and next.
  bool arrives(char part, int64_t from, int64_t to, int32_t m) const {
    if (!(part == 'F' ? forward : backward)[cell(from, m)])
      return false;
    int64_t sender = shape.rankOf(from), receiver = shape.rankOf(to);
    if (sender == receiver)
      return true;
    auto found = channels.find({sender, receiver, part});
    return found != channels.end() && !found->second.empty() &&
           found->second.front() == Message(to, m);
  }

  void send(char part, int64_t from, int64_t to, int32_t m) {
    int64_t sender = shape.rankOf(from), receiver = shape.rankOf(to);
    if (to >= 0 && to < shape.stages() && sender != receiver)
      channels[{sender, receiver, part}].push_back({to, m});
  }

  void take(char part, int64_t from, int64_t to) {
    if (from < 0 || from >= shape.stages())
      return;
    auto found = channels.find({shape.rankOf(from), shape.rankOf(to), part});
    if (found != channels.end())
      found->second.pop_front();
  }

  void addReady(int64_t rank, int32_t chunk, int32_t m,
                std::vector<Action> &forwards,
                std::vector<Action> &others) const {
    int64_t stage = shape.stageOf(rank, chunk);
    size_t at = cell(stage, m);
    if (!forward[at] && (stage == 0 || arrives('F', stage - 1, stage, m)))
      forwards.push_back({ActionKind::F, chunk, m});
    if (forward[at] && !backward[at] &&
        (stage + 1 == shape.stages() || arrives('B', stage + 1, stage, m)))
      others.push_back(
          {isSplit[at] ? ActionKind::B : ActionKind::BW, chunk, m});
    if (backward[at] && !weight[at])
      others.push_back({ActionKind::W, chunk, m});
  }

  /// One more action of some rank; false if all is done.
  bool step() {
    std::vector<int64_t> able;
    std::vector<std::vector<Action>> forwards(shape.ranks), others(shape.ranks);
    for (int64_t rank = 0; rank < shape.ranks; ++rank) {
      for (int32_t chunk = 0; chunk < shape.chunks; ++chunk)
        for (int32_t m = 0; m < shape.microbatches; ++m)
          addReady(rank, chunk, m, forwards[rank], others[rank]);
      if (!forwards[rank].empty() || !others[rank].empty())
        able.push_back(rank);
    }
    if (able.empty())
      return false;
    int64_t rank = able[random() % able.size()];
    bool goesOn = others[rank].empty() ||
                  (!forwards[rank].empty() && int(random() % 10) >= eagerness);
    const auto &list = goesOn ? forwards[rank] : others[rank];
    run(rank, list[random() % list.size()]);
    return true;
  }

  void run(int64_t rank, const Action &action) {
    int64_t stage = shape.stageOf(rank, action.chunk);
    size_t at = cell(stage, action.microbatch);
    if (action.kind == ActionKind::F) {
      take('F', stage - 1, stage);
      send('F', stage, stage + 1, action.microbatch);
      forward[at] = true;
    } else if (action.kind != ActionKind::W) {
      take('B', stage + 1, stage);
      send('B', stage, stage - 1, action.microbatch);
      backward[at] = true;
    }
    weight[at] = action.kind == ActionKind::W || action.kind == ActionKind::BW;
    schedule.ranks[rank].push_back(action);
  }

  PipelineShape shape;
  std::mt19937_64 &random;
  std::vector<bool> forward, backward, weight, isSplit;
  std::map<Channel, std::deque<Message>> channels;
  int eagerness = 0;
  Schedule schedule;
};

/// Of `ranks` ranks, one to three chunks in either placement, whole backwards
/// or split ones.
inline Schedule drawSchedule(int64_t ranks, int64_t microbatches,
                             std::mt19937_64 &random) {
  PipelineShape shape;
  shape.ranks = ranks;
  shape.chunks = 1 + int64_t(random() % 3);
  shape.microbatches = microbatches;
  shape.placement = random() % 2 ? Placement::VShaped : Placement::RoundRobin;
  const int splits[] = {0, 5, 10};
  return RandomSchedule(shape, splits[random() % 3], random).draw();
}

} // namespace hocket::planning

#endif // HOCKET_TEST_PASSES_PLANNING_RANDOMSCHEDULE_H
