//===- StrategyProblem.h - How each op of a graph is split ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Intra-op parallelism as the problem of the contest IOPDDL (ASPLOS and
/// EuroSys 2025): every node of a graph (an op, a parameter) takes one of its
/// *strategies*, a way to split it over a mesh. A strategy costs something and
/// uses memory while the node lives; two nodes that an edge joins cost
/// something together, the change of sharding between them:
///
///   minimise  sum over nodes i of c_i(s_i) + sum over edges (i, j) of
///             c_ij(s_i, s_j)
///   so that   at every time t, sum over nodes i that live at t of u_i(s_i)
///             <= usageLimit
///
/// Algorithms are in StrategySolve.h; StrategyValidator.h tells of any choice
/// what it costs and whether it fits. The text form (StrategyText.h) is the
/// contest's JSON.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_STRATEGY_STRATEGYPROBLEM_H
#define HOCKET_PASSES_PLANNING_STRATEGY_STRATEGYPROBLEM_H

#include "base/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hocket::planning {

struct StrategyNode {
  /// It lives at the times begin, ..., end - 1; at none where they are equal.
  int64_t begin = 0, end = 0;
  std::vector<int64_t> costs;  ///< One a strategy.
  std::vector<int64_t> usages; ///< One a strategy.
  std::string name;            ///< May be empty.
  /// Words for the strategies; empty, or one each.
  std::vector<std::string> labels;
};

struct StrategyEdge {
  int64_t first = 0, second = 0; ///< Different nodes.
  /// costs[a * (strategies of second) + b]
  std::vector<int64_t> costs;
};

struct StrategyProblem {
  std::string name;
  std::vector<StrategyNode> nodes;
  std::vector<StrategyEdge> edges; ///< Several may join the same nodes.
  int64_t usageLimit = 0;
  /// `dp=2 tp=4`: of a plan, whose program can be split as is chosen; else
  /// empty.
  std::string mesh;
};

/// The strategy of every node.
using StrategyChoice = std::vector<int64_t>;

/// Costs and usages are at most this (Q72); a sum of costs that is more counts
/// as INT64_MAX.
inline constexpr int64_t kMostStrategyCost = int64_t(1) << 61;

/// Q70 to Q73, as docs/spec.md numbers them.
Status checkStrategyProblem(const StrategyProblem &problem);

/// The cost of a choice of a checked problem: of all nodes and edges.
int64_t strategyCost(const StrategyProblem &problem,
                     const StrategyChoice &choice);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_STRATEGY_STRATEGYPROBLEM_H
