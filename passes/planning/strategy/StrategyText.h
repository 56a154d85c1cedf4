//===- StrategyText.h - Strategy problems and choices as text ---*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The JSON of the contest IOPDDL:
///
///   {"problem": {"name": "example",
///     "nodes": {"intervals": [[30, 70], [40, 70]],
///               "costs": [[15], [55, 65]], "usages": [[10], [25, 25]]},
///     "edges": {"nodes": [[0, 1]], "costs": [[30, 40]]},
///     "usage_limit": 50}}
///
/// and, beyond the contest, `names` and `labels` (of strategies) in `nodes` and
/// `mesh`, which may be left out. Other keys are ignored. A choice is `[0, 1]`.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_STRATEGY_STRATEGYTEXT_H
#define HOCKET_PASSES_PLANNING_STRATEGY_STRATEGYTEXT_H

#include "passes/planning/strategy/StrategyProblem.h"

#include <string_view>

namespace hocket::planning {

/// A problem that has passed its checks. Errors begin with `file`.
StatusOr<StrategyProblem> readStrategyProblem(const std::string &file,
                                              std::string_view text);
/// Deterministic; reading it gives the problem again.
std::string writtenStrategyProblem(const StrategyProblem &problem);

StatusOr<StrategyChoice> readStrategyChoice(const std::string &file,
                                            std::string_view text);
std::string writtenStrategyChoice(const StrategyChoice &choice);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_STRATEGY_STRATEGYTEXT_H
