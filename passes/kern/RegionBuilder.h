//===- RegionBuilder.h - Builds fused regions -------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Builds `kern.rows` and `kern.columns` from operands, results and a function
/// that writes the scalar code.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_KERN_REGIONBUILDER_H
#define HOCKET_PASSES_KERN_REGIONBUILDER_H

#include "passes/kern/ScalarCode.h"

namespace hocket::kern {

/// An iteration space.
struct Space {
  int64_t rows = 1, cols = 1;
  bool operator==(const Space &) const = default;
  int64_t elements() const { return rows * cols; }
};

/// The last dim as columns and all others as rows; a scalar is [1 x 1].
Space spaceOf(mlir::Type tensor);

/// A space for elementwise code over `elements`, whose rows are long enough
/// for vectors and many enough for cores: as columns the greatest multiple of
/// 64 up to 4096 that divides; one row where there is none.
Space flatSpace(int64_t elements);

/// How a tensor that lacks leading dims of the space's follows it.
Access broadcastAccess(mlir::Type tensor, Space space);

struct TensorOperand {
  mlir::Value tensor;
  Access access;
};

struct TensorResult {
  mlir::Type type;
  Access access;
};

/// Says what a region computes: from its operands' elements (and, last, its
/// instances) to its results' elements.
using ScalarFn = llvm::function_ref<llvm::SmallVector<Scalar>(
    llvm::ArrayRef<Scalar> operands)>;

/// What a region is, without its code.
struct RegionShape {
  llvm::StringRef label;
  Space space;
  llvm::SmallVector<TensorOperand, 4> operands;
  llvm::SmallVector<TensorResult, 2> results;
  llvm::SmallVector<mlir::Value, 1> instances;
};

/// Builds `kern.rows`.
RowsOp buildRows(mlir::OpBuilder &builder, mlir::Location loc,
                 const RegionShape &shape, ScalarFn code);

/// Builds `kern.columns`; the results' accesses are not read.
ColumnsOp buildColumns(mlir::OpBuilder &builder, mlir::Location loc,
                       const RegionShape &shape, ScalarFn code);

/// The accesses as an attribute.
mlir::ArrayAttr accessesOf(mlir::Builder &builder,
                           llvm::ArrayRef<TensorOperand> operands);
mlir::ArrayAttr accessesOf(mlir::Builder &builder,
                           llvm::ArrayRef<TensorResult> results);

} // namespace hocket::kern

#endif // HOCKET_PASSES_KERN_REGIONBUILDER_H
