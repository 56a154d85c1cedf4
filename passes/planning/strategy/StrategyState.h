//===- StrategyState.h - A choice that is being improved --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A choice with its cost and what it uses beyond the limit, and moves that
/// make it better:
///
///   repair   of what lives at a time with too much, changes what saves most
///            for its cost, until everything fits
///   descend  changes one node at a time while that makes it cheaper
///   regrow   chooses anew for a random set of nodes that no cycle of edges
///            runs through, all at once: the cheapest for them, by dynamic
///            programming over their trees, with a price for memory
///
/// What fits is better than what does not; then what costs less.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_STRATEGY_STRATEGYSTATE_H
#define HOCKET_PASSES_PLANNING_STRATEGY_STRATEGYSTATE_H

#include "passes/planning/strategy/StrategyGraph.h"

#include <random>

namespace hocket::planning {

class StrategyState {
public:
  StrategyState(const StrategyGraph &graph, StrategyChoice choice);

  const StrategyChoice &choice() const { return chosen; }
  StrategySum cost() const { return total; }
  /// The sum over times of what is used beyond the limit.
  StrategySum excess() const { return over; }
  bool isBetterThan(const StrategyState &other) const {
    return std::pair(over, total) < std::pair(other.over, other.total);
  }

  void set(size_t node, size_t strategy);
  /// By how much a change makes the cost, and the excess, larger.
  StrategySum costOf(size_t node, size_t strategy) const;
  StrategySum excessOf(size_t node, size_t strategy) const;

  void repair();
  void descend();
  /// `prices`: of a unit of a node, by node. Takes part of about `share` of
  /// the nodes.
  void regrow(const std::vector<double> &prices, double share,
              std::mt19937_64 &random);

private:
  struct Growth;
  void priceMembers(const std::vector<double> &prices, Growth &growth) const;
  void addToParents(Growth &growth) const;
  size_t strategyOf(size_t node) const { return size_t(chosen[node]); }
  bool improve(size_t node);
  bool relieve(size_t time);

  const StrategyGraph *graph;
  StrategyChoice chosen;
  std::vector<StrategySum> used; ///< By time.
  StrategySum total = 0, over = 0;
};

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_STRATEGY_STRATEGYSTATE_H
