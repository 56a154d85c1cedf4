//===- RecomputeSearch.cpp - The least recomputation that fits ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/RecomputeSearch.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

using namespace hocket::planning;

namespace {

/// How many of the dearest items the greedy choice tries to do without.
constexpr size_t kMostRemovals = 64;

/// Numbers items so that two have the same number if they are equal and their
/// layers have equal items.
std::vector<size_t> kindsOf(const std::vector<RecomputeItem> &items,
                            size_t layers) {
  using Values = std::tuple<int64_t, int64_t, double>;
  auto valuesOf = [](const RecomputeItem &item) {
    return Values(item.gain, item.bytes, item.seconds);
  };
  std::vector<std::multiset<Values>> contents(layers);
  for (const RecomputeItem &item : items)
    contents[item.layer].insert(valuesOf(item));
  std::map<std::multiset<Values>, size_t> layerKinds;
  std::vector<size_t> layerKind;
  for (const std::multiset<Values> &content : contents)
    layerKind.push_back(
        layerKinds.try_emplace(content, layerKinds.size()).first->second);
  std::map<std::pair<size_t, Values>, size_t> numbers;
  std::vector<size_t> kinds;
  for (const RecomputeItem &item : items)
    kinds.push_back(numbers
                        .try_emplace({layerKind[item.layer], valuesOf(item)},
                                     numbers.size())
                        .first->second);
  return kinds;
}

/// Items by rising seconds per byte, each taken or not up to `next`, and
/// undecided from there on.
class BranchAndBound {
public:
  BranchAndBound(const std::vector<RecomputeItem> &items, int64_t need);

  bool fits() const { return gain - workspace() >= need; }
  /// Takes the cheapest items until it fits, none of which makes a layer
  /// larger than `most`.
  void takeGreedily(int64_t most);
  /// Does without what the best choice so far can do without.
  void prune();
  void branch(int64_t steps);
  RecomputeSearch result() const;

private:
  int64_t workspace() const { return worst.empty() ? 0 : worst.back(); }
  const RecomputeItem &item(size_t place) const { return items[order[place]]; }
  void take(size_t place);
  /// Undoes the last take.
  void untake();
  void clear() {
    while (!taken.empty())
      untake();
  }
  void record();
  /// What an item frees at least, for as much of it as is taken: the worst
  /// layer holds no less than the average one.
  double share(const RecomputeItem &item) const {
    return double(item.gain) - double(item.bytes) / double(layers.size());
  }
  /// Seconds that no completion of the current choice is below: the rest of
  /// the need by the cheapest items, the last in part.
  double bound(size_t next) const;

  /// Whether taking an item may lead to something new. Not if its twin, the
  /// same item of an equal layer about which all else has been decided alike,
  /// has just been left out: the two layers could change places.
  bool isNew(size_t place) const {
    if (place == 0 || kinds[order[place]] != kinds[order[place - 1]])
      return true;
    bool twinTaken = !taken.empty() && taken.back() == place - 1;
    return twinTaken ||
           choices[item(place).layer] != choices[item(place - 1).layer];
  }

  const std::vector<RecomputeItem> &items;
  int64_t need;
  std::vector<size_t> kinds; ///< Equal for equal items of equal layers.
  std::vector<size_t> order; ///< By price, those of a kind together.
  std::vector<std::vector<size_t>> choices; ///< Kinds taken of each layer.
  std::vector<double> shares;               ///< Prefix sums, in that order.
  std::vector<double> seconds;              ///< The same.
  std::vector<size_t> taken;                ///< Places, rising.
  std::vector<int64_t> worst;               ///< The workspace after each take.
  std::vector<int64_t> layers;              ///< Bytes recomputed of each layer.
  int64_t gain = 0, bytes = 0;              ///< Of what is taken.
  double cost = 0;
  bool found = false, exact = false;
  double bestCost = std::numeric_limits<double>::infinity();
  std::vector<size_t> best;
};

BranchAndBound::BranchAndBound(const std::vector<RecomputeItem> &items,
                               int64_t need)
    : items(items), need(need) {
  for (const RecomputeItem &item : items)
    layers.resize(std::max(layers.size(), static_cast<size_t>(item.layer) + 1),
                  0);
  // Without a share, what an item frees comes back in full.
  for (size_t i = 0; i < items.size(); ++i)
    if (share(items[i]) > 0)
      order.push_back(i);
  auto price = [&](size_t i) { return items[i].seconds / share(items[i]); };
  kinds = kindsOf(items, layers.size());
  choices.resize(layers.size());
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tuple(price(a), kinds[a], a) <
           std::tuple(price(b), kinds[b], b);
  });
  shares.push_back(0);
  seconds.push_back(0);
  for (size_t place = 0; place < order.size(); ++place) {
    shares.push_back(shares.back() + share(item(place)));
    seconds.push_back(seconds.back() + item(place).seconds);
  }
}

void BranchAndBound::take(size_t place) {
  taken.push_back(place);
  choices[item(place).layer].push_back(kinds[order[place]]);
  gain += item(place).gain;
  bytes += item(place).bytes;
  cost += item(place).seconds;
  int64_t &layer = layers[item(place).layer];
  layer += item(place).bytes;
  worst.push_back(std::max(workspace(), layer));
}

void BranchAndBound::untake() {
  const RecomputeItem &last = item(taken.back());
  gain -= last.gain;
  bytes -= last.bytes;
  cost -= last.seconds;
  layers[last.layer] -= last.bytes;
  choices[last.layer].pop_back();
  taken.pop_back();
  worst.pop_back();
}

void BranchAndBound::record() {
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

double BranchAndBound::bound(size_t next) const {
  if (fits())
    return cost;
  // A little less than the rest, for what rounding may add to it.
  double rest = (double(need - gain) + double(bytes) / double(layers.size())) *
                (1 - 1e-12);
  auto from = shares.begin() + static_cast<std::ptrdiff_t>(next);
  auto full = std::lower_bound(from, shares.end(), *from + rest);
  if (full == shares.end())
    return std::numeric_limits<double>::infinity();
  auto last = static_cast<size_t>(full - shares.begin());
  if (last == next)
    return cost;
  // Items next to last-2 whole, and of item last-1 what is left.
  double part =
      (rest - (shares[last - 1] - shares[next])) / share(item(last - 1));
  return cost + seconds[last - 1] - seconds[next] +
         part * item(last - 1).seconds;
}

void BranchAndBound::takeGreedily(int64_t most) {
  clear();
  for (size_t place = 0; place < order.size() && !fits(); ++place)
    if (layers[item(place).layer] + item(place).bytes <= most)
      take(place);
  if (fits())
    record();
}

void BranchAndBound::prune() {
  std::vector<size_t> kept = best;
  size_t tried = kept.size() - std::min<size_t>(kept.size(), kMostRemovals);
  for (size_t i = kept.size(); i-- > tried;) {
    std::vector<size_t> fewer = kept;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    clear();
    for (size_t place : fewer)
      take(place);
    if (!fits())
      continue;
    record();
    kept = std::move(fewer);
  }
}

/// Depth first, taking before leaving out.
void BranchAndBound::branch(int64_t steps) {
  clear();
  size_t next = 0;
  for (; steps > 0; --steps) {
    // Less than this much better is rounding.
    double margin = 1e-12 * bestCost;
    bool dead = !(bound(next) < bestCost - margin);
    if (!dead && fits())
      record();
    if (!dead && !fits() && next < order.size()) {
      if (isNew(next))
        take(next);
      ++next;
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

RecomputeSearch BranchAndBound::result() const {
  RecomputeSearch result;
  result.fits = found;
  result.taken.assign(items.size(), !found);
  for (size_t place : best)
    result.taken[order[place]] = true;
  for (size_t i = 0; i < items.size(); ++i)
    result.seconds += result.taken[i] ? items[i].seconds : 0;
  result.bound = exact ? result.seconds : 0;
  return result;
}

} // namespace

RecomputeSearch
hocket::planning::searchRecompute(const std::vector<RecomputeItem> &items,
                                  int64_t need, int64_t steps) {
  BranchAndBound search(items, need);
  WorkspaceValues workspaces = workspaceValues(items);
  for (int64_t most : workspaces.values)
    search.takeGreedily(most);
  search.prune();
  search.branch(steps);
  RecomputeSearch result = search.result();
  result.bound =
      std::max(result.bound, std::min(recomputeBound(items, need, workspaces),
                                      result.seconds));
  return result;
}
