//===- TrainingModule.h - The fixed names of a training module --*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What passes look up in a module of the dialect.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_XF_TRAININGMODULE_H
#define HOCKET_PASSES_XF_TRAININGMODULE_H

#include "dialects/xf/IR/Xf.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace hocket::xf {

/// The module's only `xf.training`, or a diagnostic.
mlir::FailureOr<TrainingOp> findTraining(mlir::ModuleOp module);

/// The float type that layers compute in; null where that is f32.
mlir::FloatType narrowTypeOf(TrainingOp training);

/// `@forward`, a function with a body that takes tokens and labels and returns
/// the loss, or a diagnostic.
mlir::FailureOr<mlir::func::FuncOp> findForward(mlir::ModuleOp module);

/// Whether the module has an `xf.serve` that is alone: it trains nothing.
bool servesAlone(mlir::ModuleOp module);

/// Makes `function` give its first result to the host as `loss`, if it does
/// not yet.
void outputLoss(mlir::func::FuncOp function);

/// Gives `function` the type of its entry block, whose last arguments may be
/// new; what attributes say of the others stays.
void growArguments(mlir::func::FuncOp function);

/// The parameter that a working copy or a gradient is of; else the variable.
VariableOp parameterOf(VariableOp variable, const mlir::SymbolTable &symbols);

} // namespace hocket::xf

#endif // HOCKET_PASSES_XF_TRAININGMODULE_H
