//===- BuildStep.cpp - Adds the update and the training step --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/xf/Passes.h"
#include "passes/xf/TrainingModule.h"
#include "passes/xf/UpdateBuilder.h"

namespace hocket::xf {
#define GEN_PASS_DEF_XFBUILDSTEP
#include "passes/xf/Passes.h.inc"
} // namespace hocket::xf

using namespace mlir;
using namespace hocket::xf;

namespace {
struct BuildStepPass : public hocket::xf::impl::XfBuildStepBase<BuildStepPass> {
  /// Who trains nothing evaluates and prepares all the same.
  void finishServing(ModuleOp module) {
    bool prepares = buildPrepare(module);
    for (auto serve : module.getOps<ServeOp>()) {
      serve.setEvaluate("evaluate");
      if (prepares)
        serve.setPrepare("prepare");
    }
    for (auto balance : llvm::make_early_inc_range(module.getOps<BalanceOp>()))
      balance.erase();
    SymbolTable symbols(module);
    symbols.erase(symbols.lookup("forward"));
    // Its layers are evaluation's too, but for those that drop.
    auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
    for (func::FuncOp function : functions)
      if (function.isPrivate() &&
          SymbolTable::symbolKnownUseEmpty(function, module))
        symbols.erase(function);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<TrainingOp> training = findTraining(module);
    if (failed(training))
      return signalPassFailure();
    if (servesAlone(module))
      return finishServing(module);
    for (StringRef name : {"forward", "backward", "evaluate"})
      if (!module.lookupSymbol<func::FuncOp>(name)) {
        module.emitError("needs a function @") << name;
        return signalPassFailure();
      }

    // 1. The update of every parameter that has a gradient.
    UpdateBuilder update(module, *training);
    if (failed(update.build()))
      return signalPassFailure();
    numUpdates += update.numUpdates;

    // 2. The first working copies.
    bool prepares = buildPrepare(module);

    // 3. The step.
    auto builder = OpBuilder::atBlockEnd(module.getBody());
    auto symbol = [&](StringRef name) {
      return FlatSymbolRefAttr::get(&getContext(), name);
    };
    int64_t microbatches = training->getMostMicrobatches();
    builder.create<StepOp>(
        module.getLoc(), builder.getI64IntegerAttr(microbatches),
        builder.getDenseI64ArrayAttr(training->getRampup()), symbol("forward"),
        symbol("backward"), symbol("update"), symbol("evaluate"),
        prepares ? symbol("prepare") : FlatSymbolRefAttr());
  }
};
} // namespace
