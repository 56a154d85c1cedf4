//===- Precision.cpp - Computes in the training's precision ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/HostInputs.h"
#include "passes/xf/Passes.h"
#include "passes/xf/TrainingModule.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/DenseSet.h"

namespace hocket::xf {
#define GEN_PASS_DEF_XFPRECISION
#include "passes/xf/Passes.h.inc"
} // namespace hocket::xf

using namespace mlir;
using namespace hocket::xf;

namespace {
/// Rewrites the types of the forward functions.
class Narrowing {
public:
  Narrowing(ModuleOp module, FloatType compute)
      : module(module), symbols(module), compute(compute) {}

  void run();
  int64_t numWorking = 0;

private:
  /// Finds what stays in f32: norm weights, rotary tables, what scores get by
  /// distance, the logits and biases of routers, the heads' numbers and the
  /// states of state-space layers, and counts of labels, through views and
  /// calls.
  void findWide();
  void markWide(Value value);
  /// Has a router's linear layer read its input in f32, and its f32 weight.
  void widen(RouterOp router);

  /// Makes reads of parameters read their working copies.
  void redirectReads();
  VariableOp workingCopy(VariableOp parameter);
  void narrowCaches();
  /// The host gives pixels in f32; what reads them is narrow.
  void castPixels(func::FuncOp function);

  void convert(func::FuncOp function);
  void convertResults(Operation *op);
  bool isF32(Value value) const {
    return isa<RankedTensorType>(value.getType()) &&
           getElementTypeOrSelf(value).isF32();
  }
  void narrow(Value value) {
    if (isF32(value) && !wide.contains(value))
      value.setType(cast<RankedTensorType>(value.getType()).clone(compute));
  }

  ModuleOp module;
  SymbolTable symbols;
  FloatType compute;
  DenseSet<Value> wide;
  DenseSet<Operation *> converted;
};
} // namespace

void Narrowing::markWide(Value value) {
  if (!value || !wide.insert(value).second)
    return;
  if (Operation *op = value.getDefiningOp()) {
    if (isa<ReshapeOp, PrefixOp, CastOp>(op))
      markWide(op->getOperand(0));
    if (auto rows = dyn_cast<EmbeddingOp>(op))
      markWide(rows.getTable());
    return;
  }
  auto argument = cast<BlockArgument>(value);
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  module.walk([&](func::CallOp call) {
    if (call.getCallee() == function.getName())
      markWide(call.getOperand(argument.getArgNumber()));
  });
}

void Narrowing::widen(RouterOp router) {
  auto linear = router.getLogits().getDefiningOp<LinearOp>();
  if (!router.getWide() || !linear)
    return;
  OpBuilder builder(linear);
  auto input = builder.create<CastOp>(
      linear.getLoc(), linear.getInput().getType(), linear.getInput());
  linear.getInputMutable().assign(input);
  wide.insert(input.getResult()); // Of what it reads, nothing stays wide.
  markWide(linear.getWeight());
}

void Narrowing::findWide() {
  module.walk([&](Operation *op) {
    if (auto norm = dyn_cast<NormOp>(op)) {
      markWide(norm.getWeight());
      markWide(norm.getBias());
    } else if (auto attention = dyn_cast<AttentionOp>(op)) {
      markWide(attention.getBias());
    } else if (auto cached = dyn_cast<CachedAttentionOp>(op)) {
      markWide(cached.getBias());
    } else if (auto rope = dyn_cast<RopeOp>(op)) {
      markWide(rope.getTable());
    } else if (isa<RopeTableOp, RopeTableAtOp>(op)) {
      markWide(op->getResult(0));
    } else if (auto router = dyn_cast<RouterOp>(op)) {
      wide.insert(router.getLogits()); // A GEMM's result, not its operands.
      widen(router);
      markWide(router.getBias());
    } else if (auto scan = dyn_cast<StateScanOp>(op)) {
      for (Value numbers :
           {scan.getDecay(), scan.getStepBias(), scan.getSkip()})
        markWide(numbers);
    } else if (auto scan = dyn_cast<CachedScanOp>(op)) {
      for (Value numbers : {scan.getDecay(), scan.getStepBias(), scan.getSkip(),
                            scan.getState()})
        markWide(numbers);
      wide.insert(scan.getNewState());
    } else if (auto loss = dyn_cast<CrossEntropyOp>(op)) {
      markWide(loss.getCount());
    }
  });
}

VariableOp Narrowing::workingCopy(VariableOp parameter) {
  std::string name = (parameter.getSymName() + ".working").str();
  if (auto existing = symbols.lookup<VariableOp>(name))
    return existing;
  OpBuilder builder(parameter);
  builder.setInsertionPointAfter(parameter);
  Type type = cast<RankedTensorType>(parameter.getType()).clone(compute);
  auto copy = builder.create<VariableOp>(
      parameter.getLoc(), builder.getStringAttr(name), TypeAttr::get(type),
      VariableKindAttr::get(builder.getContext(), VariableKind::Working),
      InitAttr(), builder.getI32IntegerAttr(0), UnitAttr(),
      FlatSymbolRefAttr::get(parameter.getSymNameAttr()), StringAttr(),
      TypeAttr(), ParameterRoleAttr());
  symbols.insert(copy);
  ++numWorking;
  return copy;
}

void Narrowing::redirectReads() {
  module.walk([&](ReadOp read) {
    auto variable = symbols.lookup<VariableOp>(read.getVariable());
    if (wide.contains(read.getResult()) || !isF32(read.getResult()) ||
        variable.getKind() != VariableKind::Parameter)
      return;
    VariableOp copy = workingCopy(variable);
    read.setVariable(copy.getSymName());
    read.getResult().setType(cast<RankedTensorType>(copy.getType()));
  });
}

/// A result is narrow if the op computes with narrow operands, or with none.
void Narrowing::convertResults(Operation *op) {
  if (isa<ReadOp, CrossEntropyOp>(op))
    return;
  if (auto attention = dyn_cast<AttentionOp>(op))
    return narrow(attention.getResult());
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    if (!constant.getType().getShape().empty())
      narrow(constant.getResult());
    return;
  }
  if (auto call = dyn_cast<func::CallOp>(op)) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    convert(callee);
    for (auto [result, type] :
         llvm::zip_equal(call.getResults(), callee.getResultTypes()))
      result.setType(type);
    return;
  }
  bool narrowOperand = llvm::any_of(op->getOperands(), [&](Value operand) {
    return getElementTypeOrSelf(operand) == compute;
  });
  if (narrowOperand)
    for (Value result : op->getResults())
      narrow(result);
}

void Narrowing::convert(func::FuncOp function) {
  if (!function || function.isExternal() || !converted.insert(function).second)
    return;
  Block &body = function.front();
  for (Value argument : body.getArguments())
    narrow(argument);
  for (Operation &op : body.without_terminator())
    convertResults(&op);
  function.setFunctionType(
      FunctionType::get(module.getContext(), body.getArgumentTypes(),
                        body.getTerminator()->getOperandTypes()));
}

/// A cache keeps keys, values and inputs as they are computed, and states as
/// wide as sums are.
void Narrowing::narrowCaches() {
  module.walk([&](ReadOp read) {
    auto variable = symbols.lookup<VariableOp>(read.getVariable());
    if (variable.getKind() != VariableKind::Cache ||
        wide.contains(read.getResult()))
      return;
    auto narrow = cast<RankedTensorType>(variable.getType()).clone(compute);
    variable.setType(narrow);
    read.getResult().setType(narrow);
  });
}

void Narrowing::castPixels(func::FuncOp function) {
  BlockArgument pixels = function.isExternal()
                             ? BlockArgument()
                             : findHostInput(function, HostInput::Pixels);
  if (!pixels)
    return;
  auto builder = OpBuilder::atBlockBegin(pixels.getOwner());
  auto cast = builder.create<CastOp>(
      pixels.getLoc(),
      llvm::cast<RankedTensorType>(pixels.getType()).clone(compute), pixels);
  pixels.replaceAllUsesExcept(cast, cast);
  wide.insert(pixels);
}

void Narrowing::run() {
  for (auto function : module.getOps<func::FuncOp>())
    castPixels(function);
  findWide();
  redirectReads();
  narrowCaches();
  for (auto function : module.getOps<func::FuncOp>())
    convert(function);
}

namespace {
struct PrecisionPass : public hocket::xf::impl::XfPrecisionBase<PrecisionPass> {
  void runOnOperation() override {
    FailureOr<TrainingOp> training = findTraining(getOperation());
    if (failed(training))
      return signalPassFailure();
    FloatType compute = narrowTypeOf(*training);
    if (!compute)
      return;
    Narrowing narrowing(getOperation(), compute);
    narrowing.run();
    numWorking += narrowing.numWorking;
  }
};
} // namespace
