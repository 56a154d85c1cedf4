//===- SkylineModel.cpp - A region as the search sees it ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/memory/SkylineModel.h"

#include <algorithm>
#include <array>
#include <numeric>

using namespace hocket::planning;

constexpr size_t kMostItems = 4096;
constexpr size_t kMostPairs = size_t{1} << 21;

SkylineModel::SkylineModel(const MemoryRegion &region) : region(region) {
  for (const ArenaItem &item : region.items) {
    height.push_back(item.height());
    exact = exact && item.isFlat();
  }
  findNeighbours();
  findSections();
  findTwins();
  rankItems();
}

bool SkylineModel::holds(const MemoryRegion &region) {
  if (region.items.size() > kMostItems)
    return false;
  size_t pairs = 0, parts = 0;
  for (size_t a = 0; a < region.items.size(); ++a) {
    parts += region.items[a].parts.size();
    for (size_t b = a + 1; b < region.items.size() &&
                           region.items[b].lower() < region.items[a].upper();
         ++b)
      ++pairs;
  }
  return pairs <= kMostPairs && parts <= 2 * kMostItems;
}

void SkylineModel::findNeighbours() {
  const std::vector<ArenaItem> &items = region.items;
  neighbours.resize(items.size());
  for (int a = 0; a < size(); ++a)
    for (int b = a + 1; b < size() && items[b].lower() < items[a].upper(); ++b)
      if (std::optional<int64_t> under = clearance(items[a], items[b])) {
        int64_t over = *clearance(items[b], items[a]);
        neighbours[a].push_back({b, *under, over});
        neighbours[b].push_back({a, over, *under});
      }
}

/// Whether every slice of `a`, which is in order, is one of `b` too.
static bool isInside(const std::vector<SkylineModel::Slice> &a,
                     const std::vector<SkylineModel::Slice> &b) {
  auto key = [](const SkylineModel::Slice &s) {
    return std::array<int64_t, 3>{s.item, s.first, s.bytes};
  };
  return std::includes(
      b.begin(), b.end(), a.begin(), a.end(),
      [&](const auto &x, const auto &y) { return key(x) < key(y); });
}

void SkylineModel::findSections() {
  std::vector<int64_t> times;
  for (const ArenaItem &item : region.items)
    for (const MemoryPart &part : item.parts)
      times.push_back(part.lower);
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  for (int64_t time : times) {
    std::vector<Slice> now;
    for (int i = 0; i < size(); ++i)
      for (const MemoryPart &part : region.items[i].parts)
        if (part.lower <= time && time < part.upper) {
          int64_t bytes = part.last - part.first;
          if (part.first == 0)
            bytes = alignedUp(bytes, region.grain);
          now.push_back({i, part.first, bytes});
        }
    if (!sections.empty() && isInside(sections.back(), now))
      sections.back() = std::move(now);
    else if (sections.empty() || !isInside(now, sections.back()))
      sections.push_back(std::move(now));
  }
  sectionsOf.resize(region.items.size());
  for (size_t s = 0; s < sections.size(); ++s)
    for (const Slice &slice : sections[s])
      sectionsOf[slice.item].push_back(static_cast<int>(s));
}

void SkylineModel::findTwins() {
  using Shape = std::vector<std::array<int64_t, 4>>;
  std::map<std::pair<int64_t, Shape>, int> last;
  twin.assign(region.items.size(), -1);
  for (int i = 0; i < size(); ++i) {
    const ArenaItem &item = region.items[i];
    if (item.fixed >= 0)
      continue;
    Shape shape;
    for (const MemoryPart &part : item.parts)
      shape.push_back({part.lower, part.upper, part.first, part.last});
    auto [at, isNew] = last.insert({{item.alignment, std::move(shape)}, i});
    if (!isNew)
      twin[at->second] = i;
    at->second = i;
  }
}

void SkylineModel::rankItems() {
  using Key = std::array<double, 3>;
  std::vector<double> fullest(region.items.size(), 0);
  for (const std::vector<Slice> &section : sections) {
    double sum = 0;
    for (const Slice &slice : section)
      sum += double(slice.bytes);
    for (const Slice &slice : section)
      fullest[slice.item] = std::max(fullest[slice.item], sum);
  }
  std::vector<Key> keys[5];
  for (int i = 0; i < size(); ++i) {
    double bytes = double(height[i]);
    double time = double(region.items[i].upper() - region.items[i].lower());
    double width = double(sectionsOf[i].size());
    keys[0].push_back({bytes * time, 0, 0});
    keys[1].push_back({width, fullest[i], bytes});
    keys[2].push_back({fullest[i], bytes * time, 0});
    keys[3].push_back({fullest[i], width, bytes});
    keys[4].push_back({bytes, 0, 0});
  }
  for (const std::vector<Key> &key : keys) {
    std::vector<int> order(region.items.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      return key[a] != key[b] ? key[a] > key[b] : a < b;
    });
    std::vector<int> &rank = priorities.emplace_back(order.size());
    for (size_t i = 0; i < order.size(); ++i)
      rank[order[i]] = static_cast<int>(i);
  }
}
