//===- Autodiff.cpp - Builds the backward pass ----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/IR/Plan.h"
#include "passes/xf/Differentiator.h"
#include "passes/xf/Passes.h"

namespace hocket::xf {
#define GEN_PASS_DEF_XFAUTODIFF
#include "passes/xf/Passes.h.inc"
} // namespace hocket::xf

using namespace mlir;
using namespace hocket::xf;

/// The variable that holds the scale of the loss, which the backward pass
/// starts from.
static StringRef addLossScale(ModuleOp module, LossScaleAttr policy) {
  constexpr StringLiteral name = "state.loss_scale";
  if (module.lookupSymbol(name))
    return name;
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  builder.create<VariableOp>(
      module.getLoc(), builder.getStringAttr(name),
      TypeAttr::get(RankedTensorType::get({}, builder.getF32Type())),
      VariableKindAttr::get(module.getContext(), VariableKind::State),
      InitAttr::get(module.getContext(), "constant", policy.getInitial()),
      builder.getI32IntegerAttr(0), UnitAttr(), FlatSymbolRefAttr(),
      StringAttr(), TypeAttr(), ParameterRoleAttr());
  return name;
}

namespace {
struct AutodiffPass : public hocket::xf::impl::XfAutodiffBase<AutodiffPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<TrainingOp> training = findTraining(module);
    FailureOr<func::FuncOp> forward = findForward(module);
    if (failed(training) || failed(forward))
      return signalPassFailure();
    if (servesAlone(module))
      return;
    if (module.lookupSymbol("backward")) {
      forward->emitOpError("has a @backward already");
      return signalPassFailure();
    }

    // 1. The host sees the loss of every microbatch.
    outputLoss(*forward);

    // 2. The gradient of the loss: 1, or the loss scale.
    StringRef seed;
    if (training->getLossScale())
      seed = addLossScale(module, *training->getLossScale());

    // 3. Both halves of every function.
    Differentiator differentiator(
        module, RecomputePolicy::of(hocket::plan::planOf(module)));
    if (failed(differentiator.differentiateStep(*forward, seed)))
      return signalPassFailure();
    numFunctions += differentiator.numFunctions;
    numResiduals += differentiator.numResiduals;
    numRecomputed += differentiator.numRecomputed;
  }
};
} // namespace
