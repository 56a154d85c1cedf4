//===- ValueNames.h - What people call a value ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Names of values of the whole step, through calls: an argument is called what
/// its first caller calls the operand, an argument of backward what forward
/// calls its residual. Layers that share a function share a name: the number
/// of a layer is `*`.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_DIST_VALUENAMES_H
#define HOCKET_PASSES_DIST_VALUENAMES_H

#include "dialects/xf/IR/Xf.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace hocket::dist {

/// `layers.17.attention.q.weight` as `layers.*.attention.q.weight`.
std::string nameOfAnyLayer(llvm::StringRef name);

/// The innermost name of a location, or "".
llvm::StringRef nameOfPlace(mlir::Location loc);

/// `spec.textproto:12:3`, without folders; "" for a location without a line.
std::string lineOf(mlir::Location loc);

/// What people call an op: its kind, the innermost name of its location and its
/// line: `linear 'attention.q' (spec.textproto:12:3)`.
std::string nameOfOp(mlir::Operation *op);

class ValueNames {
public:
  /// `module` holds the functions of one step and outlives this.
  explicit ValueNames(mlir::ModuleOp module);

  /// Empty if nothing names it.
  std::string of(mlir::Value value) const;

private:
  void bind(mlir::ValueRange operands, mlir::func::FuncOp callee);
  void bindStep(xf::StepOp step);
  std::string nameOf(mlir::Value value, int depth) const;

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  llvm::DenseMap<mlir::Value, mlir::Value> origins; ///< of arguments
};

} // namespace hocket::dist

#endif // HOCKET_PASSES_DIST_VALUENAMES_H
