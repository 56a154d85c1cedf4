//===- DimRatios.h - Sizes that change together -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// By what every dim of a module is multiplied if some of them are: the factor
/// rule of an op says which dims are one loop, calls and variables say which
/// values are one tensor. Nothing here knows what a dim stands for.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_XF_DIMRATIOS_H
#define HOCKET_PASSES_XF_DIMRATIOS_H

#include "dialects/xf/IR/XfOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

#include <numeric>
#include <optional>

namespace hocket::xf {

/// By what a size is multiplied, in lowest terms.
struct Ratio {
  int64_t up = 1, down = 1;

  /// Of two positive sizes.
  static Ratio of(int64_t to, int64_t from) {
    int64_t common = std::gcd(to, from);
    return {to / common, from / common};
  }
  bool isOne() const { return up == 1 && down == 1; }
  bool operator==(const Ratio &) const = default;

  /// What becomes of `size`; nothing if that is no whole number.
  std::optional<int64_t> apply(int64_t size) const {
    int64_t result = 0;
    if (size % down != 0 || __builtin_mul_overflow(size / down, up, &result))
      return std::nullopt;
    return result;
  }
};

class DimRatios {
public:
  explicit DimRatios(mlir::ModuleOp module);

  /// Has dim `dim` of `value` change by `ratio`. X116 at `op` if it changes by
  /// another already.
  mlir::LogicalResult set(mlir::Value value, unsigned dim, Ratio ratio,
                          mlir::Operation *op);
  /// 1 where nothing has been said.
  Ratio get(mlir::Value value, unsigned dim) const;

  /// Has `count` dims of both, from the first on, change alike.
  mlir::LogicalResult link(mlir::Value a, mlir::Value b, unsigned count,
                           mlir::Operation *op);

  /// Carries ratios through the whole module until nothing changes. What
  /// `visit` returns stands in place of an op's own rule; nothing: it has one.
  mlir::LogicalResult carry(
      llvm::function_ref<std::optional<mlir::LogicalResult>(mlir::Operation *)>
          visit);

  /// Gives every value and variable its new size. X116 where that is no whole
  /// number.
  mlir::LogicalResult apply();

private:
  mlir::LogicalResult carryRule(mlir::Operation *op);
  mlir::LogicalResult carryCall(mlir::func::CallOp call);
  mlir::LogicalResult carryVariable(mlir::Value value, llvm::StringRef name,
                                    mlir::Operation *op);
  /// `@backward` takes what `@forward` takes and keeps, which no call says.
  mlir::LogicalResult carryHalves(StepOp step);
  mlir::LogicalResult carryOp(mlir::Operation *op);

  using Dims = llvm::SmallVector<Ratio, 4>;
  mlir::LogicalResult note(Dims &dims, unsigned dim, Ratio ratio,
                           mlir::Operation *op);

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  llvm::DenseMap<mlir::Value, Dims> values;
  llvm::DenseMap<mlir::Operation *, Dims> variables;
  bool changed = false;
};

} // namespace hocket::xf

#endif // HOCKET_PASSES_XF_DIMRATIOS_H
