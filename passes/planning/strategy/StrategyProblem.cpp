//===- StrategyProblem.cpp - How each op of a graph is split --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/strategy/StrategyProblem.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::planning;

static bool areSizes(const std::vector<int64_t> &values) {
  return std::all_of(values.begin(), values.end(), [](int64_t value) {
    return value >= 0 && value <= kMostStrategyCost;
  });
}

static Status checkNode(const StrategyNode &node, size_t index) {
  std::string place = "node " + std::to_string(index);
  if (node.begin < 0 || node.begin > node.end)
    return invalidArgument(
        "Q70: " + place + " lives from " + std::to_string(node.begin) + " to " +
        std::to_string(node.end) + "; write 0 <= begin <= end");
  if (node.costs.empty() || node.costs.size() != node.usages.size() ||
      (!node.labels.empty() && node.labels.size() != node.costs.size()))
    return invalidArgument("Q71: " + place + " has " +
                           std::to_string(node.costs.size()) + " costs and " +
                           std::to_string(node.usages.size()) +
                           " usages; write one of each a strategy, and at "
                           "least one strategy");
  if (!areSizes(node.costs) || !areSizes(node.usages))
    return invalidArgument("Q72: a cost or usage of " + place +
                           " is not a number from 0 to 2^61");
  return okStatus();
}

static Status checkEdge(const StrategyProblem &problem, size_t index) {
  const StrategyEdge &edge = problem.edges[index];
  std::string place = "edge " + std::to_string(index);
  auto nodes = int64_t(problem.nodes.size());
  if (edge.first < 0 || edge.first >= nodes || edge.second < 0 ||
      edge.second >= nodes || edge.first == edge.second)
    return invalidArgument("Q73: " + place + " joins nodes " +
                           std::to_string(edge.first) + " and " +
                           std::to_string(edge.second) +
                           "; write two of 0 to " + std::to_string(nodes - 1));
  size_t pairs = problem.nodes[size_t(edge.first)].costs.size() *
                 problem.nodes[size_t(edge.second)].costs.size();
  if (edge.costs.size() != pairs)
    return invalidArgument("Q73: " + place + " has " +
                           std::to_string(edge.costs.size()) +
                           " costs; write " + std::to_string(pairs) +
                           ", one for each pair of its nodes' strategies");
  if (!areSizes(edge.costs))
    return invalidArgument("Q72: a cost of " + place +
                           " is not a number from 0 to 2^61");
  return okStatus();
}

Status planning::checkStrategyProblem(const StrategyProblem &problem) {
  if (problem.usageLimit < 0)
    return invalidArgument("Q72: the usage limit is " +
                           std::to_string(problem.usageLimit) +
                           "; write at least 0");
  for (size_t i = 0; i < problem.nodes.size(); ++i)
    HOCKET_RETURN_IF_ERROR(checkNode(problem.nodes[i], i));
  for (size_t i = 0; i < problem.edges.size(); ++i)
    HOCKET_RETURN_IF_ERROR(checkEdge(problem, i));
  return okStatus();
}

int64_t planning::strategyCost(const StrategyProblem &problem,
                               const StrategyChoice &choice) {
  int64_t sum = 0;
  auto add = [&](int64_t cost) {
    if (__builtin_add_overflow(sum, cost, &sum))
      sum = INT64_MAX;
  };
  for (size_t i = 0; i < problem.nodes.size(); ++i)
    add(problem.nodes[i].costs[size_t(choice[i])]);
  for (const StrategyEdge &edge : problem.edges) {
    auto width = int64_t(problem.nodes[size_t(edge.second)].costs.size());
    add(edge.costs[size_t(choice[size_t(edge.first)] * width +
                          choice[size_t(edge.second)])]);
  }
  return sum;
}
