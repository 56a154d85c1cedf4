//===- SetPlan.cpp - Give a module its plan -------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/IR/Plan.h"
#include "passes/xf/Passes.h"

namespace hocket::xf {
#define GEN_PASS_DEF_XFSETPLAN
#include "passes/xf/Passes.h.inc"
} // namespace hocket::xf

using namespace mlir;
using namespace hocket;

namespace {

struct SetPlan : xf::impl::XfSetPlanBase<SetPlan> {
  using XfSetPlanBase::XfSetPlanBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    StatusOr<plan::ParallelPlan> parsed = plan::parsePlan(plan);
    if (!parsed.ok()) {
      emitError(module.getLoc()) << parsed.status().message();
      return signalPassFailure();
    }
    auto attribute = plan::StepAttr::getChecked(
        [&] { return emitError(module.getLoc()); }, &getContext(), *parsed);
    if (!attribute)
      return signalPassFailure();
    module->setAttr(plan::stepAttrName, attribute);
  }
};

} // namespace
