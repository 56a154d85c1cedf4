//===- OpStrategies.h - Every way to split an op ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_DIST_OPSTRATEGIES_H
#define HOCKET_PASSES_DIST_OPSTRATEGIES_H

#include "dialects/xf/IR/Xf.h"
#include "passes/dist/OpSharding.h"
#include "passes/planning/strategy/ChosenSplits.h"

#include <string>

namespace hocket::dist {

/// Every assignment of axes to factors that are not whole, each axis to one or
/// to none, such that all blocks have one size and a dim's later factors are
/// split only where its earlier ones are split to the end. The first one splits
/// nothing.
llvm::SmallVector<OpSharding> opStrategies(const xf::FactorRule &rule,
                                           llvm::ArrayRef<llvm::StringRef> axes,
                                           const Mesh &mesh);

/// The same of an op that `rule` is of, without those whose shards are put
/// together as anything but sums.
llvm::SmallVector<OpSharding>
possibleStrategies(const xf::FactorRule &rule,
                   llvm::ArrayRef<llvm::StringRef> axes, const Mesh &mesh);

/// The rule of a tensor by itself: a factor a dim.
xf::FactorRule tensorRule(mlir::RankedTensorType type);

/// How `op` can be split once it is partitioned: its own rule, but that the
/// vocabulary of a loss may be split too (SplitOps.h).
xf::FactorRule strategyRule(xf::ShardableOpInterface op);

/// The names and sizes of a mesh, in its order.
planning::MeshSizes meshSizes(MeshOp mesh);

/// `[tp,-]`, as passes/planning/strategy/ChosenSplits.h writes a tensor.
std::string splitText(const Sharding &sharding);
/// `[dp,-,-] [tp,-] -> [dp,-,tp]`: the same of an op and a strategy for it.
std::string splitText(mlir::Operation *op, const xf::FactorRule &rule,
                      const OpSharding &strategy);

} // namespace hocket::dist

#endif // HOCKET_PASSES_DIST_OPSTRATEGIES_H
