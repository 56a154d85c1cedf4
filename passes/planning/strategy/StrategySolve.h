//===- StrategySolve.h - Choosing strategies --------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Three algorithms, each with the bound of StrategyDual.h:
///
///   greedy   every node by itself, with costs reduced by the dual; then repair
///            and descent
///   search   from there, random trees of nodes are chosen anew, again and
///            again, while the dual goes on
///   exact    then depth first, which proves what it finds where it comes to
///            the end (some tens of nodes; more where the dual is tight)
///
/// Steps are counted, not seconds: the same problem has the same answer on
/// every machine. Only with `expired` does it stop earlier, or go on searching
/// until then.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_STRATEGY_STRATEGYSOLVE_H
#define HOCKET_PASSES_PLANNING_STRATEGY_STRATEGYSOLVE_H

#include "passes/planning/strategy/StrategyProblem.h"

#include <functional>
#include <optional>
#include <string_view>

namespace hocket::planning {

enum class StrategyAlgorithm : uint8_t { Greedy, Search, Exact };

/// "greedy", "search" or "exact".
std::optional<StrategyAlgorithm> strategyAlgorithm(std::string_view name);

struct StrategyOptions {
  StrategyAlgorithm algorithm = StrategyAlgorithm::Exact;
  int64_t rounds = 400;           ///< Of `search`; each regrows once.
  int64_t exactSteps = 4'000'000; ///< Partial choices of `exact`.
  /// Whether the time is over.
  std::function<bool()> expired;
  uint64_t seed = 1;
};

struct StrategyPlan {
  StrategyChoice choice;
  bool fits = false;    ///< Else `choice` is what comes nearest to fitting.
  int64_t cost = 0;     ///< strategyCost.
  int64_t bound = 0;    ///< No choice that fits costs less.
  bool isFinal = false; ///< Not to fit is proved, or cost == bound.

  /// (cost - bound) / cost, where it fits.
  double gap() const;
};

/// `problem` has been checked.
StrategyPlan solveStrategies(const StrategyProblem &problem,
                             const StrategyOptions &options = {});

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_STRATEGY_STRATEGYSOLVE_H
