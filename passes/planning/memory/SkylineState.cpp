//===- SkylineState.cpp - Placed and delayed buffers ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/memory/SkylineState.h"

#include <algorithm>

using namespace hocket::planning;

SkylineState::SkylineState(const SkylineModel &model, int64_t capacity,
                           int64_t &steps)
    : conflict(model.size()), model(model), capacity(capacity),
      roundedCapacity(alignedUp(capacity, model.region.grain)), steps(steps),
      placed(model.size(), false), sections(model.sections),
      isQueued(model.size(), false), isDirty(model.sections.size(), false) {
  for (int i = 0; i < model.size(); ++i) {
    int64_t fixed = model.region.items[i].fixed;
    first.push_back(std::max<int64_t>(fixed, 0));
    last.push_back(fixed >= 0 ? fixed : capacity - model.height[i]);
    least.push_back({first[i], PlacementSet(model.size())});
  }
}

bool SkylineState::begin() {
  for (int i = 0; i < model.size(); ++i) {
    if (first[i] + model.height[i] > capacity)
      return fail();
    changed(i);
  }
  return propagate();
}

void SkylineState::save(int item) { trail.emplace_back(item, least[item]); }

void SkylineState::undo(Mark mark) {
  for (; trail.size() > mark.changes; trail.pop_back())
    least[trail.back().first] = std::move(trail.back().second);
  for (; placements.size() > mark.placements; placements.pop_back())
    placed[placements.back()] = false;
}

void SkylineState::changed(int item) {
  if (!isQueued[item])
    queue.push_back(item);
  isQueued[item] = true;
}

void SkylineState::lift(int item, int64_t offset) {
  least[item].offset = offset;
  changed(item);
}

/// Ends the inference that is under way.
bool SkylineState::fail() {
  for (int item : queue)
    isQueued[item] = false;
  for (int section : dirty)
    isDirty[section] = false;
  queue.clear();
  dirty.clear();
  return false;
}

bool SkylineState::place(int item) {
  placed[item] = true;
  placements.push_back(item);
  int64_t offset = lowest(item);
  steps -= static_cast<int64_t>(model.neighbours[item].size());
  for (const Neighbour &n : model.neighbours[item]) {
    if (placed[n.item])
      continue;
    Least &other = least[n.item];
    int64_t top =
        alignedUp(offset + n.under, model.region.items[n.item].alignment);
    if (other.offset >= top && other.delayedAt < 0)
      continue;
    save(n.item);
    other.delayedAt = other.support = -1;
    if (other.offset >= top)
      continue;
    // It is not under `item`: for what has lifted it, or for its size alone.
    if (first[n.item] + n.over > offset)
      other.reason.clear();
    other.reason.add(item);
    lift(n.item, top);
  }
  return propagate();
}

bool SkylineState::delay(int item) {
  save(item);
  least[item].delayedAt = lowest(item);
  conflict.add(least[item].reason);
  least[item].reason = conflict;
  return liftDelayed(item) && propagate();
}

/// Puts a delayed item on the lowest of the tops that may come under it.
bool SkylineState::liftDelayed(int item) {
  int64_t from = least[item].delayedAt, best = INT64_MAX;
  int support = -1;
  steps -= static_cast<int64_t>(model.neighbours[item].size());
  for (const Neighbour &n : model.neighbours[item]) {
    int64_t other = lowest(n.item), top = other + n.over;
    if (!placed[n.item] && other < from + n.under && top < best &&
        n.item != model.twin[item])
      best = top, support = n.item;
  }
  if (support >= 0)
    best = alignedUp(best, model.region.items[item].alignment);
  save(item);
  Least &self = least[item];
  self.support = support;
  if (best <= self.offset)
    return true;
  for (const Neighbour &n : model.neighbours[item]) {
    if (!placed[n.item])
      self.reason.add(least[n.item].reason);
    else if (support < 0 || first[n.item] + n.over < best)
      self.reason.add(n.item);
  }
  if (support >= 0) {
    lift(item, best);
    return true;
  }
  conflict = self.reason;
  return fail();
}

bool SkylineState::liftTwin(int item) {
  int next = model.twin[item];
  if (next < 0 || placed[next])
    return true;
  int64_t top = alignedUp(lowest(item) + model.height[item],
                          model.region.items[next].alignment);
  if (lowest(next) >= top)
    return true;
  save(next);
  least[next].reason = least[item].reason;
  lift(next, top);
  return true;
}

bool SkylineState::propagate() {
  while (!queue.empty() || !dirty.empty()) {
    if (queue.empty()) {
      int section = dirty.back();
      dirty.pop_back();
      isDirty[section] = false;
      if (!checkSection(section))
        return false;
      continue;
    }
    int item = queue.back();
    queue.pop_back();
    isQueued[item] = false;
    if (lowest(item) > last[item]) {
      conflict = least[item].reason;
      return fail();
    }
    for (int section : model.sectionsOf[item])
      if (!isDirty[section]) {
        isDirty[section] = true;
        dirty.push_back(section);
      }
    liftTwin(item);
    steps -= static_cast<int64_t>(model.neighbours[item].size());
    for (const Neighbour &n : model.neighbours[item])
      if (!placed[n.item] && least[n.item].support == item &&
          !liftDelayed(n.item))
        return false;
  }
  return true;
}

/// The one-machine bound, from the highest item down.
bool SkylineState::checkSection(int section) {
  std::vector<Slice> &slices = sections[section];
  auto height = [&](const Slice &slice) {
    return placed[slice.item] ? -1 : lowest(slice.item) + slice.first;
  };
  // Little has moved since the last time: insertion sort.
  for (size_t i = 1; i < slices.size(); ++i) {
    Slice slice = slices[i];
    int64_t key = height(slice);
    size_t at = i;
    for (; at > 0 && height(slices[at - 1]) < key; --at)
      slices[at] = slices[at - 1];
    slices[at] = slice;
  }
  steps -= static_cast<int64_t>(slices.size());
  int64_t bytes = 0;
  for (size_t i = 0; i < slices.size() && !placed[slices[i].item]; ++i) {
    bytes += slices[i].bytes;
    if (height(slices[i]) + bytes <= roundedCapacity)
      continue;
    conflict.clear();
    for (size_t j = 0; j <= i; ++j)
      conflict.add(least[slices[j].item].reason);
    return fail();
  }
  return true;
}

int64_t SkylineState::floor(int section) const {
  int64_t lowestOfAll = INT64_MAX;
  for (const Slice &slice : sections[section])
    if (!placed[slice.item])
      lowestOfAll = std::min(lowestOfAll, lowest(slice.item) + slice.first);
  return lowestOfAll;
}

int64_t SkylineState::room(int section) const {
  int64_t bytes = 0;
  for (const Slice &slice : sections[section])
    if (!placed[slice.item])
      bytes += slice.bytes;
  return roundedCapacity - floor(section) - bytes;
}
