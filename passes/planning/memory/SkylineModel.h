//===- SkylineModel.h - A region as the search sees it ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What does not change while a region is searched: which items meet and how
/// far apart they have to be, the moments that matter, and orders in which to
/// prefer items.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_MEMORY_SKYLINEMODEL_H
#define HOCKET_PASSES_PLANNING_MEMORY_SKYLINEMODEL_H

#include "passes/planning/memory/MemoryItems.h"

namespace hocket::planning {

class SkylineModel {
public:
  /// `item` meets another one. If the other is the higher one, it is at least
  /// `under` above it, else at least `over` below it.
  struct Neighbour {
    int item;
    int64_t under, over;
  };
  /// What an item needs at a moment: `bytes` from `first`, rounded up to the
  /// grain where it begins at the item's offset.
  struct Slice {
    int item;
    int64_t first, bytes;
  };

  explicit SkylineModel(const MemoryRegion &region);

  /// Whether the region is small enough to be searched.
  static bool holds(const MemoryRegion &region);

  int size() const { return static_cast<int>(region.items.size()); }

  const MemoryRegion &region;
  std::vector<std::vector<Neighbour>> neighbours; // of each item
  /// The moments at which a set of items lives that is in no other's.
  std::vector<std::vector<Slice>> sections;
  std::vector<std::vector<int>> sectionsOf; // of each item
  /// The next item that is exactly like this one, or -1.
  std::vector<int> twin;
  std::vector<int64_t> height;
  /// Ranks of the items, the preferred ones first.
  std::vector<std::vector<int>> priorities;
  /// Whether every item is flat: only then is what the search rules out
  /// impossible.
  bool exact = true;

private:
  void findNeighbours();
  void findSections();
  void findTwins();
  void rankItems();
};

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_MEMORY_SKYLINEMODEL_H
