//===- MemoryFit.cpp - First fit ------------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/memory/MemoryFit.h"

#include <algorithm>
#include <functional>
#include <numeric>

using namespace hocket::planning;

namespace {

/// Offsets that an item may not have: those between the two, ends excluded.
struct Forbidden {
  int64_t above, below;
};

class Fitting {
public:
  explicit Fitting(const MemoryRegion &region) : items(region.items) {
    plan.offsets.assign(items.size(), 0);
  }

  /// The lowest offset of item `i` beside those that are placed.
  int64_t lowest(int i) const {
    std::vector<Forbidden> forbidden = around(i);
    auto byStart = [](const Forbidden &a, const Forbidden &b) {
      return a.above < b.above;
    };
    if (!std::is_sorted(forbidden.begin(), forbidden.end(), byStart))
      std::sort(forbidden.begin(), forbidden.end(), byStart);
    int64_t offset = 0;
    for (const Forbidden &range : forbidden) {
      if (offset <= range.above)
        break;
      if (offset < range.below)
        offset = alignedUp(range.below, items[i].alignment);
    }
    return offset;
  }

  bool isFree(int i, int64_t offset) const {
    for (const Forbidden &range : around(i))
      if (range.above < offset && offset < range.below)
        return false;
    return true;
  }

  void place(int i, int64_t offset) {
    plan.offsets[i] = offset;
    plan.peak = std::max(plan.peak == INT64_MAX ? 0 : plan.peak,
                         offset + items[i].height());
    auto at = std::upper_bound(
        placed.begin(), placed.end(), offset,
        [&](int64_t value, int other) { return value < plan.offsets[other]; });
    placed.insert(at, i);
  }

  RegionPlan plan;

private:
  std::vector<Forbidden> around(int i) const {
    std::vector<Forbidden> forbidden;
    const ArenaItem &item = items[i];
    for (int other : placed) {
      const ArenaItem &beside = items[other];
      if (item.lower() >= beside.upper() || beside.lower() >= item.upper())
        continue;
      if (std::optional<int64_t> up = clearance(beside, item))
        forbidden.push_back({plan.offsets[other] - *clearance(item, beside),
                             plan.offsets[other] + *up});
    }
    return forbidden;
  }

  const std::vector<ArenaItem> &items;
  std::vector<int> placed; // by offset
};

} // namespace

RegionPlan hocket::planning::firstFit(const MemoryRegion &region,
                                      const std::vector<int> &order) {
  Fitting fitting(region);
  for (int i : order) {
    int64_t fixed = region.items[i].fixed;
    if (fixed < 0)
      continue;
    if (!fitting.isFree(i, fixed))
      return {};
    fitting.place(i, fixed);
  }
  for (int i : order)
    if (region.items[i].fixed < 0)
      fitting.place(i, fitting.lowest(i));
  return std::move(fitting.plan);
}

std::vector<std::vector<int>>
hocket::planning::fittingOrders(const MemoryRegion &region) {
  auto bytes = [](const ArenaItem &i) { return double(i.height()); };
  auto time = [](const ArenaItem &i) { return double(i.upper() - i.lower()); };
  const std::function<double(const ArenaItem &)> keys[] = {
      [&](const ArenaItem &i) { return bytes(i); },
      [&](const ArenaItem &i) { return bytes(i) * time(i); },
      [&](const ArenaItem &i) { return time(i); },
      [](const ArenaItem &i) { return -double(i.lower()); },
  };
  std::vector<std::vector<int>> orders;
  for (const auto &key : keys) {
    std::vector<double> values;
    for (const ArenaItem &item : region.items)
      values.push_back(key(item));
    std::vector<int> &order = orders.emplace_back(values.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      if (values[a] != values[b])
        return values[a] > values[b];
      return region.items[a].buffer < region.items[b].buffer;
    });
  }
  return orders;
}

RegionPlan hocket::planning::fitRegion(const MemoryRegion &region,
                                       int64_t enough, size_t most) {
  RegionPlan best;
  std::vector<std::vector<int>> orders = fittingOrders(region);
  orders.resize(std::min(most, orders.size()));
  for (const std::vector<int> &order : orders) {
    RegionPlan plan = firstFit(region, order);
    if (best.offsets.empty() || plan.peak < best.peak)
      best = std::move(plan);
    if (best.peak <= enough)
      break;
  }
  return best;
}
