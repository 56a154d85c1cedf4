//===- SameCode.h - Whether two regions compute the same --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_KERN_SAMECODE_H
#define HOCKET_PASSES_KERN_SAMECODE_H

#include "passes/kern/RegionBuilder.h"

namespace hocket::kern {

/// Whether two values, each of its own block, are the same expression of the
/// blocks' arguments: the same ops with the same attributes, where the order
/// of a commutative op's operands does not matter and neither does the order
/// of ops in the block.
bool isSameExpression(mlir::Value a, mlir::Value b);

/// Whether `rows`, which has one result, computes what `code` writes of
/// `operands` operands.
bool computes(RowsOp rows, unsigned operands, ScalarFn code);

} // namespace hocket::kern

#endif // HOCKET_PASSES_KERN_SAMECODE_H
