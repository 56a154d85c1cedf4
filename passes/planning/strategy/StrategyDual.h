//===- StrategyDual.h - A bound on what strategies cost ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The dual of the linear relaxation. A price p_t >= 0 is asked for each unit
/// used at a time t, so that the limit need not be kept; and costs are moved
/// between edges and their nodes by messages m, so that each may choose for
/// itself. For any prices and messages
///
///   sum_i min_s [c_i(s) + sum_(t in life of i) p_t u_i(s) + sum_e m_ei(s)]
///   + sum_(e = ij) min_(a, b) [c_e(a, b) - m_ei(a) - m_ej(b)]
///   - sum_t p_t limit
///
/// is a lower bound. Messages are improved edge by edge (MPLP; Globerson and
/// Jaakkola, NIPS 2007), which never makes the bound smaller; prices by
/// subgradients with Polyak's step. Costs are whole numbers, so the bound is
/// rounded up, less what arithmetic in doubles may have added.
///
/// Where a choice that fits is known, no strategy or pair that alone costs more
/// is in a cheaper one: such costs (often "infinity" in instances) count as one
/// more than that choice's, so that small costs are not lost beside them.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_STRATEGY_STRATEGYDUAL_H
#define HOCKET_PASSES_PLANNING_STRATEGY_STRATEGYDUAL_H

#include "passes/planning/strategy/StrategyGraph.h"

#include <algorithm>

namespace hocket::planning {

class StrategyDual {
public:
  /// `most`: what any one cost counts as at most.
  explicit StrategyDual(const StrategyGraph &graph,
                        double most = double(kMostStrategyCost));

  /// Improves messages once for every edge, there and back.
  void sweep();
  /// Moves prices; `known` is the cost of a choice that fits, or negative.
  void movePrices(double known);

  /// The best bound so far, rounded; at least 0.
  int64_t bound() const { return best; }

  /// What a strategy of a node costs with prices and messages.
  double reduced(size_t node, size_t strategy) const {
    return beliefs[node][strategy];
  }
  /// What a pair of strategies costs an edge beside that.
  double reduced(const StrategyGraph::Edge &edge, size_t index, size_t a,
                 size_t b) const {
    return capped(graph->cost(edge, a, b)) - messages[index].first[a] -
           messages[index].second[b];
  }
  /// sum_t p_t limit.
  double priceOfLimit() const;
  /// What a unit costs that lives as long as a node.
  double priceOf(size_t node) const;
  /// How far sums of these doubles may be off.
  double tolerance() const { return slack; }

private:
  struct Messages {
    std::vector<double> first, second;
  };
  double capped(StrategySum cost) const { return std::min(most, double(cost)); }
  void improve(size_t edge);
  /// Adds up the beliefs from the problem; what arithmetic may be off by.
  double addBeliefs();
  void noteBound();
  size_t cheapest(size_t node) const;

  const StrategyGraph *graph;
  double most;
  std::vector<std::vector<double>> beliefs;
  std::vector<Messages> messages; ///< By edge.
  std::vector<double> prices;     ///< By time.
  double slack = 0, value = 0, stepShare = 1;
  int64_t best = 0;
};

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_STRATEGY_STRATEGYDUAL_H
