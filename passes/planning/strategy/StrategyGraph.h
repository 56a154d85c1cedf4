//===- StrategyGraph.h - A strategy problem made ready ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What algorithms work on: the edges of each node, with those that join the
/// same nodes made one, and the times at which the limit may matter. A time
/// does not where all that live use at most the limit together, whatever they
/// choose, or where all that live then live at a later one as well.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_STRATEGY_STRATEGYGRAPH_H
#define HOCKET_PASSES_PLANNING_STRATEGY_STRATEGYGRAPH_H

#include "passes/planning/strategy/StrategyProblem.h"

namespace hocket::planning {

/// Sums of costs or usages.
using StrategySum = __int128;

class StrategyGraph {
public:
  /// `problem` has been checked, and outlives it.
  explicit StrategyGraph(const StrategyProblem &problem);

  struct Edge {
    size_t first = 0, second = 0; ///< first < second
    std::vector<StrategySum> costs;
  };
  /// An edge as one of its nodes sees it.
  struct End {
    size_t edge = 0, other = 0;
    bool isFirst = false;
  };

  size_t size() const { return source.nodes.size(); }
  size_t strategies(size_t node) const {
    return source.nodes[node].costs.size();
  }
  const StrategyNode &node(size_t i) const { return source.nodes[i]; }
  const std::vector<Edge> &edges() const { return all; }
  const std::vector<End> &ends(size_t node) const { return joined[node]; }

  StrategySum cost(const Edge &edge, size_t a, size_t b) const {
    return edge.costs[a * strategies(edge.second) + b];
  }
  /// Of strategy `own` of the node at `end`, with `other` of the other one.
  StrategySum cost(const End &end, size_t own, size_t other) const {
    const Edge &edge = all[end.edge];
    return end.isFirst ? cost(edge, own, other) : cost(edge, other, own);
  }

  /// How many times may matter, and those [first, last) at which a node lives.
  size_t times() const { return timeCount; }
  struct Span {
    size_t first = 0, last = 0;
  };
  Span span(size_t node) const { return spans[node]; }
  int64_t limit() const { return source.usageLimit; }
  const StrategyProblem &problem() const { return source; }

private:
  void joinEdges();
  void findTimes();

  const StrategyProblem &source;
  std::vector<Edge> all;
  std::vector<std::vector<End>> joined;
  size_t timeCount = 0;
  std::vector<Span> spans;
};

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_STRATEGY_STRATEGYGRAPH_H
