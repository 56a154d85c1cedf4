//===- SplitOps.h - Ops whose shards are other ops --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Most ops compute on shards what they compute on the whole. A few do not, and
/// are first written as ops that do; the mathematics stays the same.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_DIST_SPLITOPS_H
#define HOCKET_PASSES_DIST_SPLITOPS_H

#include "dialects/xf/IR/Xf.h"

namespace hocket::dist {

/// `linear(x, w) + b`, so that b is added once to sums over devices. Erases
/// `op`; returns the two new ops in order.
llvm::SmallVector<mlir::Operation *> splitBias(xf::LinearOp op);

/// Cross-entropy by rows: log-sum-exps of `shards` parts of the vocabulary and
/// the label's logit, the log-sum-exp of those, and the mean over all labels
/// that count. Erases `op`; returns the new ops in order.
llvm::SmallVector<mlir::Operation *> splitCrossEntropy(xf::CrossEntropyOp op,
                                                       int64_t shards);

/// Gives the gradient the number of labels that count, over all rows. Returns
/// the new ops in order, the gradient last.
llvm::SmallVector<mlir::Operation *> countLabels(xf::CrossEntropyGradientOp op);

} // namespace hocket::dist

#endif // HOCKET_PASSES_DIST_SPLITOPS_H
