//===- Activity.h - What comes of trained parameters ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A value of the forward pass is *active* where it comes of a parameter that
/// is trained, through ops on floats. Gradients are of active values alone.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_ANALYSIS_ACTIVITY_H
#define HOCKET_PASSES_ANALYSIS_ACTIVITY_H

#include "dialects/xf/IR/Xf.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"

#include <map>
#include <string>
#include <utility>

namespace hocket::xf {

/// True for values that carry gradients: tensors of floats.
bool isDifferentiable(mlir::Type type);

class Activity {
public:
  /// `symbols` are the module's, and outlive this.
  explicit Activity(const mlir::SymbolTable &symbols) : symbols(symbols) {}

  /// The active values of `function`'s body, if its arguments `active` are.
  llvm::DenseSet<mlir::Value> valuesOf(mlir::func::FuncOp function,
                                       const llvm::BitVector &active);

  /// The active results of `function`.
  llvm::BitVector resultsOf(mlir::func::FuncOp function,
                            const llvm::BitVector &active);

  /// Which operands of `call` are among `values`.
  static llvm::BitVector operandsOf(mlir::func::CallOp call,
                                    const llvm::DenseSet<mlir::Value> &values);

  /// A character a bit, to look sets up by.
  static std::string textOf(const llvm::BitVector &bits);

private:
  bool isTrained(ReadOp read) const;

  const mlir::SymbolTable &symbols;
  /// Results, by function and arguments.
  std::map<std::pair<mlir::Operation *, std::string>, llvm::BitVector> known;
};

} // namespace hocket::xf

#endif // HOCKET_PASSES_ANALYSIS_ACTIVITY_H
