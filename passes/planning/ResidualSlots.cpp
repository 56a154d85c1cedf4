//===- ResidualSlots.cpp - Copies of residuals in flight ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/ResidualSlots.h"

#include <algorithm>
#include <queue>

using namespace hocket;
using namespace hocket::planning;

namespace {

bool writes(ActionKind kind, ResidualLife life) {
  return kind == (life == ResidualLife::BackwardToWeight ? ActionKind::B
                                                         : ActionKind::F);
}

bool releases(ActionKind kind, ResidualLife life) {
  switch (life) {
  case ResidualLife::ForwardToBackward:
    return kind == ActionKind::B || kind == ActionKind::BW;
  case ResidualLife::ForwardToWeight:
    return kind == ActionKind::W || kind == ActionKind::BW;
  case ResidualLife::BackwardToWeight:
    return kind == ActionKind::W;
  }
  return false;
}

/// Slots from 0 on; the lowest free one is taken first.
class SlotPool {
public:
  int64_t take() {
    if (returned.empty())
      return size++;
    int64_t slot = returned.top();
    returned.pop();
    return slot;
  }
  void give(int64_t slot) { returned.push(slot); }
  int64_t count() const { return size; }

private:
  int64_t size = 0;
  std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> returned;
};

/// A residual's life as indices into its rank's list, ends included.
struct Interval {
  int64_t slot = -1;
  size_t first = SIZE_MAX, last = SIZE_MAX;
  int64_t chunk = 0, microbatch = 0;
};

std::vector<Interval> intervalsOf(const Schedule &schedule, ResidualLife life,
                                  int64_t rank, const SlotPlan &plan) {
  std::vector<Interval> intervals;
  const std::vector<Action> &actions = schedule.ranks[rank];
  for (size_t i = 0; i < actions.size(); ++i) {
    if (!writes(actions[i].kind, life))
      continue;
    Interval interval{plan.slot(rank, actions[i].chunk, actions[i].microbatch),
                      i, actions.size(), actions[i].chunk,
                      actions[i].microbatch};
    for (size_t j = i + 1; j < actions.size(); ++j)
      if (actions[j].chunk == actions[i].chunk &&
          actions[j].microbatch == actions[i].microbatch &&
          releases(actions[j].kind, life))
        interval.last = j;
    intervals.push_back(interval);
  }
  return intervals;
}

} // namespace

SlotPlan hocket::planning::assignSlots(const Schedule &schedule,
                                       ResidualLife life, SlotScope scope) {
  const PipelineShape &shape = schedule.shape;
  SlotPlan plan;
  plan.chunks = shape.chunks;
  plan.microbatches = shape.microbatches;
  plan.counts.assign(shape.stages(), 0);
  plan.slots.assign(shape.cells(), -1);
  for (int64_t rank = 0; rank < shape.ranks; ++rank) {
    std::vector<SlotPool> pools(scope == SlotScope::Rank ? 1 : shape.chunks);
    auto poolOf = [&](int64_t chunk) -> SlotPool & {
      return pools[scope == SlotScope::Rank ? 0 : chunk];
    };
    for (const Action &action : schedule.ranks[rank]) {
      int64_t &slot =
          plan.slots[(rank * shape.chunks + action.chunk) * shape.microbatches +
                     action.microbatch];
      if (writes(action.kind, life))
        slot = poolOf(action.chunk).take();
      else if (releases(action.kind, life) && slot >= 0)
        poolOf(action.chunk).give(slot);
    }
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk)
      plan.counts[rank * shape.chunks + chunk] = poolOf(chunk).count();
  }
  return plan;
}

Status hocket::planning::validateSlots(const Schedule &schedule,
                                       ResidualLife life, SlotScope scope,
                                       const SlotPlan &plan) {
  const PipelineShape &shape = schedule.shape;
  if (plan.counts.size() != static_cast<size_t>(shape.stages()) ||
      plan.slots.size() != static_cast<size_t>(shape.cells()))
    return invalidArgument("the plan is of another schedule");
  for (int64_t rank = 0; rank < shape.ranks; ++rank) {
    std::vector<Interval> all = intervalsOf(schedule, life, rank, plan);
    for (size_t a = 0; a < all.size(); ++a) {
      std::string who = "rank " + std::to_string(rank) + ", chunk " +
                        std::to_string(all[a].chunk) + ", microbatch " +
                        std::to_string(all[a].microbatch);
      if (all[a].slot < 0 || all[a].slot >= plan.count(rank, all[a].chunk))
        return invalidArgument(who + " has no slot");
      for (size_t b = 0; b < a; ++b) {
        bool pool = scope == SlotScope::Rank || all[a].chunk == all[b].chunk;
        if (pool && all[a].slot == all[b].slot && all[b].last > all[a].first)
          return invalidArgument(
              who + " shares slot " + std::to_string(all[a].slot) +
              " with microbatch " + std::to_string(all[b].microbatch));
      }
    }
  }
  return okStatus();
}
