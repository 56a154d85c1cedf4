//===- JointBody.h - A body with its gradient appended ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The first move of differentiation; see Differentiator.h.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_XF_JOINTBODY_H
#define HOCKET_PASSES_XF_JOINTBODY_H

#include "passes/xf/Differentiator.h"

#include "llvm/ADT/DenseMap.h"

namespace hocket::xf {

/// A function whose body holds the forward ops, then the gradient ops.
struct JointBody {
  mlir::func::FuncOp function;
  unsigned numArguments = 0; ///< The original's; gradients of results follow.
  unsigned numResults = 0;
  /// The last op that was there; null if there was none. What follows it, up to
  /// the terminator, is appended.
  mlir::Operation *lastForward = nullptr;
  /// One an original argument, null where no gradient reaches it.
  llvm::SmallVector<mlir::Value> argumentGradients;

  bool isAppended(mlir::Operation *op) const {
    return !lastForward || lastForward->isBeforeInBlock(op);
  }
  mlir::Operation *firstAppended() {
    return lastForward ? lastForward->getNextNode() : &function.front().front();
  }
};

/// Appends the gradient of `function`, whose arguments `active` are active, to
/// its body. The gradients of its active results are new arguments, or, where
/// `seed` is given, one call of it that builds the gradient of the only result.
/// Fails with a diagnostic on an op without a gradient.
mlir::FailureOr<JointBody> appendGradient(
    mlir::func::FuncOp function, Differentiator &differentiator,
    const llvm::BitVector &active,
    llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location)> seed =
        nullptr);

} // namespace hocket::xf

#endif // HOCKET_PASSES_XF_JOINTBODY_H
