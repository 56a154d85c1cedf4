//===- StrategyGraph.cpp - A strategy problem made ready ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/strategy/StrategyGraph.h"

#include <algorithm>
#include <map>

using namespace hocket;
using namespace hocket::planning;

StrategyGraph::StrategyGraph(const StrategyProblem &problem)
    : source(problem), joined(problem.nodes.size()),
      spans(problem.nodes.size()) {
  joinEdges();
  findTimes();
}

void StrategyGraph::joinEdges() {
  std::map<std::pair<size_t, size_t>, size_t> known;
  for (const StrategyEdge &edge : source.edges) {
    auto a = size_t(edge.first), b = size_t(edge.second);
    size_t low = std::min(a, b), high = std::max(a, b);
    auto [place, isNew] = known.try_emplace({low, high}, all.size());
    if (isNew) {
      joined[low].push_back({all.size(), high, true});
      joined[high].push_back({all.size(), low, false});
      all.push_back({low, high, std::vector<StrategySum>(edge.costs.size())});
    }
    Edge &sum = all[place->second];
    for (size_t i = 0; i < strategies(a); ++i)
      for (size_t j = 0; j < strategies(b); ++j) {
        size_t at = a < b ? i * strategies(b) + j : j * strategies(a) + i;
        sum.costs[at] += edge.costs[i * strategies(b) + j];
      }
  }
}

void StrategyGraph::findTimes() {
  // What the live nodes may use at most changes at their ends.
  struct Change {
    StrategySum most = 0;
    bool begins = false, ends = false;
  };
  std::map<int64_t, Change> changes;
  for (const StrategyNode &node : source.nodes) {
    if (node.begin == node.end)
      continue;
    StrategySum most =
        *std::max_element(node.usages.begin(), node.usages.end());
    changes[node.begin].most += most;
    changes[node.begin].begins = true;
    changes[node.end].most -= most;
    changes[node.end].ends = true;
  }
  std::vector<int64_t> times;
  StrategySum used = 0;
  for (auto at = changes.begin(); at != changes.end(); ++at) {
    used += at->second.most;
    auto next = std::next(at);
    // Only where something ends next, everything that lives has begun.
    bool isFull = next == changes.end() || next->second.ends;
    if (used > limit() && isFull)
      times.push_back(at->first);
  }
  timeCount = times.size();
  for (size_t i = 0; i < size(); ++i) {
    auto place = [&](int64_t time) {
      return size_t(std::lower_bound(times.begin(), times.end(), time) -
                    times.begin());
    };
    spans[i] = {place(node(i).begin), place(node(i).end)};
  }
}
