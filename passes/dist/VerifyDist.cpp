//===- VerifyDist.cpp - Whether a module is complete at this level --------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Checks what no single op can: D20 and D22 to D24 of docs/spec.md.
///
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Sharding.h"
#include "dialects/plan/IR/Plan.h"
#include "dialects/xf/IR/Xf.h"
#include "passes/dist/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hocket::dist {
#define GEN_PASS_DEF_VERIFYDIST
#include "passes/dist/Passes.h.inc"
} // namespace hocket::dist

using namespace mlir;
using namespace hocket;
using namespace hocket::dist;

namespace {

/// D20: there is one mesh, which has the axes of the module's plan.
FailureOr<MeshOp> verifyMesh(ModuleOp module) {
  auto meshes = module.getOps<MeshOp>();
  if (!llvm::hasSingleElement(meshes))
    return emitError(module.getLoc())
           << "D20: tensors are placed on one `dist.mesh`, not on "
           << std::distance(meshes.begin(), meshes.end());
  MeshOp op = *meshes.begin();
  Mesh mesh(op);
  plan::ParallelPlan plan = plan::planOf(module);
  bool agrees = op.getDeviceCount() == plan.ranks();
  for (auto [axis, size] : plan::meshAxes(plan))
    agrees &= mesh.product(mesh.parts(axis)) == size;
  if (agrees)
    return op;
  return op.emitOpError("D20: is not the mesh of the module's plan, ")
         << plan::printAxes(plan);
}

/// D22: every variable is what one device holds of it.
LogicalResult verifyVariables(ModuleOp module, const Mesh &mesh) {
  for (auto variable : module.getOps<xf::VariableOp>()) {
    auto attribute = variable->getAttrOfType<ShardingAttr>("dist.sharding");
    if (!attribute)
      return variable.emitOpError("D22: has no sharding");
    RankedTensorType local =
        mesh.localType(variable.getWholeType(), Sharding::of(attribute));
    if (local != variable.getType())
      return variable.emitOpError("D22: is ")
             << variable.getType() << ", but its sharding leaves " << local
             << " on a device";
  }
  return success();
}

/// D23: nothing is left that partitioning takes away, and functions hold
/// calls, constants and ops of these two levels.
LogicalResult verifyLevel(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    for (Block &block : function.getBody())
      for (Operation &op : block)
        if (isa<ConstrainOp>(op) ||
            (!isa<xf::XfDialect, DistDialect, func::FuncDialect>(
                 op.getDialect()) &&
             !isa<arith::ConstantOp>(op)))
          return op.emitOpError("D23: cannot stand in a function here");
  return success();
}

/// D24: what crosses between stages is for the next level.
LogicalResult verifyAxes(ModuleOp module) {
  WalkResult walk = module.walk([](Operation *op) {
    auto axes = isa<DistDialect>(op->getDialect())
                    ? op->getAttrOfType<ArrayAttr>("axes")
                    : ArrayAttr();
    if (!axes || isa<MeshOp>(op) ||
        !llvm::any_of(axes.getAsValueRange<StringAttr>(), [](StringRef axis) {
          return axisKind(axis) == AxisKind::Pipeline;
        }))
      return WalkResult::advance();
    op->emitOpError("D24: is over the axis of the pipeline, whose ranks run "
                    "other programs");
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

/// D27: a microbatch is what all data ranks of the plan compute at a time.
LogicalResult verifyBatch(ModuleOp module) {
  if (!module->hasAttr(plan::stepAttrName))
    return success();
  plan::ParallelPlan plan = plan::planOf(module);
  for (auto training : module.getOps<xf::TrainingOp>())
    if (int64_t(training.getMicroBatchSize()) != plan.microBatch * plan.dp)
      return training.emitOpError("D27: a microbatch has ")
             << training.getMicroBatchSize() << " sequences, but the plan's "
             << plan.dp << " data ranks compute " << plan.microBatch << " each";
  return success();
}

struct VerifyDist : dist::impl::VerifyDistBase<VerifyDist> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<MeshOp> mesh = verifyMesh(module);
    if (failed(mesh) || failed(verifyVariables(module, Mesh(*mesh))) ||
        failed(verifyLevel(module)) || failed(verifyAxes(module)) ||
        failed(verifyBatch(module)))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
