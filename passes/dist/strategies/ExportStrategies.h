//===- ExportStrategies.h - A program as a strategy problem -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The forward and backward pass of a step over one microbatch (xf, global
/// tensors) as a problem of passes/planning/strategy:
///
///   - A node for each parameter and for each input. Its strategies split its
///     dims; it costs nothing, lives throughout, and a parameter uses its bytes
///     with those of its gradient, its optimizer state and its working copy.
///   - A node for each op, of functions that are called at each call. Its
///     strategies split the factors of its rule (OpStrategies.h); it costs what
///     a device needs for its share, uses the bytes of its results, and lives
///     from where it stands to its last use.
///   - An edge from each operand's node: what partitioning would write to bring
///     it from one sharding to the other (Reshard.h), sums over devices formed
///     there. A gradient has one to its parameter, to be as that is.
///
/// Of a plan (convert-xf-to-dist has been run) the choice can be compiled: a
/// node stands for all calls of its op, and for a parameter of all layers, with
/// the sum of what they cost and the usage of as many as live at one time; what
/// one call of an op hands to the next of the same op is a cost of the node.
/// Inputs are as the data feed deals them out. Its names are OpNames.h's, its
/// words those of passes/planning/strategy/ChosenSplits.h.
///
/// What is wanted whole (the loss) adds to its node's cost. Costs are in
/// nanoseconds, usages in bytes. It is a model: no two ops are fused, no
/// collective is hidden, and a value that several ops want alike is brought to
/// each of them.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_DIST_STRATEGIES_EXPORTSTRATEGIES_H
#define HOCKET_PASSES_DIST_STRATEGIES_EXPORTSTRATEGIES_H

#include "passes/planning/strategy/ChosenSplits.h"
#include "runtime/cluster/Systems.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <utility>
#include <vector>

namespace hocket::dist {

struct StrategyExport {
  /// Names and sizes, the slowest first; neighbours differ in the last. Empty:
  /// those of the plan that the module is placed by.
  planning::MeshSizes axes;
  /// `devices` is the product of the axes' sizes.
  cluster::ClusterChoice cluster;
  int64_t memory = 0; ///< Bytes of a device.

  bool isPlan() const { return axes.empty(); }
};

/// No op has more strategies: they grow with the axes' number as a power.
inline constexpr size_t kMostOpStrategies = 256;

/// Adds a mesh to `module`, unless that has the plan's. InvalidArgument where
/// it has no step, or an op more strategies than may be.
StatusOr<planning::StrategyProblem>
exportStrategies(mlir::ModuleOp module, const StrategyExport &options);

} // namespace hocket::dist

#endif // HOCKET_PASSES_DIST_STRATEGIES_EXPORTSTRATEGIES_H
