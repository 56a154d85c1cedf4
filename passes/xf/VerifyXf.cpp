//===- VerifyXf.cpp - Whether a module is complete at this level ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Checks what no single op can: X61 to X65 of docs/spec.md.
///
//===----------------------------------------------------------------------===//

#include "dialects/plan/IR/Plan.h"
#include "dialects/xf/IR/Xf.h"
#include "passes/xf/Passes.h"
#include "passes/xf/TrainingModule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hocket::xf {
#define GEN_PASS_DEF_VERIFYXF
#include "passes/xf/Passes.h.inc"
} // namespace hocket::xf

using namespace mlir;
using namespace hocket;
using namespace hocket::xf;

namespace {

/// X61: there is one training, and one step, but where nothing is trained.
LogicalResult verifyWhole(ModuleOp module) {
  auto steps = module.getOps<StepOp>();
  auto trainings = module.getOps<TrainingOp>();
  int64_t wanted = servesAlone(module) ? 0 : 1;
  if (std::distance(steps.begin(), steps.end()) == wanted &&
      llvm::hasSingleElement(trainings))
    return success();
  return emitError(module.getLoc())
         << "X61: a whole step has one `xf.training` and one `xf.step`, not "
         << std::distance(trainings.begin(), trainings.end()) << " and "
         << std::distance(steps.begin(), steps.end());
}

/// X62: functions hold calls, constants and ops of this level.
LogicalResult verifyLevel(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    for (Block &block : function.getBody())
      for (Operation &op : block)
        if (!isa<XfDialect, func::FuncDialect>(op.getDialect()) &&
            !isa<arith::ConstantOp>(op))
          return op.emitOpError("X62: cannot stand in a function here");
  return success();
}

/// X63: every parameter that is trained has one gradient.
LogicalResult verifyGradients(ModuleOp module) {
  llvm::StringMap<int> gradients;
  for (auto variable : module.getOps<VariableOp>())
    if (variable.getKind() == VariableKind::Gradient)
      ++gradients[*variable.getOf()];
  for (auto variable : module.getOps<VariableOp>())
    if (variable.getKind() == VariableKind::Parameter &&
        !variable.getFrozen() && gradients.lookup(variable.getSymName()) != 1)
      return variable.emitOpError("X63: has ")
             << gradients.lookup(variable.getSymName())
             << " gradients; a parameter has one";
  return success();
}

/// X64: what a step must do with every variable of `kind`, by which kind of op.
template <typename OpT>
LogicalResult verifyUse(ModuleOp module, VariableKind kind, StringRef what) {
  llvm::DenseSet<StringRef> used;
  module.walk([&](OpT op) { used.insert(op.getVariable()); });
  for (auto variable : module.getOps<VariableOp>())
    if (variable.getKind() == kind && !variable.getFrozen() &&
        !used.contains(variable.getSymName()))
      return variable.emitOpError("X64: no function of the step ")
             << what << " it";
  return success();
}

/// X65: a step is some number of times what all data ranks of the plan compute
/// at a time.
LogicalResult verifyBatch(ModuleOp module) {
  if (!module->hasAttr(plan::stepAttrName))
    return success();
  plan::ParallelPlan plan = plan::planOf(module);
  for (auto training : module.getOps<TrainingOp>()) {
    SmallVector<int64_t> batches{int64_t(training.getGlobalBatchSize())};
    if (training.getBatchSizes())
      for (auto row : training.getBatchSizes()->getAsRange<BatchSizeAttr>())
        batches.push_back(row.getSize());
    for (int64_t batch : batches)
      if (batch % (plan.microBatch * plan.dp) != 0)
        return training.emitOpError("X65: a step has ")
               << batch << " sequences, which the plan's " << plan.dp
               << " data ranks cannot share, " << plan.microBatch
               << " each at a time";
  }
  return success();
}

struct VerifyXf : xf::impl::VerifyXfBase<VerifyXf> {
  void runOnOperation() override {
    if (failed(verify()))
      signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  LogicalResult verify() {
    ModuleOp module = getOperation();
    if (failed(verifyWhole(module)) || failed(verifyBatch(module)) ||
        failed(verifyLevel(module)))
      return failure();
    if (servesAlone(module))
      return success();
    if (failed(verifyGradients(module)) ||
        failed(verifyUse<AccumulateOp>(module, VariableKind::Gradient,
                                       "adds to")) ||
        failed(verifyUse<WriteOp>(module, VariableKind::Parameter, "writes")))
      return failure();
    return verifyUse<WriteOp>(module, VariableKind::OptimizerState, "writes");
  }
};

} // namespace
