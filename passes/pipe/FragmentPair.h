//===- FragmentPair.h - What forward keeps for backward ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The fragments F and B of a stage. Each argument of B is something that F
/// takes or returns (a residual), or comes from another stage: the sources of
/// its `pipe.fragment` say which. What is kept or dropped is so in the
/// functions and in their fragments at once.
///
/// Used between `pipe-split-stages` and `pipe-split-weight-gradient`.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PIPE_FRAGMENTPAIR_H
#define HOCKET_PASSES_PIPE_FRAGMENTPAIR_H

#include "dialects/pipe/IR/Pipe.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace hocket::pipe {

class FragmentPair {
public:
  mlir::func::FuncOp forward, backward;
  int64_t stage = 0, chunk = 0, rank = 0;
  FragmentOp forwardFragment, backwardFragment;

  /// The value of forward that argument `argument` of backward is; null for
  /// what comes from another stage.
  mlir::Value sourceOf(mlir::BlockArgument argument) const;

  /// The argument of backward that is `value` of forward; null if forward
  /// does not keep it.
  mlir::BlockArgument findKept(mlir::Value value) const;

  /// The same; forward keeps it from now on.
  mlir::BlockArgument keep(mlir::Value value);

  /// Forward no longer keeps what backward does not use; `loss`: nor returns
  /// the loss, which the only stage returns first.
  void dropUnused(bool loss = false);

private:
  /// What of forward argument `index` of backward is; null for what comes from
  /// another stage.
  SavedAttr savedOf(unsigned index) const;
  /// Which result of forward argument `index` of backward is, or -1.
  int64_t resultOf(unsigned index) const;
  void eraseResults(const llvm::BitVector &dropped);
};

/// Every stage's, in the order of stages. None where a stage has no F or B.
std::vector<FragmentPair> findFragmentPairs(mlir::ModuleOp module);

} // namespace hocket::pipe

#endif // HOCKET_PASSES_PIPE_FRAGMENTPAIR_H
