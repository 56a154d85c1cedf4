//===- ScalarOps.h - What a fused region may hold ---------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The operations that a `kern.kernel` may hold, and what they cost: one row
/// per op. What they are in code is each target's table.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TARGETS_LOOPS_SCALAROPS_H
#define HOCKET_COMPILER_TARGETS_LOOPS_SCALAROPS_H

#include "mlir/IR/Operation.h"

namespace hocket::loops {

struct ScalarOp {
  llvm::StringLiteral name;
  /// Operations an element counts as.
  unsigned flops;
  /// Whether it is cheaper to keep the result in memory than to compute it
  /// again (transcendentals).
  bool costly;
};

/// The row of `op`, or null.
const ScalarOp *findScalarOp(mlir::Operation &op);

/// Whether values inside a kernel may be of `type`: f32, bf16, f16, i1, i32 or
/// i64.
bool isScalarType(mlir::Type type);

} // namespace hocket::loops

#endif // HOCKET_COMPILER_TARGETS_LOOPS_SCALAROPS_H
