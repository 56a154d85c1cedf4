//===- MemoryPlan.h - Offsets for buffers with lifetimes --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The memory planner: first fit in a few orders, and where that is above the
/// lower bound (or the capacity) the exact search of SkylineSearch.h, region by
/// region. Every result states how far from the optimum it can be.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_MEMORY_MEMORYPLAN_H
#define HOCKET_PASSES_PLANNING_MEMORY_MEMORYPLAN_H

#include "passes/planning/memory/MemoryProblem.h"

#include <functional>

namespace hocket::planning {

enum class MemoryAlgorithm {
  FirstFit, ///< One order: the largest first.
  BestFit,  ///< The best of four orders of first fit.
  Search,   ///< That, then the exact search.
};

struct MemoryOptions {
  MemoryAlgorithm algorithm = MemoryAlgorithm::Search;
  /// Of each arena; the planner is content when it fits. Without: as low as it
  /// can.
  std::optional<int64_t> capacity = {};
  /// Steps of the search, for all regions together: the same on every machine.
  /// The default is a fraction of a second.
  int64_t steps = 200'000'000;
  /// Ends the search early, e.g. by a clock.
  std::function<bool()> expired = {};
};

struct MemoryArena {
  int64_t peak = 0;
  /// No plan has a lower peak: what the sizes say, or what the search has
  /// ruled out.
  int64_t lowerBound = 0;
};

struct MemoryPlan {
  MemoryOffsets offsets;
  std::map<std::string, MemoryArena> arenas;

  /// Of the arena that is furthest from its bound: peak / bound - 1.
  double gap() const;
  /// The highest of all arenas.
  int64_t peak() const;
};

/// Deterministic unless `expired` is set and ends it. Refuses what
/// checkMemoryProblem refuses, and fixed buffers that meet (Q62).
StatusOr<MemoryPlan> planMemory(const MemoryProblem &problem,
                                const MemoryOptions &options = {});

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_MEMORY_MEMORYPLAN_H
