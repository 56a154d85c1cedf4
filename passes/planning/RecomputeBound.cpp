//===- RecomputeBound.cpp - How little recomputation can do ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/RecomputeSearch.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

using namespace hocket::planning;

namespace {

/// Above this many values they are replaced by as many steps.
constexpr size_t kMostValues = 1024;
constexpr int64_t kSteps = 256;

/// Adds the sums of subsets of `bytes` to `sums`; false if they get too many.
bool addSubsetSums(const std::multiset<int64_t> &bytes,
                   std::set<int64_t> &sums) {
  std::set<int64_t> own = {0};
  for (int64_t value : bytes) {
    std::set<int64_t> more = own;
    for (int64_t sum : own)
      more.insert(sum + value);
    own = std::move(more);
    if (own.size() > kMostValues)
      return false;
  }
  sums.insert(own.begin(), own.end());
  return sums.size() <= kMostValues;
}

class Relaxation {
public:
  Relaxation(const std::vector<RecomputeItem> &items, int64_t need);

  /// The least seconds where the worst layer takes from `low` to `high` bytes.
  double within(int64_t low, int64_t high) const;

private:
  const std::vector<RecomputeItem> &items;
  int64_t need;
  std::vector<size_t> order; ///< By rising seconds per byte freed.
  /// Of every layer, whether all its items free the same share of their bytes.
  /// Only there the cheapest items are those that free the most in `high`.
  std::vector<bool> even;
};

Relaxation::Relaxation(const std::vector<RecomputeItem> &items, int64_t need)
    : items(items), need(need), order(items.size()) {
  std::iota(order.begin(), order.end(), 0);
  auto price = [&](size_t i) {
    return items[i].seconds / static_cast<double>(items[i].gain);
  };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return price(a) != price(b) ? price(a) < price(b) : a < b;
  });
  std::vector<int64_t> copies;
  for (const RecomputeItem &item : items) {
    auto layer = static_cast<size_t>(item.layer);
    copies.resize(std::max(copies.size(), layer + 1), 0);
    even.resize(copies.size(), true);
    int64_t own = item.gain / item.bytes;
    even[layer] = even[layer] && item.gain % item.bytes == 0 &&
                  (copies[layer] == 0 || copies[layer] == own);
    copies[layer] = own;
  }
}

double Relaxation::within(int64_t low, int64_t high) const {
  // A little less than the need, for what rounding may add to it.
  double rest = static_cast<double>(need + low) * (1 - 1e-12), cost = 0;
  std::vector<int64_t> room(even.size(), high);
  for (size_t i = 0; i < order.size() && rest > 0; ++i) {
    const RecomputeItem &item = items[order[i]];
    int64_t &left = room[item.layer];
    if (item.bytes > high)
      continue;
    int64_t bytes = even[item.layer] ? std::min(left, item.bytes) : item.bytes;
    left -= bytes;
    double part = static_cast<double>(bytes) / static_cast<double>(item.bytes);
    part = std::min(part, rest / static_cast<double>(item.gain));
    rest -= part * static_cast<double>(item.gain);
    cost += part * item.seconds;
  }
  // What is left of a need that is met is rounding.
  double met = 1e-9 * static_cast<double>(need + low);
  return rest > met ? std::numeric_limits<double>::infinity() : cost;
}

} // namespace

WorkspaceValues
hocket::planning::workspaceValues(const std::vector<RecomputeItem> &items) {
  std::vector<std::multiset<int64_t>> layers;
  for (const RecomputeItem &item : items) {
    layers.resize(std::max(layers.size(), static_cast<size_t>(item.layer) + 1));
    layers[item.layer].insert(item.bytes);
  }
  int64_t most = 0;
  std::set<std::multiset<int64_t>> kinds(layers.begin(), layers.end());
  std::set<int64_t> sums;
  bool exact = true;
  for (const std::multiset<int64_t> &kind : kinds) {
    most =
        std::max(most, std::accumulate(kind.begin(), kind.end(), int64_t(0)));
    exact = exact && addSubsetSums(kind, sums);
  }
  if (!exact) {
    sums.clear();
    for (int64_t step = 0; step <= kSteps; ++step)
      sums.insert(most / kSteps * step);
    sums.insert(most);
  }
  return {{sums.begin(), sums.end()}, exact};
}

double hocket::planning::recomputeBound(const std::vector<RecomputeItem> &items,
                                        int64_t need,
                                        const WorkspaceValues &workspaces) {
  Relaxation relaxation(items, need);
  double best = std::numeric_limits<double>::infinity();
  int64_t before = 0;
  for (int64_t value : workspaces.values) {
    best = std::min(
        best, relaxation.within(workspaces.exact ? value : before, value));
    before = value;
  }
  return best;
}
