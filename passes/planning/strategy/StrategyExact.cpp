//===- StrategyExact.cpp - The cheapest choice, by search -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/strategy/StrategyExact.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace hocket;
using namespace hocket::planning;

namespace {

/// How often the search asks whether its time is over.
constexpr int64_t stepsPerLook = 1024;

class DepthFirst {
public:
  DepthFirst(const StrategyGraph &graph, const StrategyDual &dual,
             const ExactLimits &limits)
      : graph(graph), dual(dual), expired(limits.expired), least(limits.known),
        steps(limits.steps), chosen(graph.size(), -1), used(graph.times()) {}

  ExactResult run();

private:
  /// What each strategy of an edge's end costs the edge at least.
  struct Least {
    std::vector<double> first, second;
    double any = HUGE_VAL;
  };
  void prepare();
  void orderNodes();
  bool descend(size_t depth, double bound, StrategySum cost);
  /// By how much the bound and the cost rise with a strategy.
  double boundOf(size_t node, size_t strategy) const;
  StrategySum costOf(size_t node, size_t strategy) const;
  bool use(size_t node, int64_t more);
  /// Nothing below a partial choice costs less than what is known: costs are
  /// whole numbers, and sums of doubles may be off.
  bool isTooMuch(double bound) const {
    double off = 2 * dual.tolerance() +
                 0x1p-52 * double(order.size() + 2) * double(least);
    return std::ceil(bound - off) >= double(least);
  }

  const StrategyGraph &graph;
  const StrategyDual &dual;
  const std::function<bool()> &expired;
  int64_t least, steps;
  std::vector<int64_t> chosen;
  std::vector<StrategySum> used; ///< By time; what is open counts its least.
  std::vector<Least> edges;
  std::vector<double> cheapest;  ///< By node.
  std::vector<int64_t> smallest; ///< By node, of usages.
  std::vector<size_t> order;
  double root = 0;
  ExactResult result;
};

} // namespace

void DepthFirst::prepare() {
  root = -dual.priceOfLimit();
  for (size_t i = 0; i < graph.size(); ++i) {
    double own = HUGE_VAL;
    for (size_t s = 0; s < graph.strategies(i); ++s)
      own = std::min(own, dual.reduced(i, s));
    cheapest.push_back(own);
    root += own;
    const auto &usages = graph.node(i).usages;
    smallest.push_back(*std::min_element(usages.begin(), usages.end()));
    use(i, smallest.back());
  }
  for (size_t e = 0; e < graph.edges().size(); ++e) {
    const StrategyGraph::Edge &edge = graph.edges()[e];
    Least own;
    own.first.assign(graph.strategies(edge.first), HUGE_VAL);
    own.second.assign(graph.strategies(edge.second), HUGE_VAL);
    for (size_t a = 0; a < own.first.size(); ++a)
      for (size_t b = 0; b < own.second.size(); ++b) {
        double cost = dual.reduced(edge, e, a, b);
        own.first[a] = std::min(own.first[a], cost);
        own.second[b] = std::min(own.second[b], cost);
        own.any = std::min(own.any, cost);
      }
    root += own.any;
    edges.push_back(std::move(own));
  }
}

/// Neighbours of what is chosen already come first, those with the most edges
/// to it.
void DepthFirst::orderNodes() {
  std::vector<size_t> links(graph.size());
  std::vector<bool> taken(graph.size());
  for (size_t n = 0; n < graph.size(); ++n) {
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < graph.size(); ++i)
      if (!taken[i] && (best == SIZE_MAX ||
                        std::pair(links[i], graph.ends(i).size()) >
                            std::pair(links[best], graph.ends(best).size())))
        best = i;
    taken[best] = true;
    order.push_back(best);
    for (const StrategyGraph::End &end : graph.ends(best))
      ++links[end.other];
  }
}

/// False where what must be used is too much.
bool DepthFirst::use(size_t node, int64_t more) {
  bool fits = true;
  auto [first, last] = graph.span(node);
  for (size_t t = first; t < last; ++t) {
    used[t] += more;
    fits &= used[t] <= graph.limit();
  }
  return fits;
}

double DepthFirst::boundOf(size_t node, size_t strategy) const {
  double more = dual.reduced(node, strategy) - cheapest[node];
  for (const StrategyGraph::End &end : graph.ends(node)) {
    const StrategyGraph::Edge &edge = graph.edges()[end.edge];
    const Least &own = edges[end.edge];
    const auto &mine = end.isFirst ? own.first : own.second;
    const auto &other = end.isFirst ? own.second : own.first;
    if (chosen[end.other] < 0) {
      more += mine[strategy] - own.any;
      continue;
    }
    auto known = size_t(chosen[end.other]);
    more += (end.isFirst ? dual.reduced(edge, end.edge, strategy, known)
                         : dual.reduced(edge, end.edge, known, strategy)) -
            other[known];
  }
  return more;
}

StrategySum DepthFirst::costOf(size_t node, size_t strategy) const {
  StrategySum more = graph.node(node).costs[strategy];
  for (const StrategyGraph::End &end : graph.ends(node))
    if (chosen[end.other] >= 0)
      more += graph.cost(end, strategy, size_t(chosen[end.other]));
  return more;
}

/// False once there are no steps or no time left.
bool DepthFirst::descend(size_t depth, double bound, StrategySum cost) {
  if (--steps < 0 || (steps % stepsPerLook == 0 && expired && expired()))
    return false;
  if (depth == order.size()) {
    if (cost < least) {
      least = int64_t(cost);
      result.choice = chosen;
    }
    return true;
  }
  size_t node = order[depth];
  std::vector<std::pair<double, size_t>> ways;
  for (size_t s = 0; s < graph.strategies(node); ++s)
    ways.emplace_back(bound + boundOf(node, s), s);
  std::sort(ways.begin(), ways.end());
  for (auto [below, strategy] : ways) {
    if (isTooMuch(below))
      break;
    StrategySum more = costOf(node, strategy);
    if (cost + more >= least)
      continue;
    int64_t usage = graph.node(node).usages[strategy] - smallest[node];
    bool goesOn = true;
    if (use(node, usage)) {
      chosen[node] = int64_t(strategy);
      goesOn = descend(depth + 1, below, cost + more);
      chosen[node] = -1;
    }
    use(node, -usage);
    if (!goesOn)
      return false;
  }
  return true;
}

ExactResult DepthFirst::run() {
  prepare();
  bool mayFit = std::all_of(used.begin(), used.end(), [&](StrategySum sum) {
    return sum <= graph.limit();
  });
  orderNodes();
  result.isComplete = !mayFit || descend(0, root, 0);
  return std::move(result);
}

ExactResult planning::searchExactly(const StrategyGraph &graph,
                                    const StrategyDual &dual,
                                    const ExactLimits &limits) {
  if (graph.size() > kMostExactNodes)
    return {};
  return DepthFirst(graph, dual, limits).run();
}
