//===- SkylineSearch.h - Exact placement of buffers -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds offsets within a capacity or shows that there are none. In the spirit
/// of MiniMalloc (Moffitt, ASPLOS 2023), which searches canonical solutions
/// from the bottom up; here as place-or-delay with explained conflicts.
///
/// Every item has a least offset, at first 0. A step takes an item that no
/// other one fits under and either places it at its least offset, which lifts
/// all that meet it, or delays it: it will be higher, hence stands on one that
/// is not placed yet and that reaches into where it would have been (else it
/// could fall there: of all solutions we seek the one with the least sum of
/// offsets). The least such top is its new least offset, and if there is no
/// such item, it could not be delayed. Twins stand in their order.
///
/// A section (a moment) is over-full if for some height h the items that are
/// not placed and stand at h or higher have more bytes than the capacity has
/// above h: the one-machine bound with release times.
///
/// For each least offset the search knows the placements that brought it about.
/// A conflict is the union of those of the items in it. It leads back to the
/// latest placement it names, past those that have nothing to do with it
/// (conflict-directed backjumping, Prosser 1993): parts of the program that do
/// not touch are searched independently, without looking for them.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_MEMORY_SKYLINESEARCH_H
#define HOCKET_PASSES_PLANNING_MEMORY_SKYLINESEARCH_H

#include "passes/planning/memory/SkylineModel.h"

#include <functional>

namespace hocket::planning {

/// How much a search may do: `steps` of about a nanosecond or two, counted
/// down, the same on every machine; and until `expired`, where it is set.
struct SearchBudget {
  int64_t steps = INT64_MAX;
  std::function<bool()> expired = {};

  bool spent() const { return steps <= 0 || (expired && expired()); }
};

enum class SearchOutcome { Found, Impossible, GaveUp };

/// Which item comes next.
struct SkylineStrategy {
  enum class Next {
    Lowest,  ///< The one with the least offset of all.
    Fullest, ///< The lowest one of the section with the least room.
    Deepest, ///< The lowest one of the section whose floor is the lowest.
  };
  Next next = Next::Lowest;
  /// Of equally low ones, by the model's priority list of this number.
  int priority = 0;
  /// Before that, those that took part in more of the latest conflicts.
  bool learns = false;
};

/// Tries several strategies in turns, each time with more steps. Deterministic
/// but for `budget.expired`. `offsets` is written where the outcome is Found;
/// Impossible is only said of exact models.
SearchOutcome searchSkyline(const SkylineModel &model, int64_t capacity,
                            SearchBudget &budget,
                            std::vector<int64_t> &offsets);

/// One strategy, for at most `nodes` placements.
SearchOutcome searchSkyline(const SkylineModel &model, int64_t capacity,
                            const SkylineStrategy &strategy, int64_t nodes,
                            SearchBudget &budget,
                            std::vector<int64_t> &offsets);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_MEMORY_SKYLINESEARCH_H
