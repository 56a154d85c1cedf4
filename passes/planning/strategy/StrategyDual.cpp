//===- StrategyDual.cpp - A bound on what strategies cost -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/strategy/StrategyDual.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::planning;

/// Of one operation in doubles, relative to what it adds up.
static constexpr double roundingShare = 0x1p-52;
/// Prices move less where the bound no longer rises.
static constexpr double stepDecay = 0.95, leastStep = 1e-4;

StrategyDual::StrategyDual(const StrategyGraph &graph, double most)
    : graph(&graph), most(most), messages(graph.edges().size()),
      prices(graph.times()) {
  for (size_t i = 0; i < graph.size(); ++i)
    beliefs.emplace_back(graph.strategies(i));
  for (size_t e = 0; e < graph.edges().size(); ++e) {
    messages[e].first.resize(graph.strategies(graph.edges()[e].first));
    messages[e].second.resize(graph.strategies(graph.edges()[e].second));
  }
  noteBound();
}

double StrategyDual::priceOf(size_t node) const {
  double sum = 0;
  auto [first, last] = graph->span(node);
  for (size_t t = first; t < last; ++t)
    sum += prices[t];
  return sum;
}

double StrategyDual::priceOfLimit() const {
  double sum = 0;
  for (double price : prices)
    sum += price * double(graph->limit());
  return sum;
}

size_t StrategyDual::cheapest(size_t node) const {
  const auto &own = beliefs[node];
  return size_t(std::min_element(own.begin(), own.end()) - own.begin());
}

/// Each end gets half of what the other end and the edge cost it at least.
void StrategyDual::improve(size_t index) {
  const StrategyGraph::Edge &edge = graph->edges()[index];
  std::vector<double> &first = beliefs[edge.first];
  std::vector<double> &second = beliefs[edge.second];
  Messages &own = messages[index];
  for (size_t a = 0; a < first.size(); ++a)
    first[a] -= own.first[a];
  for (size_t b = 0; b < second.size(); ++b)
    second[b] -= own.second[b];
  std::fill(own.first.begin(), own.first.end(), HUGE_VAL);
  std::fill(own.second.begin(), own.second.end(), HUGE_VAL);
  for (size_t a = 0; a < first.size(); ++a)
    for (size_t b = 0; b < second.size(); ++b) {
      auto cost = capped(graph->cost(edge, a, b));
      own.first[a] = std::min(own.first[a], cost + second[b]);
      own.second[b] = std::min(own.second[b], cost + first[a]);
    }
  for (size_t a = 0; a < first.size(); ++a)
    own.first[a] = (own.first[a] - first[a]) / 2;
  for (size_t b = 0; b < second.size(); ++b)
    own.second[b] = (own.second[b] - second[b]) / 2;
  for (size_t a = 0; a < first.size(); ++a)
    first[a] += own.first[a];
  for (size_t b = 0; b < second.size(); ++b)
    second[b] += own.second[b];
}

void StrategyDual::sweep() {
  for (size_t e = 0; e < messages.size(); ++e)
    improve(e);
  for (size_t e = messages.size(); e-- > 0;)
    improve(e);
  noteBound();
}

double StrategyDual::addBeliefs() {
  double size = 0;
  for (size_t i = 0; i < graph->size(); ++i) {
    const StrategyNode &node = graph->node(i);
    double price = priceOf(i), largest = 0;
    for (size_t s = 0; s < node.costs.size(); ++s) {
      double used = price * double(node.usages[s]);
      double sum = capped(node.costs[s]) + used, parts = sum;
      for (const StrategyGraph::End &end : graph->ends(i)) {
        const Messages &own = messages[end.edge];
        double message = end.isFirst ? own.first[s] : own.second[s];
        sum += message;
        parts += std::abs(message);
      }
      beliefs[i][s] = sum;
      largest = std::max(largest, parts);
    }
    auto [first, last] = graph->span(i);
    size += largest * double(graph->ends(i).size() + last - first + 2);
  }
  return size;
}

void StrategyDual::noteBound() {
  double size = addBeliefs(), sum = 0, sizes = 0;
  auto add = [&](double part) {
    sum += part;
    sizes += std::abs(part);
  };
  for (size_t i = 0; i < graph->size(); ++i)
    add(beliefs[i][cheapest(i)]);
  for (size_t e = 0; e < messages.size(); ++e) {
    const StrategyGraph::Edge &edge = graph->edges()[e];
    double least = HUGE_VAL, parts = 0;
    for (size_t a = 0; a < messages[e].first.size(); ++a)
      for (size_t b = 0; b < messages[e].second.size(); ++b) {
        least = std::min(least, reduced(edge, e, a, b));
        parts = std::max(parts, capped(graph->cost(edge, a, b)) +
                                    std::abs(messages[e].first[a]) +
                                    std::abs(messages[e].second[b]));
      }
    add(least);
    size += 3 * parts;
  }
  add(-priceOfLimit());
  auto terms =
      double(graph->size() + graph->edges().size() + graph->times() + 2);
  slack = 1e-6 + roundingShare * (size + sizes * terms);
  bool rises = sum > value;
  stepShare = rises ? stepShare : std::max(leastStep, stepShare * stepDecay);
  value = sum;
  double rounded = std::ceil(sum - slack);
  if (rounded > double(best) && rounded < 0x1p62)
    best = int64_t(rounded);
}

void StrategyDual::movePrices(double known) {
  if (prices.empty())
    return;
  // What is used beyond the limit if each node takes its cheapest strategy.
  std::vector<double> over(prices.size(), -double(graph->limit()));
  for (size_t i = 0; i < graph->size(); ++i) {
    auto used = double(graph->node(i).usages[cheapest(i)]);
    auto [first, last] = graph->span(i);
    for (size_t t = first; t < last; ++t)
      over[t] += used;
  }
  double norm = 0;
  for (size_t t = 0; t < prices.size(); ++t)
    if (over[t] > 0 || prices[t] > 0)
      norm += over[t] * over[t];
  if (norm == 0)
    return;
  double target = known >= 0 ? known : 1.05 * std::abs(value) + 1;
  double step = stepShare * std::max(0.0, target - value) / norm;
  for (size_t t = 0; t < prices.size(); ++t)
    prices[t] = std::max(0.0, prices[t] + step * over[t]);
  noteBound();
}
