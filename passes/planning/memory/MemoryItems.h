//===- MemoryItems.h - What the memory planner places -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A problem as its algorithms see it: items that move as one (a buffer and all
/// that stand inside it), each with the bytes it needs over time; cut into
/// regions that no lifetime connects, which are planned one by one.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_MEMORY_MEMORYITEMS_H
#define HOCKET_PASSES_PLANNING_MEMORY_MEMORYITEMS_H

#include "passes/planning/memory/MemoryProblem.h"

namespace hocket::planning {

/// During [lower, upper) an item needs the bytes [first, last) from its offset.
struct MemoryPart {
  int64_t lower = 0, upper = 0;
  int64_t first = 0, last = 0;
};

struct ArenaItem {
  /// The buffer whose offset is the item's.
  int64_t buffer = 0;
  /// In order of time, apart from each other; never empty.
  std::vector<MemoryPart> parts;
  int64_t alignment = 1;
  /// Where it has to be, or -1.
  int64_t fixed = -1;

  int64_t lower() const { return parts.front().lower; }
  int64_t upper() const { return parts.back().upper; }
  /// The end of the highest part.
  int64_t height() const;
  /// Whether every part begins at the offset, so that nothing fits under one.
  bool isFlat() const;
};

/// Items of one arena, by time, whose lifetimes overlap in a chain.
struct MemoryRegion {
  std::string arena;
  std::vector<ArenaItem> items;
  /// What all alignments have in common.
  int64_t grain = 1;

  /// No plan of these items has a lower peak.
  int64_t lowerBound() const;
};

/// How far above `below` the item `above` has to be where both live; nullopt
/// where they never meet.
std::optional<int64_t> clearance(const ArenaItem &below,
                                 const ArenaItem &above);

/// `value` up to a multiple of `alignment`.
inline int64_t alignedUp(int64_t value, int64_t alignment) {
  int64_t rest = value % alignment;
  return rest == 0 ? value : value + (alignment - rest);
}

/// The regions of all arenas. Buffers that need no bytes are in none.
std::vector<MemoryRegion> memoryRegions(const MemoryProblem &problem);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_MEMORY_MEMORYITEMS_H
