//===- StreamValues.h - What is of the residual stream ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The values of a module that are split as its residual streams are: arguments
/// of layers that say so (`dist.stream`), and what any op ties to such a value
/// by the same factors in every dim, as an addition ties a branch to the stream
/// that it is added to, and a norm's gradient the gradient to the stream. Calls
/// and the two halves of the step tie what they hand on.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_DIST_STREAMVALUES_H
#define HOCKET_PASSES_DIST_STREAMVALUES_H

#include "dialects/dist/IR/Sharding.h"
#include "dialects/xf/IR/Xf.h"

#include "mlir/IR/BuiltinOps.h"

namespace hocket::dist {

class StreamValues {
public:
  explicit StreamValues(mlir::ModuleOp module);

  /// Where `value` is if it is of a stream; null if not.
  const Sharding *find(mlir::Value value) const;

  /// Has what an op that is new ties to a stream be of it.
  void add(mlir::Operation *op);

  /// `to` takes the place of `from`, which is gone then.
  void replace(mlir::Value from, mlir::Value to);

private:
  std::vector<Sharding> shardings;
  llvm::DenseMap<mlir::Value, size_t> streams; ///< Which of these.
};

} // namespace hocket::dist

#endif // HOCKET_PASSES_DIST_STREAMVALUES_H
