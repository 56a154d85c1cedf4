//===- StrategyState.cpp - A choice that is being improved ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/strategy/StrategyState.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace hocket;
using namespace hocket::planning;

StrategyState::StrategyState(const StrategyGraph &problem,
                             StrategyChoice choice)
    : graph(&problem), chosen(std::move(choice)), used(problem.times()) {
  for (size_t i = 0; i < graph->size(); ++i) {
    const StrategyNode &node = graph->node(i);
    total += node.costs[strategyOf(i)];
    auto [first, last] = graph->span(i);
    for (size_t t = first; t < last; ++t)
      used[t] += node.usages[strategyOf(i)];
  }
  for (const StrategyGraph::Edge &edge : graph->edges())
    total += graph->cost(edge, strategyOf(edge.first), strategyOf(edge.second));
  for (StrategySum sum : used)
    over += std::max<StrategySum>(0, sum - graph->limit());
}

StrategySum StrategyState::costOf(size_t node, size_t strategy) const {
  const StrategyNode &own = graph->node(node);
  size_t before = strategyOf(node);
  StrategySum more = StrategySum(own.costs[strategy]) - own.costs[before];
  for (const StrategyGraph::End &end : graph->ends(node)) {
    size_t other = strategyOf(end.other);
    more += graph->cost(end, strategy, other) - graph->cost(end, before, other);
  }
  return more;
}

StrategySum StrategyState::excessOf(size_t node, size_t strategy) const {
  const StrategyNode &own = graph->node(node);
  StrategySum more =
      StrategySum(own.usages[strategy]) - own.usages[strategyOf(node)];
  if (more == 0)
    return 0;
  StrategySum sum = 0;
  auto [first, last] = graph->span(node);
  for (size_t t = first; t < last; ++t) {
    StrategySum before = used[t] - graph->limit();
    sum += std::max<StrategySum>(0, before + more) -
           std::max<StrategySum>(0, before);
  }
  return sum;
}

void StrategyState::set(size_t node, size_t strategy) {
  total += costOf(node, strategy);
  over += excessOf(node, strategy);
  const StrategyNode &own = graph->node(node);
  StrategySum more =
      StrategySum(own.usages[strategy]) - own.usages[strategyOf(node)];
  auto [first, last] = graph->span(node);
  for (size_t t = first; t < last; ++t)
    used[t] += more;
  chosen[node] = int64_t(strategy);
}

//===----------------------------------------------------------------------===//
// Repairing and descending
//===----------------------------------------------------------------------===//

/// Makes the change that frees most at a time for its cost.
bool StrategyState::relieve(size_t time) {
  StrategySum wanted = used[time] - graph->limit();
  double bestRate = HUGE_VAL;
  size_t bestNode = 0, bestStrategy = 0;
  for (size_t i = 0; i < graph->size(); ++i) {
    auto [first, last] = graph->span(i);
    if (time < first || time >= last)
      continue;
    const StrategyNode &node = graph->node(i);
    for (size_t s = 0; s < node.usages.size(); ++s) {
      StrategySum freed =
          StrategySum(node.usages[strategyOf(i)]) - node.usages[s];
      if (freed <= 0)
        continue;
      double rate = double(costOf(i, s)) / double(std::min(freed, wanted));
      if (rate < bestRate) {
        bestRate = rate;
        bestNode = i;
        bestStrategy = s;
      }
    }
  }
  if (bestRate == HUGE_VAL)
    return false;
  set(bestNode, bestStrategy);
  return true;
}

void StrategyState::repair() {
  // Each change frees something at a time, and what it saved may be undone at
  // another time only so often.
  for (size_t tries = 4 * graph->size() + 16; over > 0 && tries > 0; --tries) {
    auto fullest = std::max_element(used.begin(), used.end());
    if (!relieve(size_t(fullest - used.begin())))
      return;
  }
}

bool StrategyState::improve(size_t node) {
  std::pair<StrategySum, StrategySum> best(0, 0);
  size_t strategy = strategyOf(node);
  for (size_t s = 0; s < graph->strategies(node); ++s) {
    std::pair change(excessOf(node, s), costOf(node, s));
    if (change < best) {
      best = change;
      strategy = s;
    }
  }
  if (strategy == strategyOf(node))
    return false;
  set(node, strategy);
  return true;
}

void StrategyState::descend() {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < graph->size(); ++i)
      changed |= improve(i);
  }
}

//===----------------------------------------------------------------------===//
// Regrowing
//===----------------------------------------------------------------------===//

namespace {

/// Trees of nodes, in an order in which each node stands behind its parent.
struct Forest {
  struct Member {
    size_t node = 0;
    int64_t parent = -1; ///< Index of a member.
    size_t end = 0;      ///< Of ends(node): the edge to it.
  };
  std::vector<Member> members;
};

/// Nodes in a random order, each joined to the trees by one edge at most.
class ForestGrower {
public:
  ForestGrower(const StrategyGraph &graph, std::mt19937_64 &random)
      : graph(graph), random(random), roots(graph.size(), SIZE_MAX) {}

  Forest grow(size_t most);

private:
  size_t rootOf(size_t node) {
    while (roots[node] != node)
      node = roots[node] = roots[roots[node]];
    return node;
  }
  bool mayJoin(size_t node);
  void order(const std::vector<size_t> &nodes, Forest &forest) const;

  const StrategyGraph &graph;
  std::mt19937_64 &random;
  std::vector<size_t> roots; ///< Union-find; SIZE_MAX: not in the forest.
};

} // namespace

/// Whether the neighbours in the forest are of different trees.
bool ForestGrower::mayJoin(size_t node) {
  std::vector<size_t> trees;
  for (const StrategyGraph::End &end : graph.ends(node))
    if (roots[end.other] != SIZE_MAX)
      trees.push_back(rootOf(end.other));
  std::sort(trees.begin(), trees.end());
  if (std::adjacent_find(trees.begin(), trees.end()) != trees.end())
    return false;
  roots[node] = node;
  for (size_t tree : trees)
    roots[tree] = node;
  return true;
}

void ForestGrower::order(const std::vector<size_t> &nodes,
                         Forest &forest) const {
  std::vector<bool> seen(graph.size());
  for (size_t start : nodes) {
    if (seen[start])
      continue;
    size_t next = forest.members.size();
    seen[start] = true;
    forest.members.push_back({start, -1, 0});
    for (; next < forest.members.size(); ++next) {
      size_t node = forest.members[next].node;
      for (const StrategyGraph::End &end : graph.ends(node)) {
        if (roots[end.other] == SIZE_MAX || seen[end.other])
          continue;
        seen[end.other] = true;
        const auto &back = graph.ends(end.other);
        auto at = std::find_if(back.begin(), back.end(), [&](const auto &e) {
          return e.edge == end.edge;
        });
        forest.members.push_back(
            {end.other, int64_t(next), size_t(at - back.begin())});
      }
    }
  }
}

Forest ForestGrower::grow(size_t most) {
  std::vector<size_t> order(graph.size()), taken;
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  for (size_t node : order)
    if (taken.size() < most && mayJoin(node))
      taken.push_back(node);
  Forest forest;
  this->order(taken, forest);
  return forest;
}

/// What strategies of the members cost, with all below them.
struct StrategyState::Growth {
  Forest forest;
  std::vector<std::vector<double>> costs;
  /// By member and the strategy of its parent: which it takes then.
  std::vector<std::vector<size_t>> choices;
};

/// Each member by itself, and with its neighbours outside.
void StrategyState::priceMembers(const std::vector<double> &prices,
                                 Growth &growth) const {
  std::vector<bool> isInside(graph->size());
  for (const Forest::Member &member : growth.forest.members)
    isInside[member.node] = true;
  for (const Forest::Member &member : growth.forest.members) {
    size_t node = member.node;
    const StrategyNode &own = graph->node(node);
    std::vector<double> &costs = growth.costs.emplace_back();
    for (size_t s = 0; s < own.costs.size(); ++s) {
      double cost = double(own.costs[s]) + prices[node] * double(own.usages[s]);
      for (const StrategyGraph::End &end : graph->ends(node))
        if (!isInside[end.other])
          cost += double(graph->cost(end, s, strategyOf(end.other)));
      costs.push_back(cost);
    }
  }
}

void StrategyState::addToParents(Growth &growth) const {
  growth.choices.resize(growth.costs.size());
  for (size_t m = growth.costs.size(); m-- > 0;) {
    const Forest::Member &member = growth.forest.members[m];
    if (member.parent < 0)
      continue;
    const StrategyGraph::End &end = graph->ends(member.node)[member.end];
    const std::vector<double> &own = growth.costs[m];
    for (size_t p = 0; p < graph->strategies(end.other); ++p) {
      size_t best = 0;
      double least = HUGE_VAL;
      for (size_t s = 0; s < own.size(); ++s)
        if (double cost = own[s] + double(graph->cost(end, s, p));
            cost < least) {
          least = cost;
          best = s;
        }
      growth.choices[m].push_back(best);
      growth.costs[size_t(member.parent)][p] += least;
    }
  }
}

void StrategyState::regrow(const std::vector<double> &prices, double share,
                           std::mt19937_64 &random) {
  auto most = size_t(share * double(graph->size())) + 1;
  Growth growth;
  growth.forest = ForestGrower(*graph, random).grow(most);
  priceMembers(prices, growth);
  addToParents(growth);
  const auto &members = growth.forest.members;
  for (size_t m = 0; m < members.size(); ++m) {
    const std::vector<double> &own = growth.costs[m];
    size_t strategy =
        size_t(std::min_element(own.begin(), own.end()) - own.begin());
    if (int64_t parent = members[m].parent; parent >= 0)
      strategy = growth.choices[m][strategyOf(members[size_t(parent)].node)];
    if (strategy != strategyOf(members[m].node))
      set(members[m].node, strategy);
  }
}
