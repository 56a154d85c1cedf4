//===- LayerVariants.h - Layers that keep less ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A layer is two functions: a forward half that returns its results and then
/// residuals, and a backward half that takes them. Layers that keep less call
/// variants of these, made once for each choice:
///
///   lean forward    returns only some of the results
///   joint backward  computes residuals that it is not given, each just before
///                   its first use, by the forward half's own ops
///   forward again   all results, and none of the forward half's effects
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PIPE_LAYERVARIANTS_H
#define HOCKET_PASSES_PIPE_LAYERVARIANTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/BitVector.h"

#include <map>
#include <string>
#include <vector>

namespace hocket::pipe {

/// What an argument of a backward half is in the forward half.
struct ArgumentSource {
  enum Kind { Gradient, Argument, Result } kind = Gradient;
  unsigned index = 0;

  bool operator==(const ArgumentSource &) const = default;
};

/// A joint backward half.
struct JointBackward {
  mlir::func::FuncOp function;
  /// Arguments of the backward half that it still takes, in order.
  std::vector<unsigned> taken;
  /// Arguments of the forward half that it takes behind them.
  std::vector<unsigned> added;
};

/// Whether an op computes something anew at no cost worth counting: a
/// parameter's value, a constant, a view.
bool isFree(mlir::Operation *op);

class LayerVariants {
public:
  explicit LayerVariants(mlir::SymbolTable &symbols) : symbols(symbols) {}

  /// `forward` without its results `dropped`.
  mlir::func::FuncOp leanForward(mlir::func::FuncOp forward,
                                 const llvm::BitVector &dropped);

  /// `backward` that computes results `again` of `forward` itself. `sources`
  /// has an entry for each of its arguments.
  const JointBackward &jointBackward(mlir::func::FuncOp forward,
                                     mlir::func::FuncOp backward,
                                     const std::vector<ArgumentSource> &sources,
                                     const llvm::BitVector &again);

  mlir::func::FuncOp forwardAgain(mlir::func::FuncOp forward);

  int64_t recomputedOps = 0;

private:
  mlir::func::FuncOp insertCopy(mlir::func::FuncOp function,
                                llvm::StringRef suffix);

  mlir::SymbolTable &symbols;
  std::map<std::string, mlir::func::FuncOp> functions;
  std::map<std::string, JointBackward> joints;
};

} // namespace hocket::pipe

#endif // HOCKET_PASSES_PIPE_LAYERVARIANTS_H
