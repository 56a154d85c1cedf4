//===- MemoryItems.cpp - What the memory planner places -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/memory/MemoryItems.h"

#include <algorithm>
#include <numeric>

using namespace hocket::planning;

int64_t ArenaItem::height() const {
  int64_t height = 0;
  for (const MemoryPart &part : parts)
    height = std::max(height, part.last);
  return height;
}

bool ArenaItem::isFlat() const {
  return std::all_of(parts.begin(), parts.end(),
                     [](const MemoryPart &part) { return part.first == 0; });
}

std::optional<int64_t> hocket::planning::clearance(const ArenaItem &below,
                                                   const ArenaItem &above) {
  std::optional<int64_t> most;
  auto a = below.parts.begin(), b = above.parts.begin();
  while (a != below.parts.end() && b != above.parts.end()) {
    if (a->lower < b->upper && b->lower < a->upper)
      most = std::max(most.value_or(INT64_MIN), a->last - b->first);
    a->upper < b->upper ? ++a : ++b;
  }
  return most;
}

int64_t MemoryRegion::lowerBound() const {
  // Bytes as they are, and rounded up to the grain. Only the highest buffer of
  // a moment may end off the grain, so the rounded sum is off by one rounding.
  struct Change {
    int64_t time, bytes, rounded;
  };
  std::vector<Change> changes;
  int64_t bound = 0, rounding = 0;
  for (const ArenaItem &item : items) {
    bound = std::max(bound, std::max<int64_t>(item.fixed, 0) + item.height());
    for (const MemoryPart &part : item.parts) {
      int64_t bytes = part.last - part.first;
      int64_t rounded = part.first == 0 ? alignedUp(bytes, grain) : bytes;
      rounding = std::max(rounding, rounded - bytes);
      changes.push_back({part.lower, bytes, rounded});
      changes.push_back({part.upper, -bytes, -rounded});
    }
  }
  std::sort(changes.begin(), changes.end(),
            [](const Change &a, const Change &b) {
              return a.time != b.time ? a.time < b.time : a.bytes < b.bytes;
            });
  int64_t bytes = 0, rounded = 0;
  for (const Change &change : changes) {
    bytes += change.bytes, rounded += change.rounded;
    bound = std::max({bound, bytes, rounded - rounding});
  }
  return bound;
}

/// The parts of one buffer, `within` bytes above the item's offset.
static void addParts(const MemoryBuffer &buffer,
                     std::vector<MemoryPart> &parts) {
  auto add = [&](int64_t lower, int64_t upper, int64_t first, int64_t last) {
    if (lower < upper && first < last)
      parts.push_back(
          {lower, upper, buffer.within + first, buffer.within + last});
  };
  int64_t time = buffer.lower;
  for (const MemoryGap &gap : buffer.gaps) {
    add(time, gap.lower, 0, buffer.size);
    add(gap.lower, gap.upper, gap.first, gap.last);
    time = gap.upper;
  }
  add(time, buffer.upper, 0, buffer.size);
}

/// At every moment from the lowest to the highest byte that a part needs.
static std::vector<MemoryPart> hull(const std::vector<MemoryPart> &parts) {
  std::vector<int64_t> times;
  for (const MemoryPart &part : parts)
    times.insert(times.end(), {part.lower, part.upper});
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  std::vector<MemoryPart> result;
  for (size_t i = 0; i + 1 < times.size(); ++i) {
    MemoryPart now{times[i], times[i + 1], INT64_MAX, 0};
    for (const MemoryPart &part : parts)
      if (part.lower <= now.lower && now.upper <= part.upper) {
        now.first = std::min(now.first, part.first);
        now.last = std::max(now.last, part.last);
      }
    if (now.first >= now.last)
      continue;
    bool goesOn = !result.empty() && result.back().upper == now.lower &&
                  result.back().first == now.first &&
                  result.back().last == now.last;
    if (goesOn)
      result.back().upper = now.upper;
    else
      result.push_back(now);
  }
  return result;
}

/// An item for each buffer without a host, by arena.
static std::map<std::string, std::vector<ArenaItem>>
itemsOf(const MemoryProblem &problem) {
  std::vector<std::vector<MemoryPart>> parts(problem.buffers.size());
  std::vector<bool> isHost(parts.size(), false);
  for (size_t i = 0; i < parts.size(); ++i) {
    const MemoryBuffer &buffer = problem.buffers[i];
    addParts(buffer, parts[buffer.host.value_or(static_cast<int64_t>(i))]);
    if (buffer.host)
      isHost[*buffer.host] = true;
  }
  std::map<std::string, std::vector<ArenaItem>> arenas;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].empty())
      continue;
    const MemoryBuffer &buffer = problem.buffers[i];
    arenas[buffer.arena].push_back(
        {static_cast<int64_t>(i), isHost[i] ? hull(parts[i]) : parts[i],
         buffer.alignment, buffer.offset.value_or(-1)});
  }
  return arenas;
}

std::vector<MemoryRegion>
hocket::planning::memoryRegions(const MemoryProblem &problem) {
  std::vector<MemoryRegion> regions;
  for (auto &[arena, items] : itemsOf(problem)) {
    std::sort(items.begin(), items.end(),
              [](const ArenaItem &a, const ArenaItem &b) {
                return std::pair(a.lower(), a.buffer) <
                       std::pair(b.lower(), b.buffer);
              });
    int64_t end = -1;
    for (ArenaItem &item : items) {
      if (item.lower() >= end)
        regions.push_back({arena, {}, 0});
      end = std::max(end, item.upper());
      MemoryRegion &region = regions.back();
      region.grain = std::gcd(region.grain, item.alignment);
      region.items.push_back(std::move(item));
    }
  }
  return regions;
}
