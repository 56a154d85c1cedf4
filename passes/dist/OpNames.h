//===- OpNames.h - A name for every op ---------------------------*- C++
//-*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Names that files use for ops and parameters (chosen shardings). They follow
/// from the program alone: the same specification gives the same names.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_DIST_OPNAMES_H
#define HOCKET_PASSES_DIST_OPNAMES_H

#include "dialects/xf/IR/Xf.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>

namespace hocket::dist {

/// Ops of the functions of a module, as `FUNCTION/PLACE/KIND`, such as
/// `layer/attention.q/linear`; without a place `FUNCTION/KIND`; the second with
/// the same name ends in `@2`, and so on. Characters other than letters, digits
/// and `_.*-$` are `_`. An op of a function that is called several times has
/// one name.
class OpNames {
public:
  explicit OpNames(mlir::ModuleOp module);

  /// What the names of a function's ops begin with: `layer/`.
  static std::string prefixOf(mlir::func::FuncOp function);

  /// Empty if it has none.
  std::string of(mlir::Operation *op) const { return names.lookup(op); }
  /// Null if there is no such op.
  mlir::Operation *find(const std::string &name) const;

private:
  llvm::DenseMap<mlir::Operation *, std::string> names;
  std::map<std::string, mlir::Operation *> ops;
};

/// Parameters by the name that they share with those of other layers,
/// `layers.*.attention.q.weight`; by their own where those differ in type. What
/// belongs to a parameter (state, gradient, working copy) has its name.
class ParameterNames {
public:
  explicit ParameterNames(mlir::ModuleOp module);

  std::string of(xf::VariableOp variable) const;

private:
  std::map<std::string, mlir::Type> types; ///< By shared name; null: several.
};

/// The parameter that a variable belongs to, or itself.
llvm::StringRef parameterOf(xf::VariableOp variable);

} // namespace hocket::dist

#endif // HOCKET_PASSES_DIST_OPNAMES_H
