//===- SkylineState.h - Placed and delayed buffers --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What changes while a region is searched (SkylineSearch.h): least offsets
/// with their reasons, and the inference from them, all of it undone by a mark.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_MEMORY_SKYLINESTATE_H
#define HOCKET_PASSES_PLANNING_MEMORY_SKYLINESTATE_H

#include "passes/planning/memory/SkylineModel.h"

namespace hocket::planning {

/// A set of items, each of which stands for its placement.
class PlacementSet {
public:
  explicit PlacementSet(size_t items = 0) : words((items + 63) / 64, 0) {}

  bool has(int i) const { return words[i / 64] >> (i % 64) & 1; }
  void add(int i) { words[i / 64] |= uint64_t{1} << (i % 64); }
  void remove(int i) { words[i / 64] &= ~(uint64_t{1} << (i % 64)); }
  void add(const PlacementSet &other) {
    for (size_t w = 0; w < words.size(); ++w)
      words[w] |= other.words[w];
  }
  void clear() { words.assign(words.size(), 0); }
  template <typename Function> void forEach(Function function) const {
    for (size_t w = 0; w < words.size(); ++w)
      for (uint64_t rest = words[w]; rest; rest &= rest - 1)
        function(static_cast<int>(w * 64) + __builtin_ctzll(rest));
  }

private:
  std::vector<uint64_t> words;
};

class SkylineState {
public:
  /// Takes its work off `steps`.
  SkylineState(const SkylineModel &model, int64_t capacity, int64_t &steps);

  /// Each of these is false on a conflict, which it leaves in `conflict`: a set
  /// of placements that no solution has together.
  bool begin();
  /// Places an item at its least offset. No other one fits under it.
  bool place(int item);
  /// Lifts an item whose placement would end in `conflict`.
  bool delay(int item);

  struct Mark {
    size_t changes, placements;
  };
  Mark mark() const { return {trail.size(), placements.size()}; }
  void undo(Mark mark);

  bool isPlaced(int item) const { return placed[item]; }
  int64_t lowest(int item) const { return least[item].offset; }
  int64_t room(int section) const;
  /// The least offset in a section; INT64_MAX where all of it is placed.
  int64_t floor(int section) const;

  PlacementSet conflict;

private:
  using Neighbour = SkylineModel::Neighbour;
  using Slice = SkylineModel::Slice;

  /// The least offset of an item, and the placements it follows from.
  struct Least {
    int64_t offset = 0;
    PlacementSet reason;
    /// Where it was delayed and stands on nothing placed yet, else -1; and the
    /// item that may come under it with the lowest top, else -1.
    int64_t delayedAt = -1;
    int support = -1;
  };

  void save(int item);
  void changed(int item);
  void lift(int item, int64_t offset);
  bool liftTwin(int item);
  bool liftDelayed(int item);
  bool propagate();
  bool checkSection(int section);
  bool fail();

  const SkylineModel &model;
  const int64_t capacity, roundedCapacity;
  int64_t &steps;
  std::vector<int64_t> first, last; // of the offsets of each item
  std::vector<Least> least;
  std::vector<bool> placed;
  std::vector<std::vector<Slice>> sections; // the highest first
  std::vector<std::pair<int, Least>> trail;
  std::vector<int> placements;
  std::vector<int> queue, dirty;
  std::vector<bool> isQueued, isDirty;
};

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_MEMORY_SKYLINESTATE_H
