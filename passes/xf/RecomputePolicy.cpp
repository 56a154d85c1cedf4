//===- RecomputePolicy.cpp - What backward computes again -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/xf/RecomputePolicy.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::xf;
using plan::Recompute;
using plan::RecomputeModule;
using plan::RecomputeModules;

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

/// The GEMM that made `value`, through what only changes its form.
static Operation *gemmOf(Value value) {
  Operation *op = value.getDefiningOp();
  while (isa_and_nonnull<CastOp, ReshapeOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return isa_and_nonnull<LinearOp, GroupedLinearOp>(op) ? op : nullptr;
}

/// The activation that reads `gemm`'s result; null where none does.
static Operation *activationOf(Operation *gemm) {
  for (Operation *user : gemm->getUsers()) {
    if (isa<ActivationOp, GatedOp>(user))
      return user;
    if (isa<CastOp, ReshapeOp>(user))
      if (Operation *found = activationOf(user))
        return found;
  }
  return nullptr;
}

/// The MLP that an activation, or the GEMM before it, belongs to. A layer that
/// has a router's experts too has its dense MLP for the shared ones.
static RecomputeModule mlpOf(Operation *gemm) {
  if (isa<GroupedLinearOp>(gemm))
    return RecomputeModule::Moe;
  Block *block = gemm->getBlock();
  return block->getOps<GroupedLinearOp>().empty()
             ? RecomputeModule::Mlp
             : RecomputeModule::SharedExperts;
}

static RecomputeModules modulesOfActivation(Operation *activation) {
  RecomputeModules modules = {RecomputeModule::Activation};
  Operation *gemm = gemmOf(activation->getOperand(0));
  if (!gemm)
    return modules;
  RecomputeModule mlp = mlpOf(gemm);
  modules.add(mlp);
  if (mlp == RecomputeModule::Moe)
    modules.add(RecomputeModule::MoeActivation);
  return modules;
}

RecomputeModules hocket::xf::modulesOf(Operation *op) {
  if (isa<NormOp>(op))
    return {RecomputeModule::LayerNorm};
  if (isa<AttentionOp, StateScanOp>(op))
    return {RecomputeModule::CoreAttention};
  if (isa<ActivationOp, GatedOp>(op))
    return modulesOfActivation(op);
  // Codes are of what has been made; where that is made again, so are they.
  if (auto quantize = dyn_cast<QuantizeBlocksOp>(op)) {
    Operation *maker = quantize.getInput().getDefiningOp();
    while (isa_and_nonnull<CastOp, ReshapeOp>(maker))
      maker = maker->getOperand(0).getDefiningOp();
    return maker ? modulesOf(maker) : RecomputeModules{};
  }
  if (isa<LinearOp, GroupedLinearOp>(op))
    return activationOf(op) ? RecomputeModules{mlpOf(op)} : RecomputeModules{};
  // A largest magnitude is one number, and may take devices to tell; rows that
  // were exchanged have taken them.
  if (isa<AmaxOp, RouterOp, SinkhornOp, ExpertOrderOp, ExpertSegmentsOp,
          ExchangeRowsOp, ReturnRowsOp, EmbeddingOp, SoftcapOp, CrossEntropyOp,
          CrossEntropyGradientOp, RopeTableOp, RelativeBucketsOp, func::CallOp>(
          op))
    return {};
  return {RecomputeModule::Pointwise};
}

//===----------------------------------------------------------------------===//
// The policy
//===----------------------------------------------------------------------===//

RecomputePolicy RecomputePolicy::of(const plan::ParallelPlan &plan) {
  bool byStage = plan.recomputeBlock || plan.recomputeLayers != 1;
  RecomputePolicy policy{plan.recompute, plan.modulesAgain(/*compiled=*/true),
                         plan.ep > 1};
  if (policy.recompute == Recompute::Auto ||
      (policy.recompute == Recompute::Full && byStage))
    policy.recompute = Recompute::None;
  return policy;
}

bool RecomputePolicy::computesAgain(Operation *op) const {
  switch (recompute) {
  case Recompute::None:
  case Recompute::Auto:
    return false;
  case Recompute::Selective:
    return modulesOf(op).intersects(modules);
  case Recompute::Full:
    return true;
  }
  llvm_unreachable("an enum has one of its values");
}
