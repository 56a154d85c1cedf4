//===- Placement.h - How an op is split, and why ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `dist.placement` of an op or a variable, as passes read and write it: see
/// `#dist.placement` in DistAttrs.td.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_DIST_IR_PLACEMENT_H
#define HOCKET_DIALECTS_DIST_IR_PLACEMENT_H

#include "dialects/dist/IR/Dist.h"

#include "mlir/IR/Operation.h"

namespace hocket::dist {

inline constexpr llvm::StringLiteral kPlacementAttr = "dist.placement";

/// What is absent is null, and a line that nothing says is negative.
struct Placement {
  mlir::ArrayAttr moves, operands, reasons, results, split;
  int64_t line = -1;
  bool scattered = false;

  /// That of `op`; an empty one if it has none.
  static Placement of(mlir::Operation *op);
  /// Takes the place of what `op` has; an empty one removes it.
  void setOn(mlir::Operation *op) const;

  /// The sharding of operand or result `index`; null where there is none.
  ShardingAttr ofOperand(unsigned index) const;
  ShardingAttr ofResult(unsigned index) const;
};

/// D29: whether a placement has an entry for each operand and result of its op.
mlir::LogicalResult verifyPlacement(mlir::Operation *op,
                                    mlir::Attribute attribute);

} // namespace hocket::dist

#endif // HOCKET_DIALECTS_DIST_IR_PLACEMENT_H
