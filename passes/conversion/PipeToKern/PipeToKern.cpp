//===- PipeToKern.cpp - From ops of the model to kernels ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Replaces every op of the transformer dialect by what its function of
/// Lowering.h builds.
///
//===----------------------------------------------------------------------===//

#include "passes/conversion/PipeToKern/PipeToKern.h"
#include "kernels/reference/CachedAttention.h"

#include "dialects/dist/IR/Sharding.h"
#include "passes/conversion/PipeToKern/Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace hocket {
#define GEN_PASS_DEF_CONVERTPIPETOKERN
#include "passes/conversion/PipeToKern/Passes.h.inc"
} // namespace hocket

using namespace mlir;
using namespace hocket;

namespace {

/// Builds the replacement of `op`; fails where the table has no entry.
FailureOr<kern::Values> lowerOp(OpBuilder &builder, Operation *op) {
  using Result = FailureOr<kern::Values>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case<
          xf::ActivationOp, xf::ActivationGradientOp, xf::GatedOp,
          xf::GatedGradientOp, xf::RowGateOp, xf::RowGateGradientOp,
          xf::DropoutOp, xf::AddOp, xf::MultiplyOp, xf::CastOp, xf::ConstantOp,
          xf::QuantizeScaleOp, xf::QuantizeOp, xf::QuantizeBlocksOp,
          xf::DequantizeBlocksOp, xf::AmaxOp, xf::NormOp, xf::NormGradientOp,
          xf::SumLeadingOp, xf::AdamWOp, xf::SgdOp, xf::GradientScaleOp,
          xf::BiasCorrectionOp, xf::AdvanceStepOp, xf::LossScaleUpdateOp,
          xf::LinearOp, xf::LinearInputGradientOp, xf::LinearWeightGradientOp,
          xf::EmbeddingOp, xf::EmbeddingGradientOp, xf::RopeTableOp,
          xf::RopeTableAtOp, xf::PositionsOp, xf::RopeOp, xf::CachedAttentionOp,
          xf::MergeAttentionOp, xf::AttentionOp, xf::AttentionGradientOp,
          xf::CrossEntropyOp, xf::CrossEntropyGradientOp,
          xf::CrossEntropyRowsOp, xf::LogSumExpOp, xf::CountLabelsOp,
          xf::MeanLossOp, dist::AllReduceOp, dist::AllGatherOp,
          dist::ReduceScatterOp, dist::AllToAllOp, dist::ShiftOp,
          dist::ExchangeRowsOp, dist::ReturnRowsOp, dist::SliceOp,
          dist::OffsetOp, xf::GlobalNormOp, xf::PadRowsOp, xf::RouterOp,
          xf::RouterGradientOp, xf::RouterProbabilitiesOp,
          xf::RouterProbabilitiesGradientOp, xf::RouterZLossOp,
          xf::RouterZLossGradientOp, xf::ExpertCountsOp, xf::BalanceBiasOp,
          xf::ExpertOrderOp, xf::ExpertSegmentsOp, xf::DispatchOp,
          xf::CombineOp, xf::CombineWeightGradientOp, xf::GroupedLinearOp,
          xf::GroupedLinearInputGradientOp, xf::GroupedLinearWeightGradientOp,
          xf::ReshapeOp, xf::PrefixOp, xf::VariableOp, xf::ReadOp, xf::WriteOp,
          xf::AccumulateOp, xf::InputOp, xf::OutputOp, xf::TrainingOp,
          pipe::FragmentOp, pipe::AllReduceOp, pipe::AllGatherOp>(
          [&](auto typed) -> Result { return kern::lower(builder, typed); })
      .Default([](Operation *unknown) -> Result {
        return unknown->emitError("no kernel computes this op");
      });
}

/// An op's element types and pages must be ones that kernels have, and its runs
/// of positions as many as devices share sequences.
LogicalResult checkKernels(Operation *op) {
  if (auto runs = op->getAttrOfType<IntegerAttr>("position_runs");
      runs && runs.getInt() != 1)
    return op->emitError("a device has one run of positions, not ")
           << runs.getInt();
  if (auto segments = dyn_cast<xf::ExpertSegmentsOp>(op);
      segments && segments.getResult().getType().getDimSize(0) != 1)
    return op->emitError("a device has one run of rows, not ")
           << segments.getResult().getType().getDimSize(0);
  if (auto attention = dyn_cast<xf::CachedAttentionOp>(op)) {
    auto keys = cast<RankedTensorType>(attention.getKeys().getType());
    if (keys.getDimSize(1) != kernels::kCachePage)
      return op->emitError("a page of the kernels has ")
             << kernels::kCachePage << " positions, not " << keys.getDimSize(1);
  }
  for (Type type : op->getResultTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (tensor && tensor.getElementType().isF64())
      return op->emitError("f64 is for the reference evaluation only; "
                           "kernels compute in f32, bf16 or f16");
  }
  return success();
}

struct ConvertPipeToKern
    : hocket::impl::ConvertPipeToKernBase<ConvertPipeToKern> {
  /// `kern.mesh` of the module, and `kern.axes` of arguments in shards: by dim
  /// the axes that split them. `kern.part` of the module: the rows of the parts
  /// that their last dim is stored in (`part` of xf.attention).
  void describeDevices() {
    Builder builder(&getContext());
    for (auto mesh : getOperation().getOps<dist::MeshOp>())
      getOperation()->setAttr(
          "kern.mesh",
          builder.getDictionaryAttr(
              {builder.getNamedAttr("axes", mesh.getAxesAttr()),
               builder.getNamedAttr("sizes", mesh.getSizesAttr())}));
    getOperation()->removeAttr("dist.rounds"); // A rank's own rows say it.
    if (Attribute part = getOperation()->removeAttr("dist.part"))
      getOperation()->setAttr("kern.part", part);
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (unsigned i = 0; i < function.getNumArguments(); ++i) {
        auto sharding =
            function.getArgAttrOfType<dist::ShardingAttr>(i, "dist.sharding");
        if (sharding && !dist::Sharding::of(sharding).isWhole())
          function.setArgAttr(i, "kern.axes", sharding.getDims());
        function.removeArgAttr(i, "dist.sharding");
      }
  }

  void runOnOperation() override {
    OpBuilder builder(&getContext());
    // 1. Schedules, while the fragments that they name are there.
    for (auto schedule : llvm::make_early_inc_range(
             getOperation().getOps<pipe::ScheduleOp>())) {
      builder.setInsertionPoint(schedule);
      if (failed(kern::lowerSchedule(builder, schedule)))
        return signalPassFailure();
      schedule.erase();
    }
    // 2. What later levels need to know of devices, without their dialect.
    describeDevices();
    // 3. All else in program order, so that operands are already converted and
    // the first contribution to a gradient is met first.
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa_and_present<xf::XfDialect, pipe::PipeDialect, dist::DistDialect>(
              op->getDialect()) &&
          !isa<dist::MeshOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      builder.setInsertionPoint(op);
      if (failed(checkKernels(op)))
        return signalPassFailure();
      FailureOr<kern::Values> values = lowerOp(builder, op);
      if (failed(values))
        return signalPassFailure();
      op->replaceAllUsesWith(*values);
      op->erase();
      ++converted;
    }
  }
};

} // namespace
