//===- MemoryFit.h - First fit ----------------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_MEMORY_MEMORYFIT_H
#define HOCKET_PASSES_PLANNING_MEMORY_MEMORYFIT_H

#include "passes/planning/memory/MemoryItems.h"

namespace hocket::planning {

/// Offsets of a region's items, in its order.
struct RegionPlan {
  std::vector<int64_t> offsets;
  /// The end of the highest item; INT64_MAX where there is no plan, because
  /// fixed items meet.
  int64_t peak = INT64_MAX;
};

/// Places the fixed items, then the others in the given order, each in the
/// lowest gap that holds it.
///
/// Example: sizes 4, 2, 3 in this order, where the first two live together and
/// the third only with the second: offsets 0, 4 and 0.
RegionPlan firstFit(const MemoryRegion &region, const std::vector<int> &order);

/// Orders worth trying: by bytes, bytes x time, time, and start. The greatest
/// first, ties by buffer.
std::vector<std::vector<int>> fittingOrders(const MemoryRegion &region);

/// The best of `firstFit` over the first `most` of these orders; no more are
/// tried when one ends at `enough` or lower.
RegionPlan fitRegion(const MemoryRegion &region, int64_t enough, size_t most);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_MEMORY_MEMORYFIT_H
