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
#include "kernels/reference/StateSpace.h"

#include "passes/conversion/PipeToKern/Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Rewrite/PatternApplicator.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/ADT/TypeSwitch.h"

#include <string>
#include <utility>

namespace hocket {
#define GEN_PASS_DEF_CONVERTPIPETOKERN
#include "passes/conversion/PipeToKern/Passes.h.inc"
} // namespace hocket

using namespace mlir;
using namespace hocket;

namespace {

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

/// Empty if kernels have heads and states of these sizes.
template <typename OpT> std::string reasonAgainstScan(OpT scan) {
  int64_t width = scan.getInput().getType().getDimSize(3);
  int64_t state = scan.getInMap().getType().getDimSize(3);
  if (width <= kernels::kMostHeadDim && state <= kernels::kMostState)
    return {};
  return "kernels take heads of at most " +
         std::to_string(kernels::kMostHeadDim) + " and states of at most " +
         std::to_string(kernels::kMostState) + " numbers, not " +
         std::to_string(width) + " and " + std::to_string(state);
}

/// Empty if kernels reach over as many tokens.
template <typename OpT> std::string reasonAgainstConv(OpT conv) {
  int64_t taps = conv.getWeight().getType().getDimSize(1);
  if (taps <= kernels::kMostTaps)
    return {};
  return "kernels reach over at most " + std::to_string(kernels::kMostTaps) +
         " tokens, not " + std::to_string(taps);
}

/// Why no kernel computes the state-space op `op`; empty if one may.
std::string reasonAgainstStates(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case<xf::StateScanOp, xf::CachedScanOp>(
          [](auto scan) { return reasonAgainstScan(scan); })
      .Case<xf::CausalConvOp, xf::CachedConvOp>(
          [](auto conv) { return reasonAgainstConv(conv); })
      .Default([](Operation *) { return std::string(); });
}

/// Why no kernel computes `op`, a part of whose types or sizes kernels do not
/// have; empty if one may. Runs of positions and of rows are as many as devices
/// share sequences, and a device has its own.
std::string reasonAgainst(Operation *op) {
  auto runs = op->getAttrOfType<IntegerAttr>("position_runs");
  if (runs && runs.getInt() != 1)
    return "a device has one run of positions, not " +
           std::to_string(runs.getInt());
  if (auto segments = dyn_cast<xf::ExpertSegmentsOp>(op)) {
    int64_t rows = segments.getResult().getType().getDimSize(0);
    if (rows != 1)
      return "a device has one run of rows, not " + std::to_string(rows);
  }
  if (auto attention = dyn_cast<xf::CachedAttentionOp>(op)) {
    auto keys = cast<RankedTensorType>(attention.getKeys().getType());
    if (keys.getDimSize(1) != kernels::kCachePage)
      return "a page of the kernels has " +
             std::to_string(kernels::kCachePage) + " positions, not " +
             std::to_string(keys.getDimSize(1));
  }
  if (std::string reason = reasonAgainstStates(op); !reason.empty())
    return reason;
  for (Type type : op->getResultTypes())
    if (getElementTypeOrSelf(type).isF64())
      return "f64 is for the reference evaluation only; kernels compute in "
             "f32, bf16 or f16";
  return {};
}

/// Replaces an op by what its function of Lowering.h builds.
template <typename Op> struct LowerOp : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (std::string reason = reasonAgainst(op); !reason.empty())
      return rewriter.notifyMatchFailure(op, reason);
    rewriter.replaceOp(op, kern::lower(rewriter, op));
    return success();
  }
};

/// Replaces an op that may be impossible to lower.
template <typename Op, LogicalResult (*Lower)(RewriterBase &, Op)>
struct TryToLower : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (failed(Lower(rewriter, op)))
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
};

template <typename... Ops> void addLowerings(RewritePatternSet &patterns) {
  patterns.add<LowerOp<Ops>...>(patterns.getContext());
}

FrozenRewritePatternSet lowerings(MLIRContext *context) {
  RewritePatternSet patterns(context);
  patterns.add<TryToLower<pipe::FragmentOp, kern::lowerFragment>,
               TryToLower<pipe::ScheduleOp, kern::lowerSchedule>>(context);
  addLowerings<
      xf::ActivationOp, xf::ActivationGradientOp, xf::SoftcapOp,
      xf::SoftcapGradientOp, xf::GatedOp, xf::GatedGradientOp, xf::RowGateOp,
      xf::RowGateGradientOp, xf::DropoutOp, xf::AddOp, xf::MultiplyOp,
      xf::CastOp, xf::ConstantOp, xf::QuantizeScaleOp, xf::QuantizeOp,
      xf::QuantizeBlocksOp, xf::DequantizeBlocksOp, xf::AmaxOp, xf::NormOp,
      xf::NormGradientOp, xf::SumLeadingOp, xf::AdamWOp, xf::SgdOp,
      xf::GradientScaleOp, xf::BiasCorrectionOp, xf::AdvanceStepOp,
      xf::LossScaleUpdateOp, xf::LinearOp, xf::LinearInputGradientOp,
      xf::LinearWeightGradientOp, xf::EmbeddingOp, xf::EmbeddingGradientOp,
      xf::RopeTableOp, xf::RopeTableAtOp, xf::PositionsOp,
      xf::RelativeBucketsOp, xf::RopeOp, xf::CachedAttentionOp,
      xf::MergeAttentionOp, xf::AttentionOp, xf::AttentionGradientOp,
      xf::CrossEntropyOp, xf::CrossEntropyGradientOp, xf::CrossEntropyRowsOp,
      xf::LogSumExpOp, xf::CountLabelsOp, xf::MeanLossOp, dist::AllReduceOp,
      dist::AllGatherOp, dist::ReduceScatterOp, dist::AllToAllOp, dist::ShiftOp,
      dist::ExchangeRowsOp, dist::ReturnRowsOp, dist::SliceOp, dist::OffsetOp,
      xf::GlobalNormOp, xf::PadRowsOp, xf::GatherChoicesOp,
      xf::GatherChoicesGradientOp, xf::SplitChunksOp, xf::JoinChunksOp,
      xf::JoinHeadsOp, xf::PartHeadsOp, xf::SumHeadsOp, xf::PlaceRowsOp,
      xf::PlaceRowsGradientOp, xf::PlacedRowsGradientOp, xf::RouterOp,
      xf::SinkhornOp, xf::RouterGradientOp, xf::RouterProbabilitiesOp,
      xf::RouterProbabilitiesGradientOp, xf::RouterZLossOp,
      xf::RouterZLossGradientOp, xf::ExpertCountsOp, xf::BalanceBiasOp,
      xf::ExpertOrderOp, xf::ExpertSegmentsOp, xf::DispatchOp, xf::CombineOp,
      xf::CombineWeightGradientOp, xf::GroupedLinearOp,
      xf::GroupedLinearInputGradientOp, xf::GroupedLinearWeightGradientOp,
      xf::CausalConvOp, xf::CausalConvGradientOp, xf::StateScanOp,
      xf::StateScanGradientOp, xf::CachedConvOp, xf::CachedScanOp,
      xf::ReshapeOp, xf::PrefixOp, xf::VariableOp, xf::ReadOp, xf::WriteOp,
      xf::AccumulateOp, xf::InputOp, xf::OutputOp, xf::TrainingOp,
      pipe::AllReduceOp, pipe::AllGatherOp, pipe::SliceRowsOp,
      pipe::InsertRowsOp>(patterns);
  return std::move(patterns);
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// Keeps why the last pattern did not match.
struct LastReason : RewriterBase::Listener {
  void notifyMatchFailure(Location loc,
                          function_ref<void(Diagnostic &)> reasonOf) override {
    Diagnostic diagnostic(loc, DiagnosticSeverity::Remark);
    reasonOf(diagnostic);
    text = diagnostic.str();
  }

  std::string text;
};

struct ConvertPipeToKern
    : hocket::impl::ConvertPipeToKernBase<ConvertPipeToKern> {
  /// A mesh whose axes only name devices. In how many rounds parts are dealt
  /// out follows from a rank's own rows.
  void replaceMesh() {
    for (auto mesh :
         llvm::make_early_inc_range(getOperation().getOps<dist::MeshOp>())) {
      OpBuilder builder(mesh);
      builder.create<step::MeshOp>(
          mesh.getLoc(), mesh.getAxesAttr(), mesh.getSizesAttr(),
          mesh.getPartsAttr(), mesh.getChosenAttr(), mesh.getExplanationAttr());
      mesh.erase();
    }
  }

  /// What the pass must replace.
  static ConversionTarget targetOf(MLIRContext &context) {
    ConversionTarget target(context);
    target.addIllegalDialect<xf::XfDialect, pipe::PipeDialect,
                             dist::DistDialect>();
    target.addLegalOp<dist::MeshOp>();
    return target;
  }

  void runOnOperation() override {
    // 1. Schedules, while the fragments that they name are there, and all else
    // in program order, so that operands are already converted and the first
    // contribution to a gradient is met first.
    ConversionTarget target = targetOf(getContext());
    SmallVector<Operation *> ops, others;
    getOperation().walk([&](Operation *op) {
      if (target.isIllegal(op))
        (isa<pipe::ScheduleOp>(op) ? ops : others).push_back(op);
    });
    llvm::append_range(ops, others);
    // 2. One pattern each. A pattern driver would visit ops in another order.
    FrozenRewritePatternSet patterns = lowerings(&getContext());
    PatternApplicator applicator(patterns);
    applicator.applyDefaultCostModel();
    LastReason reason;
    PatternRewriter rewriter(&getContext());
    rewriter.setListener(&reason);
    for (Operation *op : ops) {
      reason.text = "no kernel computes this op";
      rewriter.setInsertionPoint(op);
      if (failed(applicator.matchAndRewrite(op, rewriter))) {
        op->emitError(reason.text);
        return signalPassFailure();
      }
      ++converted;
    }
    // 3. The mesh, which collectives were lowered over.
    replaceMesh();
  }
};

} // namespace
