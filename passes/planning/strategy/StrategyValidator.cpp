//===- StrategyValidator.cpp - What a choice costs, and uses --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/strategy/StrategyValidator.h"

#include <algorithm>
#include <set>

using namespace hocket;
using namespace hocket::planning;

/// Sums of at most 2^32 numbers of 62 bits.
using Wide = __int128;

static int64_t narrowed(Wide value) {
  return value > INT64_MAX ? INT64_MAX : int64_t(value);
}

StatusOr<StrategyVerdict>
planning::validateStrategies(const StrategyProblem &problem,
                             const StrategyChoice &choice) {
  size_t count = problem.nodes.size();
  if (choice.size() != count)
    return invalidArgument("a choice for " + std::to_string(choice.size()) +
                           " nodes; there are " + std::to_string(count));
  Wide cost = 0;
  std::set<int64_t> times;
  for (size_t i = 0; i < count; ++i) {
    const StrategyNode &node = problem.nodes[i];
    auto strategies = int64_t(node.costs.size());
    if (choice[i] < 0 || choice[i] >= strategies)
      return invalidArgument("node " + std::to_string(i) + " has strategy " +
                             std::to_string(choice[i]) + "; there are " +
                             std::to_string(strategies));
    cost += node.costs[size_t(choice[i])];
    times.insert(node.begin);
  }
  for (const StrategyEdge &edge : problem.edges) {
    size_t a = size_t(choice[size_t(edge.first)]),
           b = size_t(choice[size_t(edge.second)]);
    cost += edge.costs[a * problem.nodes[size_t(edge.second)].costs.size() + b];
  }
  // Usage rises only where a node begins to live.
  Wide peak = 0;
  for (int64_t time : times) {
    Wide used = 0;
    for (size_t i = 0; i < count; ++i)
      if (problem.nodes[i].begin <= time && time < problem.nodes[i].end)
        used += problem.nodes[i].usages[size_t(choice[i])];
    if (used > problem.usageLimit)
      return resourceExhausted("at time " + std::to_string(time) + " " +
                               std::to_string(narrowed(used)) +
                               " is used, and the limit is " +
                               std::to_string(problem.usageLimit));
    peak = std::max(peak, used);
  }
  return StrategyVerdict{narrowed(cost), narrowed(peak)};
}
