//===- PropagateShardings.cpp - How every op is split over the mesh -------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Placement.h"
#include "passes/dist/OpStrategies.h"
#include "passes/dist/Passes.h"
#include "passes/dist/Propagation.h"

#include "dialects/xf/IR/HostInputs.h"

#include "llvm/ADT/TypeSwitch.h"

namespace hocket::dist {
#define GEN_PASS_DEF_DISTPROPAGATESHARDINGS
#include "passes/dist/Passes.h.inc"
} // namespace hocket::dist

using namespace mlir;
using namespace hocket;
using namespace hocket::dist;

Propagation::Propagation(ModuleOp module, MeshOp meshOp)
    : module(module), symbols(module), mesh(meshOp), streams(module),
      context(meshOp.getContextStrategy()), splitsExperts(meshOp),
      isSeeded(meshOp.getSplitByHand()) {
  for (auto state : module.getOps<xf::VariableOp>())
    if (state.getKind() == xf::VariableKind::OptimizerState)
      states.try_emplace(state.getOfAttr().getAttr(), seedOf(state));
}

LogicalResult Propagation::run() {
  for (auto step : module.getOps<xf::StepOp>())
    if (failed(visitStep(step)))
      return failure();
  for (auto serve : module.getOps<xf::ServeOp>())
    for (FlatSymbolRefAttr name :
         {serve.getEvaluateAttr(), serve.getEncodeAttr(),
          serve.getPrefillAttr(), serve.getDecodeAttr(),
          serve.getPrepareAttr()})
      if (name &&
          failed(visitFunction(symbols.lookup<func::FuncOp>(name.getValue()))))
        return failure();
  // Gradients keep what the backward pass has decided.
  for (auto variable : module.getOps<xf::VariableOp>()) {
    variable->setAttr("dist.sharding",
                      variableSharding(variable).toAttr(mesh.symbol()));
    if (auto first = firstReasons.find(variable); first != firstReasons.end())
      setReasons(variable, {first->second});
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

LogicalResult Propagation::visitStep(xf::StepOp step) {
  auto forward = symbols.lookup<func::FuncOp>(step.getForward());
  auto backward = symbols.lookup<func::FuncOp>(step.getBackward());
  if (failed(visitFunction(forward)))
    return failure();
  // Backward takes what forward took, then its residuals.
  Operation *result = forward.front().getTerminator();
  for (auto [i, argument] : llvm::enumerate(backward.getArguments())) {
    unsigned inputs = forward.getNumArguments();
    if (!tensorOf(argument))
      continue;
    if (i < inputs)
      set(argument, shardings.lookup(forward.getArgument(i)));
    else
      set(argument, returnSharding(result->getOperand(i - inputs + 1)));
  }
  if (failed(visitFunction(backward)))
    return failure();
  for (FlatSymbolRefAttr name :
       {step.getUpdateAttr(), step.getEvaluateAttr(), step.getPrepareAttr()})
    if (name &&
        failed(visitFunction(symbols.lookup<func::FuncOp>(name.getValue()))))
      return failure();
  return success();
}

LogicalResult Propagation::visitFunction(func::FuncOp function) {
  if (!visited.insert(function).second)
    return success();
  for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
    if (!tensorOf(argument))
      continue;
    if (auto seed = function.getArgAttrOfType<ShardingAttr>(i, "dist.sharding"))
      set(argument, Sharding::of(seed));
    else if (!shardings.contains(argument))
      set(argument, Sharding::whole(tensorOf(argument).getRank()));
    function.setArgAttr(i, "dist.sharding",
                        shardings.lookup(argument).toAttr(mesh.symbol()));
  }
  for (Operation &op : llvm::make_early_inc_range(function.front()))
    if (failed(visit(&op)))
      return failure();
  return success();
}

LogicalResult Propagation::visitCall(func::CallOp call) {
  auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
  bool first = !visited.contains(callee);
  SmallVector<Attribute> wants;
  for (auto [operand, argument] :
       llvm::zip(call.getOperands(), callee.getArguments())) {
    if (first && tensorOf(operand))
      set(argument, isSeeded ? handedOn(operand, argument) : settled(operand),
          weights.contains(operand));
    wants.push_back(attrOf(argument));
  }
  if (failed(visitFunction(callee)))
    return failure();
  SmallVector<Attribute> gives;
  for (auto [result, returned] : llvm::zip(
           call.getResults(), callee.front().getTerminator()->getOperands())) {
    set(result, returnSharding(returned));
    gives.push_back(attrOf(result));
  }
  annotate(call, wants, gives);
  return success();
}

Sharding Propagation::outputSharding(xf::OutputOp output) const {
  auto type = cast<RankedTensorType>(output.getValue().getType());
  auto function = output->getParentOfType<func::FuncOp>();
  BlockArgument labels =
      function ? xf::findHostInput(function, xf::HostInput::Labels)
               : BlockArgument();
  RankedTensorType ofLabels = labels ? tensorOf(labels) : RankedTensorType();
  if (ofLabels && type.getRank() > 0 && ofLabels.getShape() == type.getShape())
    return shardings.lookup(labels);
  if (output.getName() == "logits" || output.getName() == "hidden") {
    Sharding sharding = shardings.lookup(output.getValue());
    sharding.partial.clear();
    // The host finds positions where it has put labels. An axis that cuts these
    // cannot cut the columns, too.
    if (ofLabels && ofLabels.getShape() == type.getShape().drop_back()) {
      Sharding ofPositions = shardings.lookup(labels);
      llvm::copy(ofPositions.dims, sharding.dims.begin());
      for (const Axes &axes : ofPositions.dims)
        llvm::erase_if(sharding.dims.back(), [&](llvm::StringRef axis) {
          return llvm::is_contained(axes, axis);
        });
    }
    return sharding;
  }
  return Sharding::whole(type.getRank());
}

Sharding Propagation::settled(Value value) const {
  Sharding sharding = shardings.lookup(value);
  if (const Sharding *stream = streams.find(value);
      stream && !sharding.partial.empty())
    return *stream;
  return sharding;
}

Sharding Propagation::handedOn(Value value, BlockArgument argument) const {
  Sharding sharding = shardings.lookup(value);
  sharding.partial.clear();
  if (weights.contains(value) || argument.use_empty())
    return sharding;
  OpOperand *first = nullptr;
  for (OpOperand &use : argument.getUses())
    if (!first || use.getOwner()->isBeforeInBlock(first->getOwner()))
      first = &use;
  auto op = dyn_cast<xf::ShardableOpInterface>(first->getOwner());
  if (!op)
    return sharding;
  xf::FactorRule rule = strategyRule(op);
  if (auto chosen = chosenSplit(op))
    return chosen->of(rule.operands[first->getOperandNumber()]);
  return sharding;
}

Sharding Propagation::returnSharding(Value value) const {
  if (tensorOf(value).getRank() == 0)
    return Sharding::whole(0);
  return settled(value);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult Propagation::visit(Operation *op) {
  streams.add(op); // It may be new.
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](func::CallOp call) { return visitCall(call); })
      .Case([&](func::ReturnOp ret) {
        SmallVector<Attribute> wants;
        for (Value value : ret.getOperands())
          wants.push_back(returnSharding(value).toAttr(mesh.symbol()));
        annotate(ret, wants, {});
        return success();
      })
      .Case([&](xf::ReadOp read) { return visitRead(read); })
      .Case([&](xf::WriteOp write) {
        Sharding to = variableSharding(variableOf(write.getVariable()));
        annotate(write, {to.toAttr(mesh.symbol())}, {});
        return success();
      })
      .Case([&](xf::AccumulateOp op) { return visitAccumulate(op); })
      .Case([&](xf::OutputOp output) {
        ShardingAttr sharding = outputSharding(output).toAttr(mesh.symbol());
        annotate(output, {sharding}, {});
        // The host puts the shards together.
        if (tensorOf(output.getValue()).getRank() > 0)
          output->setAttr("dist.sharding", sharding);
        return success();
      })
      .Case([&](dist::ConstrainOp constrain) {
        set(constrain.getResult(), Sharding::of(constrain.getTo()),
            weights.contains(constrain.getInput()));
        annotate(constrain, {constrain.getTo()}, {constrain.getTo()});
        setReasons(constrain, {{ReasonAttr::of(constrain.getContext(),
                                               ReasonKind::Wanted)}});
        return success();
      })
      .Case([&](xf::GlobalNormOp norm) { return visitNorm(norm); })
      .Case([&](xf::ShardableOpInterface shardable) {
        return visitShardable(shardable);
      })
      .Default([&](Operation *other) {
        for (Value result : other->getResults())
          if (auto type = tensorOf(result))
            set(result, Sharding::whole(type.getRank()));
        SmallVector<Attribute> gives;
        for (Value result : other->getResults())
          gives.push_back(attrOf(result));
        annotate(other, {}, gives);
        return success();
      });
}

LogicalResult Propagation::visitRead(xf::ReadOp read) {
  xf::VariableOp variable = variableOf(read.getVariable());
  bool isWeight = variable.getKind() == xf::VariableKind::Parameter ||
                  variable.getKind() == xf::VariableKind::Working;
  set(read.getResult(), variableSharding(variable), isWeight);
  annotate(read, {}, {attrOf(read.getResult())});
  if (variable.getKind() != xf::VariableKind::Gradient)
    return success();
  // Sums over devices are formed once, where the update begins, in the
  // shards that the optimizer's state is kept in.
  OpBuilder builder(read->getContext());
  builder.setInsertionPointAfter(read);
  auto whole = builder.create<dist::ConstrainOp>(
      read.getLoc(), read.getType(), read.getResult(),
      stateSharding(variable).toAttr(mesh.symbol()));
  read.getResult().replaceAllUsesExcept(whole.getResult(), whole);
  return visit(whole);
}

LogicalResult Propagation::visitAccumulate(xf::AccumulateOp op) {
  xf::VariableOp variable = variableOf(op.getVariable());
  auto [entry, first] = gradients.try_emplace(variable);
  additions[variable].push_back(op);
  if (first) {
    Sharding &sharding = entry->second = shardings.lookup(op.getValue());
    // Only gradients may stay sums over devices: state is saved.
    if (variable.getKind() == xf::VariableKind::State)
      sharding.partial.clear();
    // ZeRO-2 and 3 keep gradients in the shards of the optimizer's state.
    if (Placement::of(variable).scattered) {
      sharding.dims = stateSharding(variable).dims;
      for (const Axes &axes : sharding.dims)
        dropAxes(sharding.partial, axes);
    }
    firstReasons[variable] = reasonsOfFirst(variable, op, sharding);
  }
  // What is added later may be no sum over an axis: none is then.
  Axes &sums = entry->second.partial;
  const Axes &has = shardings.find(op.getValue())->second.partial;
  auto isFormed = [&](StringRef axis) {
    return !llvm::is_contained(has, axis);
  };
  if (!first && llvm::any_of(sums, isFormed)) {
    llvm::erase_if(sums, isFormed);
    for (xf::AccumulateOp before : additions[variable])
      annotate(before, {entry->second.toAttr(mesh.symbol())}, {});
    return success();
  }
  annotate(op, {entry->second.toAttr(mesh.symbol())}, {});
  return success();
}

Reasons Propagation::reasonsOfFirst(xf::VariableOp variable,
                                    xf::AccumulateOp first,
                                    const Sharding &sharding) const {
  // What the plan or a file says of the variable holds for where it is kept.
  Reasons seeds = reasonsOf(variable, 0);
  auto isOfAll = [](ReasonAttr reason) { return !reason.getAxis(); };
  if (!llvm::any_of(seeds, isOfAll)) {
    Operation *made = first.getValue().getDefiningOp();
    Reasons given =
        made ? reasonsOf(made,
                         cast<OpResult>(first.getValue()).getResultNumber())
             : Reasons();
    bool isScattered = Placement::of(variable).scattered;
    llvm::erase_if(seeds, [&](ReasonAttr seed) {
      ReasonAttr reason = findReason(given, seed.getAxis());
      return !isScattered &&
             !(reason && reason.getKind() == ReasonKind::GradientOf);
    });
    for (const Axes &axes : sharding.dims)
      for (StringRef axis : axes)
        if (!findReason(seeds, axis))
          seeds.push_back(
              ReasonAttr::of(isScattered ? ReasonKind::ZeroGradients
                                         : ReasonKind::FirstAddition,
                             StringAttr::get(module.getContext(), axis)));
  }
  for (StringRef axis : sharding.partial)
    seeds.push_back(ReasonAttr::of(ReasonKind::SumsOfData,
                                   StringAttr::get(module.getContext(), axis)));
  return seeds;
}

LogicalResult Propagation::visitNorm(xf::GlobalNormOp norm) {
  SmallVector<Attribute> wants;
  for (Value grad : norm.getGrads()) {
    Sharding sharding = shardings.lookup(grad);
    sharding.partial.clear();
    wants.push_back(sharding.toAttr(mesh.symbol()));
  }
  for (Value result : norm->getResults())
    set(result, Sharding::whole(0));
  annotate(norm, wants, {attrOf(norm.getNorm()), attrOf(norm.getNonfinite())});
  return success();
}

//===----------------------------------------------------------------------===//
// Values and variables
//===----------------------------------------------------------------------===//

xf::VariableOp Propagation::variableOf(StringRef name) const {
  return symbols.lookup<xf::VariableOp>(name);
}

Sharding Propagation::seedOf(xf::VariableOp variable) const {
  if (auto seed = variable->getAttrOfType<ShardingAttr>("dist.sharding"))
    return Sharding::of(seed);
  return Sharding::whole(cast<RankedTensorType>(variable.getType()).getRank());
}

Sharding Propagation::variableSharding(xf::VariableOp variable) const {
  auto found = gradients.find(variable);
  return found == gradients.end() ? seedOf(variable) : found->second;
}

Sharding Propagation::stateSharding(xf::VariableOp gradient) const {
  auto state = states.find(gradient.getOfAttr().getAttr());
  return state == states.end() ? seedOf(variableOf(*gradient.getOf()))
                               : state->second;
}

void Propagation::set(Value value, Sharding sharding, bool isWeight) {
  shardings[value] = std::move(sharding);
  if (isWeight)
    weights.insert(value);
}

Attribute Propagation::attrOf(Value value) const {
  if (!tensorOf(value))
    return UnitAttr::get(module.getContext());
  return shardings.lookup(value).toAttr(mesh.symbol());
}

void Propagation::annotate(Operation *op, ArrayRef<Attribute> wants,
                           ArrayRef<Attribute> gives) {
  Builder builder(op->getContext());
  for (auto [operand, want] : llvm::zip(op->getOperands(), wants))
    if (tensorOf(operand) && attrOf(operand) != want)
      ++conflicts;
  Placement placement = Placement::of(op);
  if (!wants.empty())
    placement.operands = builder.getArrayAttr(wants);
  if (!gives.empty())
    placement.results = builder.getArrayAttr(gives);
  placement.setOn(op);
}

void Propagation::noteMoves(Operation *op, const ChoiceReasons &reasons) {
  ArrayAttr wants = Placement::of(op).operands;
  if (!wants)
    return; // It has no operands.
  SmallVector<std::optional<Reasons>> moves(op->getNumOperands());
  for (auto [i, want] : llvm::enumerate(wants)) {
    Value operand = op->getOperand(unsigned(i));
    if (auto to = dyn_cast<ShardingAttr>(want); to && to != attrOf(operand))
      moves[i] = reasons.ofMove(unsigned(i), shardings.lookup(operand),
                                Sharding::of(to), op->getContext());
  }
  setMoves(op, moves);
}

namespace {

struct PropagateShardings
    : dist::impl::DistPropagateShardingsBase<PropagateShardings> {
  void runOnOperation() override {
    auto meshes = getOperation().getOps<MeshOp>();
    // On one device nothing is split.
    if (meshes.empty() || (*meshes.begin()).getDeviceCount() == 1)
      return;
    Propagation propagation(getOperation(), *meshes.begin());
    if (failed(propagation.run()))
      return signalPassFailure();
    numConflicts += propagation.conflicts;
  }
};

} // namespace
