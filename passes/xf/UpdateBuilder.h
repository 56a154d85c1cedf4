//===- UpdateBuilder.h - Builds the optimizer's update ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The function `@update` and the variables it keeps: one optimizer state a
/// slot and parameter, `state.optimizer_step`, and with loss scaling
/// `state.loss_scale` and `state.good_steps`.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_XF_UPDATEBUILDER_H
#define HOCKET_PASSES_XF_UPDATEBUILDER_H

#include "passes/xf/TrainingModule.h"

#include "mlir/IR/Builders.h"

namespace hocket::xf {

class UpdateBuilder {
public:
  UpdateBuilder(mlir::ModuleOp module, TrainingOp training);

  /// Adds `@update`. Fails with a diagnostic if no parameter has a gradient.
  mlir::LogicalResult build();

  int64_t numUpdates = 0;

private:
  /// The scalars that every parameter's update takes.
  struct Scalars {
    mlir::Value learningRate, scale, skip, correction1, correction2;
  };

  /// A variable beside `after`, or the one of that name that is there.
  VariableOp variable(llvm::StringRef name, mlir::Type type, VariableKind kind,
                      InitAttr init, VariableOp parameter = {},
                      llvm::StringRef slot = {});
  VariableOp state(llvm::StringRef name, double initial);
  mlir::Value read(VariableOp variable);
  void write(mlir::Value value, VariableOp variable);
  void output(mlir::Value value, llvm::StringRef name);

  Scalars buildScalars(mlir::ValueRange gradients);
  void buildLossScale(mlir::Value skip);
  /// Replaces every `xf.balance` by the update of its bias.
  void buildBalance(mlir::Value skip);
  void updateParameter(VariableOp parameter, mlir::Value gradient,
                       const Scalars &scalars);
  mlir::Value buildAdamW(AdamWAttr adamw, VariableOp parameter,
                         mlir::Value gradient, const Scalars &scalars);
  mlir::Value buildSgd(SgdAttr sgd, VariableOp parameter, mlir::Value gradient,
                       const Scalars &scalars);

  mlir::ModuleOp module;
  TrainingOp training;
  mlir::SymbolTable symbols;
  mlir::OpBuilder builder;
  mlir::RankedTensorType scalar;
  mlir::Location loc;
};

/// Adds `@prepare`, which makes every working copy from its parameter; false,
/// and nothing added, if there is none.
bool buildPrepare(mlir::ModuleOp module);

} // namespace hocket::xf

#endif // HOCKET_PASSES_XF_UPDATEBUILDER_H
