//===- DistToPipe.cpp - Cut the step into fragments -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Replaces `xf.step` by fragments and schedules. One stage: 1F1B is a forward
// and a backward in turn.
//
//===----------------------------------------------------------------------===//

#include "base/BatchSizes.h"
#include "dialects/xf/IR/Xf.h"
#include "passes/conversion/Passes.h"

#include "mlir/Transforms/DialectConversion.h"

#include <utility>

namespace hocket {
#define GEN_PASS_DEF_CONVERTDISTTOPIPE
#include "passes/conversion/Passes.h.inc"
} // namespace hocket

using namespace mlir;
using namespace hocket;
using pipe::FragmentKind;

namespace {

/// Writes the fragments and schedules of one step.
class StepSchedule {
public:
  StepSchedule(Operation *step, OpBuilder &builder)
      : step(step), builder(builder) {}

  /// What writes, and what evaluates where nothing is trained.
  void writeServing(xf::ServeOp serve) {
    auto add = [&](FragmentKind kind, FlatSymbolRefAttr function,
                   StringRef entry) {
      if (!function)
        return;
      addFragment(kind, function);
      addSchedule(entry, 1, {action(kind, 0)});
    };
    add(FragmentKind::Evaluate, serve.getEvaluateAttr(), "eval_step");
    add(FragmentKind::Prefill, serve.getPrefillAttr(), "prefill");
    add(FragmentKind::Decode, serve.getDecodeAttr(), "decode");
    add(FragmentKind::Prepare, serve.getPrepareAttr(), "prepare");
  }

  void write(xf::StepOp step) {
    addFragment(FragmentKind::Forward, step.getForwardAttr());
    addFragment(FragmentKind::Backward, step.getBackwardAttr());
    addFragment(FragmentKind::Update, step.getUpdateAttr());
    addFragment(FragmentKind::Evaluate, step.getEvaluateAttr());
    addTrainStep(step.getMicrobatches(), step.getMicrobatches());
    for (int64_t fewer : step.getRampup())
      addTrainStep(static_cast<uint64_t>(fewer), step.getMicrobatches());
    addSchedule("eval_step", 1, {action(FragmentKind::Evaluate, 0)});
    if (auto prepare = step->getAttrOfType<FlatSymbolRefAttr>("prepare")) {
      addFragment(FragmentKind::Prepare, prepare);
      addSchedule("prepare", 1, {action(FragmentKind::Prepare, 0)});
    }
  }

private:
  /// One stage has nothing to wait for: each microbatch forward and backward.
  void addTrainStep(uint64_t microbatches, uint64_t most) {
    SmallVector<Attribute> train;
    for (int64_t m = 0; m < static_cast<int64_t>(microbatches); ++m) {
      train.push_back(action(FragmentKind::Forward, m));
      train.push_back(action(FragmentKind::Backward, m));
    }
    train.push_back(action(FragmentKind::Update, 0));
    addSchedule(trainEntryName(microbatches, most),
                static_cast<int64_t>(microbatches), train);
  }

  pipe::ActionAttr action(FragmentKind kind, int64_t microbatch) {
    return pipe::ActionAttr::get(step->getContext(), kind, /*chunk=*/0,
                                 microbatch, /*slot=*/0);
  }
  void addFragment(FragmentKind kind, FlatSymbolRefAttr function) {
    builder.create<pipe::FragmentOp>(
        step->getLoc(), pipe::FragmentKindAttr::get(step->getContext(), kind),
        function, builder.getI64IntegerAttr(0), builder.getI64IntegerAttr(0),
        builder.getI64IntegerAttr(0), UnitAttr());
  }
  void addSchedule(StringRef entry, int64_t microbatches,
                   ArrayRef<Attribute> actions) {
    builder.create<pipe::ScheduleOp>(
        step->getLoc(), builder.getStringAttr(entry),
        builder.getI64IntegerAttr(0), builder.getI64IntegerAttr(microbatches),
        builder.getI64IntegerAttr(1), builder.getArrayAttr(actions));
  }

  Operation *step;
  OpBuilder &builder; ///< Before `step`.
};

struct StepToSchedules : OpRewritePattern<xf::StepOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(xf::StepOp step,
                                PatternRewriter &rewriter) const override {
    StepSchedule(step, rewriter).write(step);
    rewriter.eraseOp(step);
    return success();
  }
};

struct ServingToSchedules : OpRewritePattern<xf::ServeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(xf::ServeOp serve,
                                PatternRewriter &rewriter) const override {
    StepSchedule(serve, rewriter).writeServing(serve);
    rewriter.eraseOp(serve);
    return success();
  }
};

struct DistToPipe : hocket::impl::ConvertDistToPipeBase<DistToPipe> {
  using ConvertDistToPipeBase::ConvertDistToPipeBase;

  void runOnOperation() override {
    ConversionTarget target(getContext());
    target.addIllegalOp<xf::StepOp, xf::ServeOp>();
    target.addLegalDialect<pipe::PipeDialect>();
    RewritePatternSet patterns(&getContext());
    patterns.add<StepToSchedules, ServingToSchedules>(&getContext());
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
