//===- RecomputeSearch.cpp - The least recomputation that fits ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/RecomputeSearch.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>

using namespace hocket::planning;

namespace {

/// How many of the dearest items the greedy choice tries to do without.
constexpr size_t kMostRemovals = 64;

/// Items by rising seconds per byte, each taken or not up to `next`, and
/// undecided from there on.
class Search {
public:
  Search(const std::vector<RecomputeItem> &items, int64_t need);

  bool fits() const { return gain - workspace() >= need; }
  void takeGreedily();
  void branch(int64_t steps);
  RecomputeSearch result() const;

private:
  int64_t workspace() const { return worst.empty() ? 0 : worst.back(); }
  const RecomputeItem &item(size_t place) const { return items[order[place]]; }
  void take(size_t place);
  /// Undoes the last take.
  void untake();
  void record();
  /// Seconds that no completion of the current choice is below: the rest of
  /// the need, and `more`, by the cheapest items, the last in part.
  double bound(size_t next, int64_t more = 0) const;

  const std::vector<RecomputeItem> &items;
  int64_t need;
  std::vector<size_t> order;
  std::vector<int64_t> gains;  ///< Prefix sums, in that order.
  std::vector<double> seconds; ///< The same.
  std::vector<size_t> taken;   ///< Places, rising.
  std::vector<int64_t> worst;  ///< The workspace after each take.
  std::vector<int64_t> layers; ///< Bytes recomputed of each layer.
  int64_t gain = 0;
  double cost = 0;
  bool found = false, exact = false;
  double bestCost = std::numeric_limits<double>::infinity();
  std::vector<size_t> best;
  double rootBound = 0;
};

Search::Search(const std::vector<RecomputeItem> &items, int64_t need)
    : items(items), need(need), order(items.size()) {
  std::iota(order.begin(), order.end(), 0);
  auto price = [&](size_t i) {
    return items[i].seconds / double(items[i].gain);
  };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return price(a) != price(b) ? price(a) < price(b) : a < b;
  });
  gains.push_back(0);
  seconds.push_back(0);
  for (size_t place = 0; place < order.size(); ++place) {
    gains.push_back(gains.back() + item(place).gain);
    seconds.push_back(seconds.back() + item(place).seconds);
    auto layer = static_cast<size_t>(item(place).layer);
    layers.resize(std::max(layers.size(), layer + 1), 0);
  }
  // Whatever is taken, its bytes come back at least once.
  int64_t least = items.empty() ? 0 : items[0].bytes;
  for (const RecomputeItem &item : items)
    least = std::min(least, item.bytes);
  rootBound = need > 0 ? bound(0, least) : 0;
}

void Search::take(size_t place) {
  taken.push_back(place);
  gain += item(place).gain;
  cost += item(place).seconds;
  int64_t &bytes = layers[item(place).layer];
  bytes += item(place).bytes;
  worst.push_back(std::max(workspace(), bytes));
}

void Search::untake() {
  const RecomputeItem &last = item(taken.back());
  gain -= last.gain;
  cost -= last.seconds;
  layers[last.layer] -= last.bytes;
  taken.pop_back();
  worst.pop_back();
}

void Search::record() {
  // Summed anew: `cost` has gone up and down and carries rounding errors.
  double total = 0;
  for (size_t place : taken)
    total += item(place).seconds;
  if (found && total >= bestCost)
    return;
  found = true;
  bestCost = total;
  best = taken;
}

double Search::bound(size_t next, int64_t more) const {
  int64_t rest = need + more + workspace() - gain;
  if (rest <= 0)
    return cost;
  auto from = gains.begin() + static_cast<std::ptrdiff_t>(next);
  auto full = std::lower_bound(from, gains.end(), *from + rest);
  if (full == gains.end())
    return std::numeric_limits<double>::infinity();
  auto last = static_cast<size_t>(full - gains.begin());
  if (last == next)
    return cost;
  // Items next to last-2 whole, and of item last-1 what is left.
  double part = double(rest - (gains[last - 1] - gains[next])) /
                double(item(last - 1).gain);
  return cost + seconds[last - 1] - seconds[next] +
         part * item(last - 1).seconds;
}

/// The cheapest items until it fits, then without those it fits without.
void Search::takeGreedily() {
  for (size_t place = 0; place < order.size() && !fits(); ++place)
    take(place);
  if (!fits())
    return;
  std::vector<size_t> kept = taken;
  size_t tried = kept.size() - std::min<size_t>(kept.size(), kMostRemovals);
  for (size_t i = kept.size(); i-- > tried;) {
    std::vector<size_t> fewer = kept;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    while (!taken.empty())
      untake();
    for (size_t place : fewer)
      take(place);
    if (fits())
      kept = std::move(fewer);
  }
  while (!taken.empty())
    untake();
  for (size_t place : kept)
    take(place);
  record();
  while (!taken.empty())
    untake();
}

/// Depth first, taking before leaving out.
void Search::branch(int64_t steps) {
  size_t next = 0;
  for (; steps > 0; --steps) {
    // Less than this much better is rounding.
    double margin = 1e-12 * bestCost;
    bool dead = bound(next) >= bestCost - margin;
    if (!dead && fits())
      record();
    if (!dead && !fits() && next < order.size()) {
      take(next++);
      continue;
    }
    if (taken.empty()) {
      exact = true;
      return;
    }
    next = taken.back() + 1;
    untake();
  }
}

RecomputeSearch Search::result() const {
  RecomputeSearch result;
  result.fits = found;
  result.taken.assign(items.size(), !found);
  for (size_t place : best)
    result.taken[order[place]] = true;
  for (size_t i = 0; i < items.size(); ++i)
    result.seconds += result.taken[i] ? items[i].seconds : 0;
  result.bound = exact ? result.seconds : std::min(rootBound, result.seconds);
  return result;
}

} // namespace

RecomputeSearch
hocket::planning::searchRecompute(const std::vector<RecomputeItem> &items,
                                  int64_t need, int64_t steps) {
  Search search(items, need);
  search.takeGreedily();
  RecomputeSearch greedy = search.result();
  if (!greedy.fits)
    return greedy;
  search.branch(steps);
  return search.result();
}
