//===- StrategyValidator.h - What a choice costs, and uses ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_STRATEGY_STRATEGYVALIDATOR_H
#define HOCKET_PASSES_PLANNING_STRATEGY_STRATEGYVALIDATOR_H

#include "passes/planning/strategy/StrategyProblem.h"

namespace hocket::planning {

struct StrategyVerdict {
  int64_t cost = 0; ///< INT64_MAX where it is more.
  int64_t peak = 0; ///< The most that is used at one time.
};

/// Adds up a choice from the problem alone. An error says what is wrong: a
/// strategy that does not exist, or (ResourceExhausted) the time at which more
/// is used than may be.
/// Quadratic, and meant to be obviously right.
StatusOr<StrategyVerdict> validateStrategies(const StrategyProblem &problem,
                                             const StrategyChoice &choice);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_STRATEGY_STRATEGYVALIDATOR_H
