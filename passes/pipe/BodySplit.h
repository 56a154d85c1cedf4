//===- BodySplit.h - Weight gradients apart from input gradients *- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Splits a function of the backward pass in two: an early part with all that
/// the gradients of inputs need, and a late part with the weight gradients that
/// nothing waits for.
///
/// What is late: a weight gradient of a GEMM or a table (or a call of
/// a late part) that no early result needs, what depends on one, and cheap ops
/// that only these need and for which no more has to be kept than they make.
/// Everything else is early, bias and norm gradients too:
/// they cost little, and come of values that need not be kept for them.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PIPE_BODYSPLIT_H
#define HOCKET_PASSES_PIPE_BODYSPLIT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace hocket::pipe {

/// Marks a weight gradient that is early: put off, it would keep more than it
/// is worth.
inline constexpr llvm::StringLiteral earlyAttrName = "pipe.early";

/// Functions that are late parts.
using LateFunctions = llvm::DenseSet<mlir::StringAttr>;

struct BodySplit {
  /// Ops of the late part, in order.
  llvm::SetVector<mlir::Operation *> late;
  /// What the late part takes: arguments, and values of the early part.
  llvm::SetVector<mlir::Value> kept;

  bool isLate(mlir::Value value) const {
    return value.getDefiningOp() && late.contains(value.getDefiningOp());
  }
};

/// Whether `value` only ever reaches accumulations.
bool isOnlyAccumulated(mlir::Value value);

/// Splits the body of `function`; what result `i` needs is early unless
/// `mayBeLate[i]`. Nothing is changed.
BodySplit splitBody(mlir::func::FuncOp function, llvm::ArrayRef<bool> mayBeLate,
                    const LateFunctions &lateFunctions);

/// The late part as a function `name` that takes `split.kept` and returns the
/// results of `function` that are late, in order. It is not yet in a module.
mlir::func::FuncOp buildLatePart(mlir::func::FuncOp function,
                                 const BodySplit &split, llvm::StringRef name);

/// Leaves the early part in `function`: its results are those that are not
/// late, then `passed`, then the kept values that are no arguments.
void keepEarlyPart(mlir::func::FuncOp function, const BodySplit &split,
                   llvm::ArrayRef<mlir::Value> passed = {});

} // namespace hocket::pipe

#endif // HOCKET_PASSES_PIPE_BODYSPLIT_H
