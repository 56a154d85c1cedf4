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
#include "dialects/dist/IR/Sharding.h"
#include "dialects/xf/IR/HostInputs.h"
#include "dialects/xf/IR/Xf.h"
#include "passes/conversion/Passes.h"

#include "mlir/Transforms/DialectConversion.h"

#include <optional>
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
    add(FragmentKind::Encode, serve.getEncodeAttr(), "encode");
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

  /// What the host gives as argument `i`, and how devices hold it.
  Attribute hostSource(func::FuncOp function, unsigned i) {
    std::optional<xf::HostInput> input = xf::hostInputOf(function, i);
    ArrayAttr axes;
    if (auto sharding =
            function.getArgAttrOfType<dist::ShardingAttr>(i, "dist.sharding"))
      if (!dist::Sharding::of(sharding).isWhole())
        axes = sharding.getDims();
    return step::HostAttr::get(
        builder.getContext(),
        builder.getStringAttr(xf::stringifyHostInput(*input)), axes);
  }

  /// Of backward, whose arguments are those of forward, which are `inputs`, and
  /// then its results behind the loss.
  Attribute savedSource(unsigned inputs, unsigned i) {
    bool isInput = i < inputs;
    return step::SavedAttr::get(builder.getContext(), FragmentKind::Forward,
                                isInput ? step::FragmentEnd::Argument
                                        : step::FragmentEnd::Result,
                                isInput ? i : i - inputs + 1);
  }

  void addFragment(FragmentKind kind, FlatSymbolRefAttr name) {
    auto function =
        SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(step, name);
    SmallVector<Attribute> sources,
        targets(function.getNumResults(), builder.getUnitAttr());
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      sources.push_back(kind == FragmentKind::Backward
                            ? savedSource(forwardInputs, i)
                            : hostSource(function, i));
    if (kind == FragmentKind::Forward)
      forwardInputs = function.getNumArguments();
    builder.create<pipe::FragmentOp>(
        step->getLoc(), pipe::FragmentKindAttr::get(step->getContext(), kind),
        name, builder.getArrayAttr(sources), builder.getArrayAttr(targets),
        builder.getI64IntegerAttr(0), builder.getI64IntegerAttr(0),
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
  OpBuilder &builder;         ///< Before `step`.
  unsigned forwardInputs = 0; ///< Once there is the forward fragment.
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

  /// Whether all that entries of text generation take is known; what a step
  /// takes has been checked with it (X48).
  LogicalResult checkServing(xf::ServeOp serve) {
    for (FlatSymbolRefAttr name :
         {serve.getEvaluateAttr(), serve.getEncodeAttr(),
          serve.getPrefillAttr(), serve.getDecodeAttr()}) {
      if (!name)
        continue;
      auto function =
          SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(serve, name);
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        if (!xf::hostInputOf(function, i))
          return function.emitOpError("P14: takes argument ")
                 << i << ", of which `xf.host` does not say what it is";
    }
    return success();
  }

  /// Fragments say from here on what functions are given.
  void dropArgumentAttrs() {
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (unsigned i = 0; i < function.getNumArguments(); ++i) {
        function.removeArgAttr(i, xf::kHostInputAttr);
        function.removeArgAttr(i, "dist.sharding");
      }
  }

  void runOnOperation() override {
    for (auto serve : getOperation().getOps<xf::ServeOp>())
      if (failed(checkServing(serve)))
        return signalPassFailure();
    ConversionTarget target(getContext());
    target.addIllegalOp<xf::StepOp, xf::ServeOp>();
    target.addLegalDialect<pipe::PipeDialect>();
    RewritePatternSet patterns(&getContext());
    patterns.add<StepToSchedules, ServingToSchedules>(&getContext());
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      return signalPassFailure();
    dropArgumentAttrs();
  }
};

} // namespace
