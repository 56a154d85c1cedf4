//===- FlowCut.h - Cut a function where its layers meet ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A function of the step is a chain of calls of layers with some ops before,
/// between and after. FlowCut deals its ops to *steps*, in the order in which
/// data flows through them: for forward step t is stage t, for backward the
/// last stage is step 0.
///
/// Each call has its step given. Every other op goes to the first step that has
/// all of its operands, or to an earlier one that needs its result, if what it
/// takes are arguments in the end. An op that depends on nothing but variables,
/// constants and what the host gives (a rotary table, a gathered weight) is
/// *floating*: every step that needs it has a copy. A value that a later step
/// needs crosses all boundaries between the two.
///
///   %x = xf.embedding %tokens, %w     step 0
///   %y = call @layer(%x, %t, ...)     step 0     %t: in both
///   %z = call @layer(%y, %t, ...)     step 1     %y crosses
///   %l = xf.cross_entropy %z, ...     step 1
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PIPE_FLOWCUT_H
#define HOCKET_PASSES_PIPE_FLOWCUT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <optional>
#include <set>

namespace hocket::pipe {

/// The function of one step.
struct CutFunction {
  mlir::func::FuncOp function;
  /// What each of its arguments is in the whole function.
  llvm::SmallVector<mlir::Value> arguments;
  /// What each of its results is there: the values that cross to the next step,
  /// then those that were asked for.
  llvm::SmallVector<mlir::Value> results;
  unsigned received = 0; ///< how many of the last arguments cross
  unsigned sent = 0;     ///< how many of the first results cross
};

class FlowCut {
public:
  /// `steps` at least 1. `function` is not changed.
  FlowCut(mlir::func::FuncOp function, unsigned steps);

  //===--- What is given, before `assign` ---------------------------------===//

  /// The step of each call, in their order; must not fall.
  void setCallSteps(llvm::ArrayRef<unsigned> steps);
  /// What depends on the last call goes to the last step; what it has made and
  /// is only stored stays with it.
  void endAtLastStep() { endsAtLastStep = true; }
  /// The host gives argument `index`, wherever it is needed. What depends on it
  /// is in `step`, if that is not negative, or later; else it may float.
  void setHostArgument(unsigned index, int step);
  /// The steps from `first` to `last` have argument `index`. Steps before can
  /// have it too if need be (see `stepsOf`).
  void setArgument(unsigned index, unsigned first, unsigned last);
  /// Any step has argument `index`.
  void setArgumentEverywhere(unsigned index);
  /// An op that stores to the variable `name` goes to one of `steps`, the
  /// first that has what it stores.
  void setHome(llvm::StringRef name, llvm::ArrayRef<unsigned> steps);

  //===--- The cut --------------------------------------------------------===//

  /// Deals the ops out. Fails, with a diagnostic, where a value would have to
  /// flow backwards.
  mlir::LogicalResult assign();

  /// Asks that `step` has `value` too, which it can receive or compute.
  mlir::LogicalResult require(mlir::Value value, unsigned step);

  /// Where `value` is computed or first available; nothing where it floats.
  std::optional<unsigned> stepOf(mlir::Value value) const;
  /// The last step that has `value` (where it is computed, or needed).
  unsigned lastStepOf(mlir::Value value) const;
  /// The steps that need `value`, ascending.
  llvm::SmallVector<unsigned> stepsOf(mlir::Value value) const;
  /// The steps that read the variable `name`, ascending.
  llvm::SmallVector<unsigned> readersOf(llvm::StringRef name) const;

  /// Builds the function of `step`, which is not yet in a module; it returns
  /// `kept` behind what crosses.
  CutFunction build(unsigned step, llvm::StringRef name,
                    llvm::ArrayRef<mlir::Value> kept);

private:
  struct Argument {
    bool isHost = false, everywhere = false;
    int hostStep = -1;
    unsigned first = 0, last = 0;
  };

  mlir::LogicalResult assignOp(mlir::Operation *op);
  std::optional<unsigned> operandStep(mlir::Value value) const;
  /// Whether `step` gets `value` from the step before it.
  bool crosses(mlir::Value value, unsigned boundary) const;
  llvm::SmallVector<mlir::Value> crossing(unsigned boundary) const;
  mlir::Value materialise(mlir::Value value, mlir::OpBuilder &builder,
                          mlir::IRMapping &mapping) const;

  mlir::func::FuncOp function;
  unsigned steps;
  llvm::SmallVector<unsigned> callSteps;
  bool endsAtLastStep = false;
  mlir::Operation *lastCall = nullptr;
  llvm::SmallVector<Argument> arguments;
  llvm::StringMap<llvm::SmallVector<unsigned>> homes;
  llvm::DenseMap<mlir::Operation *, unsigned> stepOfOp;
  /// Every value that a step needs, floating ones too, in program order.
  llvm::DenseMap<mlir::Value, std::set<unsigned>> needs;
  llvm::SmallVector<mlir::Value> order;
};

} // namespace hocket::pipe

#endif // HOCKET_PASSES_PIPE_FLOWCUT_H
