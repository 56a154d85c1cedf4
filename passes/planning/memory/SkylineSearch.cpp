//===- SkylineSearch.cpp - Exact placement of buffers ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/memory/SkylineSearch.h"

#include "passes/planning/memory/SkylineState.h"

using namespace hocket::planning;

namespace {

/// One strategy on one region.
class Search {
public:
  Search(const SkylineModel &model, int64_t capacity,
         const SkylineStrategy &strategy, SearchBudget &budget)
      : model(model), strategy(strategy), budget(budget),
        rank(model.priorities[strategy.priority]), activity(model.size(), 0),
        state(model, capacity, budget.steps) {}

  SearchOutcome run(int64_t most) {
    nodes = most;
    if (state.begin() && placeAll())
      return SearchOutcome::Found;
    return stopped || !model.exact ? SearchOutcome::GaveUp
                                   : SearchOutcome::Impossible;
  }

  std::vector<int64_t> offsets() const {
    std::vector<int64_t> all;
    for (int i = 0; i < model.size(); ++i)
      all.push_back(state.lowest(i));
    return all;
  }

private:
  bool placeAll();
  int next() const;
  int nextOfAll() const;
  int nextOfSections() const;
  bool isBetter(int item, int than) const;
  void learn();

  const SkylineModel &model;
  const SkylineStrategy &strategy;
  SearchBudget &budget;
  const std::vector<int> &rank;
  std::vector<double> activity;
  double weight = 1;
  SkylineState state;
  int64_t nodes = 0;
  bool stopped = false;
};

/// Places what is left, each item before its delay; depth is at most the number
/// of items. On failure the conflict is in the state.
bool Search::placeAll() {
  while (true) {
    int item = next();
    if (item < 0)
      return true;
    --nodes;
    if (nodes < 0 || (nodes % 64 == 0 && budget.spent())) {
      stopped = true;
      return false;
    }
    SkylineState::Mark mark = state.mark();
    if (state.place(item) && placeAll())
      return true;
    if (stopped)
      return false;
    state.undo(mark);
    if (strategy.learns)
      learn();
    if (!state.conflict.has(item))
      return false; // the same would happen without it
    state.conflict.remove(item);
    if (!state.delay(item))
      return false;
  }
}

void Search::learn() {
  constexpr double growth = 1.02, most = 1e100;
  weight *= growth;
  if (weight > most) {
    for (double &value : activity)
      value /= most;
    weight /= most;
  }
  state.conflict.forEach([&](int item) { activity[item] += weight; });
}

bool Search::isBetter(int item, int than) const {
  if (than < 0 || state.lowest(item) != state.lowest(than))
    return than < 0 || state.lowest(item) < state.lowest(than);
  if (activity[item] != activity[than])
    return activity[item] > activity[than];
  return rank[item] < rank[than];
}

int Search::next() const {
  return strategy.next == SkylineStrategy::Next::Lowest ? nextOfAll()
                                                        : nextOfSections();
}

int Search::nextOfAll() const {
  int best = -1;
  for (int i = 0; i < model.size(); ++i)
    if (!state.isPlaced(i) && isBetter(i, best))
      best = i;
  budget.steps -= model.size();
  return best;
}

int Search::nextOfSections() const {
  int section = -1, best = -1;
  std::pair<int64_t, int64_t> least;
  for (int s = 0; s < static_cast<int>(model.sections.size()); ++s) {
    int64_t floor = state.floor(s);
    budget.steps -= static_cast<int64_t>(model.sections[s].size());
    if (floor == INT64_MAX)
      continue;
    bool deepest = strategy.next == SkylineStrategy::Next::Deepest;
    std::pair<int64_t, int64_t> key(deepest ? floor : 0, state.room(s));
    if (section < 0 || key < least)
      section = s, least = key;
  }
  if (section < 0)
    return -1;
  for (const SkylineModel::Slice &slice : model.sections[section])
    if (!state.isPlaced(slice.item) && isBetter(slice.item, best))
      best = slice.item;
  // Down to one that no other fits under; tops fall, so this ends.
  while (true) {
    int under = -1;
    for (const SkylineModel::Neighbour &n : model.neighbours[best])
      if (!state.isPlaced(n.item) &&
          state.lowest(n.item) + n.over <= state.lowest(best) &&
          state.lowest(n.item) < state.lowest(best) && isBetter(n.item, under))
        under = n.item;
    if (under < 0)
      return best;
    best = under;
  }
}

constexpr SkylineStrategy::Next kLowest = SkylineStrategy::Next::Lowest;
constexpr SkylineStrategy::Next kFullest = SkylineStrategy::Next::Fullest;
constexpr SkylineStrategy::Next kDeepest = SkylineStrategy::Next::Deepest;

/// In turns, the often lucky ones first.
constexpr SkylineStrategy kStrategies[] = {
    {kLowest, 0, false},  {kLowest, 1, false},  {kLowest, 0, true},
    {kLowest, 1, true},   {kDeepest, 0, false}, {kLowest, 2, false},
    {kLowest, 3, true},   {kFullest, 0, false}, {kDeepest, 0, true},
    {kLowest, 4, false},  {kLowest, 2, true},   {kFullest, 1, true},
    {kDeepest, 1, false}, {kLowest, 3, false},  {kDeepest, 2, true},
};

} // namespace

SearchOutcome hocket::planning::searchSkyline(const SkylineModel &model,
                                              int64_t capacity,
                                              const SkylineStrategy &strategy,
                                              int64_t nodes,
                                              SearchBudget &budget,
                                              std::vector<int64_t> &offsets) {
  Search search(model, capacity, strategy, budget);
  SearchOutcome outcome = search.run(nodes);
  if (outcome == SearchOutcome::Found)
    offsets = search.offsets();
  return outcome;
}

SearchOutcome hocket::planning::searchSkyline(const SkylineModel &model,
                                              int64_t capacity,
                                              SearchBudget &budget,
                                              std::vector<int64_t> &offsets) {
  constexpr int64_t mostNodes = int64_t{1} << 40;
  for (int64_t nodes = 4 * model.size() + 64; nodes < mostNodes; nodes *= 2)
    for (const SkylineStrategy &strategy : kStrategies) {
      if (budget.spent())
        return SearchOutcome::GaveUp;
      SearchOutcome outcome =
          searchSkyline(model, capacity, strategy, nodes, budget, offsets);
      if (outcome != SearchOutcome::GaveUp)
        return outcome;
      if (!model.exact && nodes > 64 * model.size() + 64)
        return outcome;
    }
  return SearchOutcome::GaveUp;
}
