//===- StrategyExact.h - The cheapest choice, by search ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Depth first over the nodes, each strategy in the order of its reduced cost.
/// Below a partial choice nothing costs less than the dual (StrategyDual.h)
/// with the chosen strategies in place of the cheapest ones, and nothing fits
/// where the least of the others is too much.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_STRATEGY_STRATEGYEXACT_H
#define HOCKET_PASSES_PLANNING_STRATEGY_STRATEGYEXACT_H

#include "passes/planning/strategy/StrategyDual.h"

#include <functional>
#include <optional>

namespace hocket::planning {

struct ExactResult {
  /// A choice that fits and costs less than `known`, the cheapest that was
  /// found.
  std::optional<StrategyChoice> choice;
  /// Every other choice that fits costs at least as much.
  bool isComplete = false;
};

struct ExactLimits {
  int64_t known = INT64_MAX; ///< The cost of a choice that fits.
  int64_t steps = 0;         ///< Partial choices.
  std::function<bool()> expired;
};

/// Larger graphs are left alone: the search is as deep as there are nodes.
inline constexpr size_t kMostExactNodes = 4096;

ExactResult searchExactly(const StrategyGraph &graph, const StrategyDual &dual,
                          const ExactLimits &limits);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_STRATEGY_STRATEGYEXACT_H
