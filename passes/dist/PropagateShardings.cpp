//===- PropagateShardings.cpp - How every op is split over the mesh -------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Walks the step's functions in program order, and a called function at its
// first call. OpSharding.h decides for one op.
//
//===----------------------------------------------------------------------===//

#include "passes/dist/ExpertSharding.h"
#include "passes/dist/Passes.h"
#include "passes/dist/SplitOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace hocket::dist {
#define GEN_PASS_DEF_DISTPROPAGATESHARDINGS
#include "passes/dist/Passes.h.inc"
} // namespace hocket::dist

using namespace mlir;
using namespace hocket;
using namespace hocket::dist;

namespace {

RankedTensorType tensorOf(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

/// Drops the axes of `from` that `axes` names.
void dropAxes(Axes &from, ArrayRef<StringRef> axes) {
  llvm::erase_if(
      from, [&](StringRef axis) { return llvm::is_contained(axes, axis); });
}

class Propagation {
public:
  Propagation(ModuleOp module, MeshOp meshOp)
      : module(module), symbols(module), mesh(meshOp), splitsExperts(module) {
    if (auto type = module->getAttrOfType<TypeAttr>("dist.stream_type"))
      streamType = cast<RankedTensorType>(type.getValue());
    if (auto to = module->getAttrOfType<ShardingAttr>("dist.stream"))
      stream = Sharding::of(to);
    if (auto strategy = module->getAttrOfType<StringAttr>("dist.context"))
      context = strategy.getValue();
    for (auto state : module.getOps<xf::VariableOp>())
      if (state.getKind() == xf::VariableKind::OptimizerState)
        states.try_emplace(state.getOfAttr().getAttr(), seedOf(state));
  }

  LogicalResult run() {
    for (auto step : module.getOps<xf::StepOp>())
      if (failed(visitStep(step)))
        return failure();
    // Gradients keep what the backward pass has decided.
    for (auto variable : module.getOps<xf::VariableOp>())
      variable->setAttr("dist.sharding",
                        variableSharding(variable).toAttr(mesh.symbol()));
    return success();
  }

  int64_t conflicts = 0;

private:
  //===--------------------------------------------------------------------===//
  // Functions
  //===--------------------------------------------------------------------===//

  LogicalResult visitStep(xf::StepOp step) {
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

  /// Arguments either have a sharding already or state one.
  LogicalResult visitFunction(func::FuncOp function) {
    if (!visited.insert(function).second)
      return success();
    for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
      if (!tensorOf(argument))
        continue;
      if (auto seed =
              function.getArgAttrOfType<ShardingAttr>(i, "dist.sharding"))
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

  LogicalResult visitCall(func::CallOp call) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    bool first = !visited.contains(callee);
    SmallVector<Attribute> wants;
    for (auto [operand, argument] :
         llvm::zip(call.getOperands(), callee.getArguments())) {
      if (first && tensorOf(operand)) {
        set(argument, settled(operand), weights.contains(operand));
      }
      wants.push_back(attrOf(argument));
    }
    if (failed(visitFunction(callee)))
      return failure();
    SmallVector<Attribute> gives;
    for (auto [result, returned] :
         llvm::zip(call.getResults(),
                   callee.front().getTerminator()->getOperands())) {
      set(result, returnSharding(returned));
      gives.push_back(attrOf(result));
    }
    annotate(call, wants, gives);
    return success();
  }

  /// How a value is handed on: as it is, but the residual stream in its own
  /// sharding and scalars whole.
  Sharding settled(Value value) const {
    Sharding sharding = shardings.lookup(value);
    if (isStream(value) && !sharding.partial.empty())
      return stream;
    return sharding;
  }
  Sharding returnSharding(Value value) const {
    if (tensorOf(value).getRank() == 0)
      return Sharding::whole(0);
    return settled(value);
  }

  //===--------------------------------------------------------------------===//
  // Ops
  //===--------------------------------------------------------------------===//

  LogicalResult visit(Operation *op) {
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
          Value value = output.getValue();
          annotate(output,
                   {Sharding::whole(tensorOf(value).getRank())
                        .toAttr(mesh.symbol())},
                   {});
          return success();
        })
        .Case([&](dist::ConstrainOp constrain) {
          set(constrain.getResult(), Sharding::of(constrain.getTo()),
              weights.contains(constrain.getInput()));
          annotate(constrain, {constrain.getTo()}, {constrain.getTo()});
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

  LogicalResult visitRead(xf::ReadOp read) {
    xf::VariableOp variable = variableOf(read.getVariable());
    bool isWeight = variable.getKind() == xf::VariableKind::Parameter ||
                    variable.getKind() == xf::VariableKind::Working;
    set(read.getResult(), variableSharding(variable), isWeight);
    annotate(read, {}, {attrOf(read.getResult())});
    if (variable.getKind() != xf::VariableKind::Gradient)
      return success();
    // Sums over devices are formed once, where the update begins, in the
    // pieces that the optimizer's state is kept in.
    OpBuilder builder(read->getContext());
    builder.setInsertionPointAfter(read);
    auto whole = builder.create<dist::ConstrainOp>(
        read.getLoc(), read.getType(), read.getResult(),
        stateSharding(variable).toAttr(mesh.symbol()));
    read.getResult().replaceAllUsesExcept(whole.getResult(), whole);
    return visit(whole);
  }

  LogicalResult visitAccumulate(xf::AccumulateOp op) {
    xf::VariableOp variable = variableOf(op.getVariable());
    auto [entry, first] = gradients.try_emplace(variable);
    if (first) {
      Sharding &sharding = entry->second = shardings.lookup(op.getValue());
      // Only gradients may stay sums over devices: state is saved.
      if (variable.getKind() == xf::VariableKind::State)
        sharding.partial.clear();
      // ZeRO-2 and 3 keep gradients in the pieces of the optimizer's state.
      if (variable->hasAttr("dist.scattered")) {
        sharding.dims = stateSharding(variable).dims;
        for (const Axes &axes : sharding.dims)
          dropAxes(sharding.partial, axes);
      }
    }
    annotate(op, {entry->second.toAttr(mesh.symbol())}, {});
    return success();
  }

  /// Every gradient as it is: their dims have nothing to do with each other,
  /// and partitioning puts the norms of pieces together.
  LogicalResult visitNorm(xf::GlobalNormOp norm) {
    SmallVector<Attribute> wants;
    for (Value grad : norm.getGrads()) {
      Sharding sharding = shardings.lookup(grad);
      sharding.partial.clear();
      wants.push_back(sharding.toAttr(mesh.symbol()));
    }
    for (Value result : norm->getResults())
      set(result, Sharding::whole(0));
    annotate(norm, wants,
             {attrOf(norm.getNorm()), attrOf(norm.getNonfinite())});
    return success();
  }

  LogicalResult visitShardable(xf::ShardableOpInterface shardable) {
    Operation *op = shardable;
    xf::FactorRule rule = shardable.getFactorRule();
    if (passesSums(op))
      return visitSums(op, rule);
    if (isGrouped(op))
      return visitGrouped(op, rule);
    if (movesRows(op))
      return visitRows(op, rule);
    SmallVector<Proposal, 4> proposals = proposalsOf(op, rule);
    proposeStream(op, rule, proposals);
    OpSharding choice = chooseSharding(rule, proposals, mesh);
    if (isa<xf::CrossEntropyRowsOp>(op))
      matchPieces(rule, choice);
    if (isa<xf::AttentionOp, xf::AttentionGradientOp>(op) && !context.empty())
      return visitAttention(op, rule, std::move(choice));
    if (auto rewritten = rewrite(op, rule, choice))
      return visitAll(*rewritten);
    split(op, rule, choice);
    return success();
  }

  /// Annotates `op` by the choice that was made for it.
  void split(Operation *op, const xf::FactorRule &rule,
             const OpSharding &choice) {
    SmallVector<Attribute> wants, gives;
    for (auto [operand, factors] : llvm::zip(op->getOperands(), rule.operands))
      wants.push_back(tensorOf(operand)
                          ? Attribute(choice.of(factors).toAttr(mesh.symbol()))
                          : UnitAttr::get(op->getContext()));
    for (auto [i, factors] : llvm::enumerate(rule.results)) {
      Sharding sharding = choice.of(factors);
      if (rule.combines.empty() || rule.combines[i] == xf::Combine::Sum)
        sharding.partial = choice.partialOf(rule, factors);
      // Of the vocabulary's parts each device has its own.
      for (const Axes &axes : sharding.dims)
        dropAxes(sharding.partial, axes);
      set(op->getResult(i), sharding, isWeightValue(op));
      gives.push_back(attrOf(op->getResult(i)));
    }
    annotate(op, wants, gives);
  }

  //===--------------------------------------------------------------------===//
  // Attention over sequences that devices share
  //===--------------------------------------------------------------------===//

  /// Factor rules gather keys and values where queries are split by position.
  /// With "all_to_all" positions are whole inside and heads are split in their
  /// place (arXiv 2309.14509); with "ring" keys stay in pieces, and
  /// dist-ring-attention lets them travel. Results go back to where the
  /// queries, keys and values are.
  LogicalResult visitAttention(Operation *op, const xf::FactorRule &rule,
                               OpSharding choice) {
    bool isGradient = isa<xf::AttentionGradientOp>(op);
    Sharding queries = choice.of(rule.operands[0]);
    Sharding keys = choice.of(rule.operands[isGradient ? 2 : 1]);
    keys.dims[1] = queries.dims[1];
    if (context == "all_to_all") {
      if (failed(splitHeads(op, rule, choice)))
        return failure();
      if (!isGradient)
        keepForGradient(op, rule, choice);
    }
    split(op, rule, choice);
    if (context == "ring")
      keepKeys(op, isGradient, queries.dims[1]);
    if (failed(constrain(op->getResult(0), queries)))
      return failure();
    // Sums over the heads of a group may stay sums.
    for (unsigned i : {1, 2})
      if (isGradient) {
        keys.partial = shardings.lookup(op->getResult(i)).partial;
        dropAxes(keys.partial, queries.dims[1]);
        if (failed(constrain(op->getResult(i), keys)))
          return failure();
      }
    return success();
  }

  /// Moves the axes of positions to heads.
  LogicalResult splitHeads(Operation *op, const xf::FactorRule &rule,
                           OpSharding &choice) {
    int64_t position = rule.operands[0][1][0], group = rule.operands[0][2][0];
    Axes axes = std::move(choice.factors[position]);
    choice.factors[position].clear();
    llvm::append_range(choice.factors[group], axes);
    int64_t devices = mesh.product(choice.factors[group]);
    if (rule.factors[group].size % devices != 0)
      return op->emitError("D19: ")
             << rule.factors[group].size << " key heads cannot be dealt to "
             << devices << " devices";
    return success();
  }

  /// What the gradient needs of queries, keys and values is kept as attention
  /// wants it, so that it need not be moved again: what is kept is before
  /// reshapes, so they come after.
  void keepForGradient(Operation *op, const xf::FactorRule &rule,
                       const OpSharding &choice) {
    for (unsigned i : {0, 1, 2}) {
      Value operand = op->getOperand(i);
      Sharding want = choice.of(rule.operands[i]);
      OpBuilder builder(op);
      auto split = operand.getDefiningOp<xf::ReshapeOp>();
      if (!split || tensorOf(split.getInput()).getRank() != 3) {
        op->setOperand(i, moveForGradient(builder, operand, want));
        continue;
      }
      Sharding flat = want;
      flat.dims.pop_back(); // of a head's channels, which are whole
      Value moved = moveForGradient(builder, split.getInput(), flat);
      auto heads = builder.create<xf::ReshapeOp>(split.getLoc(),
                                                 operand.getType(), moved);
      set(heads.getResult(), want);
      annotate(heads, {flat.toAttr(mesh.symbol())},
               {want.toAttr(mesh.symbol())});
      op->setOperand(i, heads.getResult());
    }
  }

  /// `value` as `to`, which is then also what the function returns of it.
  Value moveForGradient(OpBuilder &builder, Value value, const Sharding &to) {
    auto moved = builder.create<dist::ConstrainOp>(
        value.getLoc(), value.getType(), value, to.toAttr(mesh.symbol()));
    set(moved.getResult(), to);
    annotate(moved, {moved.getTo()}, {moved.getTo()});
    Operation *end = moved->getBlock()->getTerminator();
    value.replaceUsesWithIf(moved.getResult(), [&](OpOperand &use) {
      return use.getOwner() == end;
    });
    return moved.getResult();
  }

  /// Keys, values and their gradients split by position too, as `axes` split
  /// the queries.
  void keepKeys(Operation *op, bool isGradient, const Axes &axes) {
    auto keep = [&](StringRef name, ArrayRef<unsigned> places) {
      SmallVector<Attribute> all(op->getAttrOfType<ArrayAttr>(name).getValue());
      for (unsigned i : places) {
        Sharding sharding = Sharding::of(cast<ShardingAttr>(all[i]));
        sharding.dims[1] = axes;
        dropAxes(sharding.partial, axes);
        all[i] = sharding.toAttr(mesh.symbol());
        if (name == "dist.results")
          set(op->getResult(i), sharding);
      }
      op->setAttr(name, ArrayAttr::get(op->getContext(), all));
    };
    if (!isGradient)
      return keep("dist.operands", {1, 2});
    keep("dist.operands", {2, 3});
    keep("dist.results", {1, 2});
  }

  /// Wants `value` as `to` wherever it is used.
  LogicalResult constrain(Value value, const Sharding &to) {
    if (shardings.lookup(value) == to)
      return success();
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    auto moved = builder.create<dist::ConstrainOp>(
        value.getLoc(), value.getType(), value, to.toAttr(mesh.symbol()));
    // What is kept for the gradient stays as attention gives it.
    Operation *end = moved->getBlock()->getTerminator();
    value.replaceUsesWithIf(moved.getResult(), [&](OpOperand &use) {
      return use.getOwner() != moved && use.getOwner() != end;
    });
    return visit(moved);
  }

  //===--------------------------------------------------------------------===//
  // Experts
  //===--------------------------------------------------------------------===//

  LogicalResult visitRows(Operation *op, const xf::FactorRule &rule) {
    SmallVector<Proposal, 4> proposals = proposalsOf(op, rule);
    proposeStream(op, rule, proposals);
    if (isa<xf::CombineOp>(op) && isStream(op->getResult(0)))
      proposals.push_back({&rule.results[0], stream, false});
    RowsSharding choice =
        chooseRows(op, rule, std::move(proposals), mesh, splitsExperts);
    SmallVector<Attribute> wants;
    for (const Sharding &want : choice.operands)
      wants.push_back(want.toAttr(mesh.symbol()));
    set(op->getResult(0), choice.result);
    annotate(op, wants, {attrOf(op->getResult(0))});
    return success();
  }

  /// Where devices share sequences each fills its tokens' part of every
  /// expert's rows. The sums go where the experts are, if these are split over
  /// the same axes; else every device gets some of each expert's rows. They
  /// stay there, for the gradient too.
  LogicalResult visitGrouped(Operation *op, const xf::FactorRule &rule) {
    SmallVector<Proposal, 4> proposals = proposalsOf(op, rule);
    for (auto [operand, factors] : llvm::zip(op->getOperands(), rule.operands))
      if (auto split = splitRows(shardings.lookup(operand), splitsExperts))
        proposals.push_back({&factors, *split, false});
    OpSharding choice = chooseSharding(rule, proposals, mesh, splitsExperts);
    for (auto [operand, factors] : llvm::zip(op->getOperands(), rule.operands))
      if (operand.getDefiningOp<xf::DispatchOp>() &&
          shardings.lookup(operand) != choice.of(factors))
        settleRows(operand, choice.of(factors));
    split(op, rule, choice);
    return success();
  }

  /// Moves `rows` to where experts work on them, once for all that use them.
  void settleRows(Value rows, const Sharding &to) {
    OpBuilder builder(rows.getContext());
    builder.setInsertionPointAfterValue(rows);
    auto moved = builder.create<dist::ConstrainOp>(
        rows.getLoc(), rows.getType(), rows, to.toAttr(mesh.symbol()));
    rows.replaceAllUsesExcept(moved.getResult(), moved);
    set(moved.getResult(), to);
    annotate(moved, {moved.getTo()}, {moved.getTo()});
  }

  /// A value computed from weights alone (a cast, a prefix) is one.
  bool isWeightValue(Operation *op) const {
    return isa<xf::CastOp, xf::ReshapeOp, xf::PrefixOp>(op) &&
           weights.contains(op->getOperand(0));
  }

  //===--------------------------------------------------------------------===//
  // Partial sums
  //===--------------------------------------------------------------------===//

  /// Whether the op may work on sums before they are formed: it is linear, and
  /// all its operands are sums over the same axes.
  bool passesSums(Operation *op) const {
    // Linear in the second operand; the first is numbers.
    if (isa<xf::EmbeddingGradientOp>(op))
      return !shardings.find(op->getOperand(1))->second.partial.empty() &&
             tensorOf(op->getOperand(1)).getRank() == 2;
    if (!isa<xf::AddOp, xf::ReshapeOp, xf::SumLeadingOp, xf::PadRowsOp>(op))
      return false;
    const Axes &partial = shardings.find(op->getOperand(0))->second.partial;
    return !partial.empty() && llvm::all_of(op->getOperands(), [&](Value v) {
      return shardings.lookup(v).partial == partial;
    });
  }

  LogicalResult visitSums(Operation *op, const xf::FactorRule &rule) {
    bool isGradient = isa<xf::EmbeddingGradientOp>(op);
    Axes partial = shardings.lookup(op->getOperand(isGradient ? 1 : 0)).partial;
    OpSharding choice = chooseSharding(rule, proposalsOf(op, rule), mesh);
    SmallVector<Attribute> wants;
    for (auto [i, factors] : llvm::enumerate(rule.operands)) {
      Sharding want = choice.of(factors);
      if (!isGradient || i == 1)
        want.partial = partial;
      wants.push_back(want.toAttr(mesh.symbol()));
    }
    Sharding give = choice.of(rule.results[0]);
    give.partial = partial;
    llvm::append_range(give.partial, choice.partialOf(rule, rule.results[0]));
    set(op->getResult(0), give);
    annotate(op, wants, {attrOf(op->getResult(0))});
    return success();
  }

  SmallVector<Proposal, 4> proposalsOf(Operation *op,
                                       const xf::FactorRule &rule) const {
    SmallVector<Proposal, 4> proposals;
    for (auto [operand, factors] : llvm::zip(op->getOperands(), rule.operands))
      if (tensorOf(operand))
        proposals.push_back(
            {&factors, shardings.lookup(operand), weights.contains(operand)});
    // What every device makes for the positions that it has.
    if (isa<xf::RopeTableOp, xf::PositionsOp>(op) && !context.empty()) {
      Sharding rows = Sharding::whole(tensorOf(op->getResult(0)).getRank());
      rows.dims[0] = mesh.parts("cp");
      proposals.push_back({&rule.results[0], rows, false});
    }
    // Where a result is going: into the gradient of a split weight.
    for (auto [result, factors] : llvm::zip(op->getResults(), rule.results))
      if (std::optional<Sharding> goal = goalOf(result))
        proposals.push_back({&factors, *goal, true});
    return proposals;
  }

  /// A partial sum of the stream's shape becomes the stream, last of all.
  void proposeStream(Operation *op, const xf::FactorRule &rule,
                     SmallVectorImpl<Proposal> &proposals) const {
    for (auto [operand, factors] : llvm::zip(op->getOperands(), rule.operands))
      if (isStream(operand) && !shardings.lookup(operand).partial.empty())
        proposals.push_back({&factors, stream, false});
  }

  /// The model's axes of the weight whose gradient only `value` goes into.
  std::optional<Sharding> goalOf(Value value) const {
    if (!value.hasOneUse())
      return std::nullopt;
    auto accumulate = dyn_cast<xf::AccumulateOp>(*value.getUsers().begin());
    if (!accumulate)
      return std::nullopt;
    xf::VariableOp gradient = variableOf(accumulate.getVariable());
    if (!gradient.getOf())
      return std::nullopt;
    Sharding goal = seedOf(variableOf(*gradient.getOf()));
    bool isOfExperts = isGrouped(value.getDefiningOp());
    for (Axes &axes : goal.dims)
      llvm::erase_if(axes, [&](StringRef axis) {
        return isOfExperts ? !splitsExperts(axis) : !isModelAxis(axis);
      });
    return goal;
  }

  //===--------------------------------------------------------------------===//
  // Ops that are split into others
  //===--------------------------------------------------------------------===//

  static bool isSplit(const OpSharding &choice) {
    return llvm::any_of(choice.factors,
                        [](const Axes &axes) { return !axes.empty(); });
  }

  std::optional<SmallVector<Operation *>>
  rewrite(Operation *op, const xf::FactorRule &rule, const OpSharding &choice) {
    if (auto linear = dyn_cast<xf::LinearOp>(op);
        linear && linear.getBias() &&
        !choice.partialOf(rule, rule.results[0]).empty())
      return splitBias(linear);
    if (auto loss = dyn_cast<xf::CrossEntropyOp>(op)) {
      const Axes &vocabulary =
          shardings.find(loss.getLogits())->second.dims.back();
      if (isSplit(choice) || !vocabulary.empty())
        return splitCrossEntropy(loss, mesh.product(vocabulary));
    }
    if (auto gradient = dyn_cast<xf::CrossEntropyGradientOp>(op);
        gradient && !gradient.getCount() && isSplit(choice))
      return countLabels(gradient);
    return std::nullopt;
  }

  LogicalResult visitAll(ArrayRef<Operation *> ops) {
    for (Operation *op : ops)
      if (failed(visit(op)))
        return failure();
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Values and variables
  //===--------------------------------------------------------------------===//

  bool isStream(Value value) const {
    auto type = tensorOf(value);
    return streamType && type && type.getShape() == streamType.getShape();
  }

  xf::VariableOp variableOf(StringRef name) const {
    return symbols.lookup<xf::VariableOp>(name);
  }

  Sharding seedOf(xf::VariableOp variable) const {
    if (auto seed = variable->getAttrOfType<ShardingAttr>("dist.sharding"))
      return Sharding::of(seed);
    return Sharding::whole(
        cast<RankedTensorType>(variable.getType()).getRank());
  }

  Sharding variableSharding(xf::VariableOp variable) const {
    auto found = gradients.find(variable);
    return found == gradients.end() ? seedOf(variable) : found->second;
  }

  /// How the optimizer keeps what belongs to a gradient's parameter.
  Sharding stateSharding(xf::VariableOp gradient) const {
    auto state = states.find(gradient.getOfAttr().getAttr());
    return state == states.end() ? seedOf(variableOf(*gradient.getOf()))
                                 : state->second;
  }

  void set(Value value, Sharding sharding, bool isWeight = false) {
    shardings[value] = std::move(sharding);
    if (isWeight)
      weights.insert(value);
  }

  Attribute attrOf(Value value) const {
    if (!tensorOf(value))
      return UnitAttr::get(module.getContext());
    return shardings.lookup(value).toAttr(mesh.symbol());
  }

  void annotate(Operation *op, ArrayRef<Attribute> wants,
                ArrayRef<Attribute> gives) {
    Builder builder(op->getContext());
    for (auto [operand, want] : llvm::zip(op->getOperands(), wants))
      if (tensorOf(operand) && attrOf(operand) != want)
        ++conflicts;
    if (!wants.empty())
      op->setAttr("dist.operands", builder.getArrayAttr(wants));
    if (!gives.empty())
      op->setAttr("dist.results", builder.getArrayAttr(gives));
  }

  mutable ModuleOp module; // MLIR has no const ops
  SymbolTable symbols;
  Mesh mesh;
  RankedTensorType streamType;
  Sharding stream;
  StringRef context; ///< how `cp` shares attention; empty: not at all
  ExpertAxes splitsExperts;
  DenseMap<Value, Sharding> shardings;
  DenseSet<Value> weights;
  DenseMap<Operation *, Sharding> gradients; ///< by variable
  DenseMap<StringAttr, Sharding> states;     ///< of optimizers, by parameter
  DenseSet<Operation *> visited;
};

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
