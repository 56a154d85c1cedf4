//===- OpStrategies.h - Every way to split an op ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_DIST_STRATEGIES_OPSTRATEGIES_H
#define HOCKET_PASSES_DIST_STRATEGIES_OPSTRATEGIES_H

#include "passes/dist/OpSharding.h"

namespace hocket::dist {

/// Every assignment of axes to factors that are not whole, each axis to one or
/// to none, such that all blocks have one size and a dim's later factors are
/// split only where its earlier ones are split to the end. The first one splits
/// nothing.
llvm::SmallVector<OpSharding> opStrategies(const xf::FactorRule &rule,
                                           llvm::ArrayRef<llvm::StringRef> axes,
                                           const Mesh &mesh);

/// The rule of a tensor by itself: a factor a dim.
xf::FactorRule tensorRule(mlir::RankedTensorType type);

} // namespace hocket::dist

#endif // HOCKET_PASSES_DIST_STRATEGIES_OPSTRATEGIES_H
