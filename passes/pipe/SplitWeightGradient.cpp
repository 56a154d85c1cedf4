//===- SplitWeightGradient.cpp - F, B and W ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Splits weight gradients off the backward fragments, and off the functions of
// layers that these call. BodySplit.h says what goes where.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/Xf.h"
#include "passes/pipe/BodySplit.h"
#include "passes/pipe/Passes.h"
#include "passes/pipe/PipelinePlan.h"

namespace hocket::pipe {
#define GEN_PASS_DEF_PIPESPLITWEIGHTGRADIENT
#include "passes/pipe/Passes.h.inc"
} // namespace hocket::pipe

using namespace mlir;
using namespace hocket;
using namespace hocket::pipe;

namespace {

class WeightSplitter {
public:
  explicit WeightSplitter(ModuleOp module)
      : module(module), symbols(module), builder(module) {}

  void run();
  int64_t fragments = 0;

private:
  /// Splits every function that the backward fragments call.
  void splitLayers();
  void splitLayer(func::FuncOp layer, ArrayRef<func::CallOp> calls);
  void replaceCall(func::CallOp call, func::FuncOp layer, func::FuncOp late,
                   const BodySplit &split);
  void splitFragment(FragmentOp fragment);

  func::FuncOp functionOf(FragmentOp fragment) {
    return symbols.lookup<func::FuncOp>(fragment.getFunction());
  }

  ModuleOp module;
  SymbolTable symbols;
  OpBuilder builder;
  SmallVector<FragmentOp> backward;
  LateFunctions lateFunctions;
};

} // namespace

void WeightSplitter::splitLayers() {
  llvm::MapVector<Operation *, SmallVector<func::CallOp>> calls;
  for (FragmentOp fragment : backward)
    for (auto call : functionOf(fragment).getOps<func::CallOp>())
      if (auto layer = symbols.lookup<func::FuncOp>(call.getCallee()))
        calls[layer].push_back(call);
  for (auto &[layer, sites] : calls)
    splitLayer(cast<func::FuncOp>(layer), sites);
}

void WeightSplitter::splitLayer(func::FuncOp layer,
                                ArrayRef<func::CallOp> calls) {
  SmallVector<bool> mayBeLate;
  for (unsigned i = 0; i < layer.getNumResults(); ++i)
    mayBeLate.push_back(llvm::all_of(calls, [&](func::CallOp call) {
      return isOnlyAccumulated(call.getResult(i));
    }));
  BodySplit split = splitBody(layer, mayBeLate, lateFunctions);
  if (split.late.empty())
    return;
  func::FuncOp late =
      buildLatePart(layer, split, (layer.getName() + "_weight").str());
  symbols.insert(late, std::next(Block::iterator(layer)));
  lateFunctions.insert(late.getSymNameAttr());
  for (func::CallOp call : calls)
    replaceCall(call, layer, late, split);
  keepEarlyPart(layer, split);
}

/// `layer` is still whole; `call` calls it.
void WeightSplitter::replaceCall(func::CallOp call, func::FuncOp layer,
                                 func::FuncOp late, const BodySplit &split) {
  Operation *end = layer.front().getTerminator();
  builder.setInsertionPoint(call);
  // 1. The early part returns what is not late, then what is kept.
  SmallVector<Type> types;
  SmallVector<unsigned> early, delayed;
  for (auto [i, value] : llvm::enumerate(end->getOperands()))
    (split.isLate(value) ? delayed : early).push_back(i);
  for (unsigned i : early)
    types.push_back(call.getResult(i).getType());
  for (Value value : split.kept)
    if (value.getDefiningOp())
      types.push_back(value.getType());
  auto first = builder.create<func::CallOp>(call.getLoc(), call.getCallee(),
                                            types, call.getOperands());
  // 2. The late part takes what is kept.
  SmallVector<Value> operands;
  unsigned next = early.size();
  for (Value value : split.kept) {
    auto argument = dyn_cast<BlockArgument>(value);
    operands.push_back(argument ? call.getOperand(argument.getArgNumber())
                                : first.getResult(next++));
  }
  auto second = builder.create<func::CallOp>(call.getLoc(), late, operands);
  for (auto [to, from] : llvm::enumerate(early))
    call.getResult(from).replaceAllUsesWith(first.getResult(to));
  for (auto [to, from] : llvm::enumerate(delayed))
    call.getResult(from).replaceAllUsesWith(second.getResult(to));
  call.erase();
}

void WeightSplitter::splitFragment(FragmentOp fragment) {
  func::FuncOp function = functionOf(fragment);
  SmallVector<bool> mayBeLate(function.getNumResults(), false);
  BodySplit split = splitBody(function, mayBeLate, lateFunctions);
  // What came from elsewhere is returned too, so that it is kept.
  SmallVector<Value> passed;
  std::string name = "weight_" + std::to_string(fragment.getStage());
  func::FuncOp late = buildLatePart(function, split, name);
  auto savedBefore = [&](Value value) -> SavedAttr {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument ? dyn_cast<SavedAttr>(
                          fragment.getSources()[argument.getArgNumber()])
                    : SavedAttr();
  };
  for (Value value : split.kept)
    if (isa<BlockArgument>(value) && !savedBefore(value))
      passed.push_back(value);
  unsigned nextPassed = function.getNumResults();
  unsigned nextValue = nextPassed + passed.size();
  SmallVector<Attribute> sources;
  for (Value value : split.kept) {
    SavedAttr saved = savedBefore(value);
    if (!saved)
      saved = SavedAttr::get(
          module.getContext(), FragmentKind::Backward, FragmentEnd::Result,
          isa<BlockArgument>(value) ? nextPassed++ : nextValue++);
    sources.push_back(saved);
  }
  keepEarlyPart(function, split, passed);
  SmallVector<Attribute> targets(fragment.getTargets().getValue());
  targets.resize(function.getNumResults(), builder.getUnitAttr());
  fragment.setTargetsAttr(builder.getArrayAttr(targets));
  symbols.insert(late, std::next(Block::iterator(fragment)));
  builder.setInsertionPointAfter(late);
  builder.create<FragmentOp>(
      fragment.getLoc(),
      FragmentKindAttr::get(module.getContext(), FragmentKind::Weight),
      FlatSymbolRefAttr::get(late.getSymNameAttr()),
      builder.getArrayAttr(sources), builder.getArrayAttr({}),
      fragment.getStageAttr(), fragment.getChunkAttr(), fragment.getRankAttr(),
      builder.getUnitAttr());
  ++fragments;
}

void WeightSplitter::run() {
  for (auto fragment : module.getOps<FragmentOp>())
    if (fragment.getKind() == FragmentKind::Backward && fragment.getCut())
      backward.push_back(fragment);
  splitLayers();
  for (FragmentOp fragment : backward)
    splitFragment(fragment);
}

namespace {
struct SplitWeightGradientPass
    : public hocket::pipe::impl::PipeSplitWeightGradientBase<
          SplitWeightGradientPass> {
  using PipeSplitWeightGradientBase::PipeSplitWeightGradientBase;

  void runOnOperation() override {
    FailureOr<PipelinePlan> plan = readPipelinePlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    if (!plan->isCut() || !plan->splitsWeights)
      return;
    WeightSplitter splitter(getOperation());
    splitter.run();
    numFragments += splitter.fragments;
  }
};
} // namespace
