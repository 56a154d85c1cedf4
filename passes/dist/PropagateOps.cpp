//===- PropagateOps.cpp - How ops are split by their rules ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Placement.h"
#include "passes/dist/OpStrategies.h"
#include "passes/dist/Propagation.h"
#include "passes/dist/SplitOps.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::dist;

LogicalResult Propagation::visitShardable(xf::ShardableOpInterface shardable) {
  Operation *op = shardable;
  if (exchangesRows(op))
    return visitExchange(op);
  xf::FactorRule rule = shardable.getFactorRule();
  if (auto chosen = chosenSplit(op))
    return visitChosen(shardable, *chosen);
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
    matchShards(rule, choice);
  if (isa<xf::AttentionOp, xf::AttentionGradientOp>(op) && context)
    return visitAttention(op, rule, std::move(choice));
  if (isa<xf::CausalConvOp, xf::CausalConvGradientOp, xf::StateScanOp,
          xf::StateScanGradientOp>(op) &&
      context)
    return visitStateSpace(op, rule, std::move(choice));
  if (isa<xf::JoinChunksOp>(op) && context)
    return visitJoin(op, rule, choice);
  if (auto rewritten = rewrite(op, rule, choice))
    return visitAll(*rewritten);
  split(op, rule, choice);
  return success();
}

//===----------------------------------------------------------------------===//
// Chosen ops
//===----------------------------------------------------------------------===//

std::optional<OpSharding> Propagation::chosenSplit(Operation *op) {
  ArrayAttr factors = Placement::of(op).split;
  if (!factors)
    return std::nullopt;
  OpSharding chosen;
  for (auto axes : factors.getAsRange<ArrayAttr>())
    chosen.factors.push_back(Axes(axes.getAsValueRange<StringAttr>()));
  return chosen;
}

ReasonAttr Propagation::chosenReason(Operation *op) {
  MLIRContext *context = op->getContext();
  Placement placement = Placement::of(op);
  if (placement.line >= 0)
    return ReasonAttr::get(context, ReasonKind::Chosen, {}, -1, -1,
                           placement.line);
  return placement.split ? ReasonAttr::of(context, ReasonKind::ChosenAlike)
                         : ReasonAttr();
}

LogicalResult Propagation::visitChosen(xf::ShardableOpInterface shardable,
                                       const OpSharding &chosen) {
  Operation *op = shardable;
  xf::FactorRule rule = strategyRule(shardable);
  if (auto loss = dyn_cast<xf::CrossEntropyOp>(op); loss && isSplit(chosen)) {
    // Its operands lie as was chosen, and what it becomes follows them.
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      if (failed(moveOperand(op, i, chosen.of(rule.operands[i]))))
        return failure();
    Axes vocabulary = chosen.factors[rule.operands[0].back()[0]];
    return visitAll(splitCrossEntropy(loss, mesh.product(vocabulary)));
  }
  if (auto linear = dyn_cast<xf::LinearOp>(op);
      linear && linear.getBias() &&
      !chosen.partialOf(rule, rule.results[0]).empty()) {
    // Without its bias the GEMM has the same loops.
    Placement placement = Placement::of(op);
    SmallVector<Operation *> ops = splitStream(linear);
    Placement alone = Placement::of(ops.front());
    alone.split = placement.split;
    alone.line = placement.line;
    alone.setOn(ops.front());
    return visitAll(ops);
  }
  if (auto gradient = dyn_cast<xf::CrossEntropyGradientOp>(op);
      gradient && !gradient.getCount() && isSplit(chosen))
    return visitAll(countLabels(gradient));
  split(op, rule, chosen);
  return success();
}

LogicalResult Propagation::moveOperand(Operation *op, unsigned i,
                                       const Sharding &to) {
  Value operand = op->getOperand(i);
  if (shardings.lookup(operand) == to)
    return success();
  OpBuilder builder(op);
  auto moved = builder.create<dist::ConstrainOp>(
      op->getLoc(), operand.getType(), operand, to.toAttr(mesh.symbol()));
  op->setOperand(i, moved);
  return visit(moved);
}

void Propagation::split(Operation *op, const xf::FactorRule &rule,
                        const OpSharding &choice) {
  SmallVector<Attribute> wants, gives;
  ChoiceReasons reasons(rule, choice);
  ReasonAttr chosen = chosenReason(op);
  SmallVector<Reasons> results;
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
    results.push_back(chosen ? Reasons{chosen}
                             : reasons.ofResult(unsigned(i), sharding));
    set(op->getResult(i), sharding, isWeightValue(op));
    gives.push_back(attrOf(op->getResult(i)));
  }
  annotate(op, wants, gives);
  setReasons(op, results);
  noteMoves(op, reasons);
}

LogicalResult Propagation::constrain(Value value, const Sharding &to) {
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

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

LogicalResult Propagation::visitRows(Operation *op,
                                     const xf::FactorRule &rule) {
  SmallVector<Proposal, 4> proposals = proposalsOf(op, rule);
  proposeStream(op, rule, proposals);
  if (isa<xf::CombineOp>(op))
    if (const Sharding *stream = streams.find(op->getResult(0)))
      proposals.push_back(
          {&rule.results[0], *stream, false, -1, ReasonKind::Stream});
  RowsSharding rows =
      chooseRows(op, rule, std::move(proposals), mesh, splitsExperts);
  SmallVector<Attribute> wants;
  for (const Sharding &want : rows.operands)
    wants.push_back(want.toAttr(mesh.symbol()));
  set(op->getResult(0), rows.result);
  annotate(op, wants, {attrOf(op->getResult(0))});
  ChoiceReasons reasons(rule, rows.choice);
  Reasons result = reasons.ofResult(0, rows.result);
  passSums(result, rows.sums, rows.rows, op->getContext());
  setReasons(op, {std::move(result)});
  noteMoves(op, reasons);
  return success();
}

LogicalResult Propagation::visitGrouped(Operation *op,
                                        const xf::FactorRule &rule) {
  SmallVector<Proposal, 4> proposals = proposalsOf(op, rule);
  for (auto [operand, factors] : llvm::zip(op->getOperands(), rule.operands))
    if (auto split = splitRows(shardings.lookup(operand), splitsExperts))
      proposals.push_back(
          {&factors, *split, false, -1, ReasonKind::SharedRows});
  OpSharding choice = chooseSharding(rule, proposals, mesh, splitsExperts);
  for (auto [operand, factors] : llvm::zip(op->getOperands(), rule.operands))
    if (operand.getDefiningOp<xf::DispatchOp>() &&
        shardings.lookup(operand) != choice.of(factors))
      settleRows(operand, choice.of(factors));
  split(op, rule, choice);
  return success();
}

LogicalResult Propagation::visitExchange(Operation *op) {
  // 1. The runs, as they are dispatched: `ranges` are the second operand, or
  // the only one.
  Value ranges = op->getOperand(op->getNumOperands() == 1 ? 0 : 1);
  Axes runs = shardings.lookup(ranges).dims[0];
  const Axes &experts = splitsExperts.splitting();
  bool returns = isa<xf::ReturnRowsOp>(op);
  Value segments =
      op->getNumOperands() == 1 ? op->getResult(0) : op->getOperand(2);
  int64_t groups = tensorOf(segments).getDimSize(1);
  if (mesh.product(runs) != tensorOf(ranges).getDimSize(0) ||
      mesh.product(experts) != groups ||
      !llvm::all_of(experts, [&](StringRef axis) {
        return llvm::is_contained(runs, axis);
      }))
    return op->emitError("D26: ")
           << tensorOf(ranges).getDimSize(0) << " runs are exchanged in groups "
           << "of " << groups << ", but the mesh has " << mesh.product(runs)
           << " devices with runs of their own and splits experts over "
           << mesh.product(experts);
  // 2. The same, the place among those that share experts out last.
  Axes places = runs;
  llvm::erase_if(places, [&](StringRef axis) {
    return llvm::is_contained(experts, axis);
  });
  llvm::append_range(places, experts);
  OpSharding choice;
  xf::FactorRule rule;
  ChoiceReasons reasons(rule, choice); // Of what moves; the rest is said here.
  MLIRContext *context = op->getContext();
  auto along = [&](Value value, const Axes &axes) {
    Sharding sharding = Sharding::whole(tensorOf(value).getRank());
    sharding.dims[0] = axes;
    return sharding;
  };
  if (op->getNumOperands() == 1) {
    set(op->getResult(0), along(op->getResult(0), places));
    annotate(op, {along(ranges, runs).toAttr(mesh.symbol())},
             {attrOf(op->getResult(0))});
    setReasons(op, {follow(places, 0, 0, context)});
    noteMoves(op, reasons);
    return success();
  }
  // 3. Sums of each row may be moved as such.
  Value rows = op->getOperand(0);
  Sharding from = along(rows, returns ? places : runs);
  Sharding to = along(op->getResult(0), returns ? runs : places);
  from.partial = shardings.lookup(rows).partial;
  llvm::erase_if(from.partial, [&](StringRef axis) {
    return !splitsExperts.splitsEach(axis);
  });
  to.partial = from.partial;
  set(op->getResult(0), to);
  annotate(op,
           {from.toAttr(mesh.symbol()),
            along(ranges, runs).toAttr(mesh.symbol()),
            along(segments, places).toAttr(mesh.symbol())},
           {attrOf(op->getResult(0))});
  Reasons result = follow(to.dims[0], returns ? 1 : 2, 0, context);
  passSums(result, to.partial, 0, context);
  setReasons(op, {std::move(result)});
  noteMoves(op, reasons);
  return success();
}

void Propagation::settleRows(Value rows, const Sharding &to) {
  OpBuilder builder(rows.getContext());
  builder.setInsertionPointAfterValue(rows);
  auto moved = builder.create<dist::ConstrainOp>(
      rows.getLoc(), rows.getType(), rows, to.toAttr(mesh.symbol()));
  rows.replaceAllUsesExcept(moved.getResult(), moved);
  set(moved.getResult(), to);
  annotate(moved, {moved.getTo()}, {moved.getTo()});
  setReasons(moved,
             {{ReasonAttr::of(moved.getContext(), ReasonKind::Experts)}});
}

bool Propagation::isWeightValue(Operation *op) const {
  return isa<xf::CastOp, xf::ReshapeOp, xf::PrefixOp, xf::QuantizeBlocksOp,
             xf::DequantizeBlocksOp>(op) &&
         weights.contains(op->getOperand(0));
}

//===----------------------------------------------------------------------===//
// Partial sums
//===----------------------------------------------------------------------===//

bool Propagation::passesSums(Operation *op) const {
  // Linear in the second operand; the first is numbers.
  if (isa<xf::EmbeddingGradientOp>(op))
    return !shardings.find(op->getOperand(1))->second.partial.empty() &&
           tensorOf(op->getOperand(1)).getRank() == 2;
  if (!isa<xf::AddOp, xf::ReshapeOp, xf::SumLeadingOp, xf::PadRowsOp,
           xf::JoinChunksOp>(op))
    return false;
  const Axes &partial = shardings.find(op->getOperand(0))->second.partial;
  return !partial.empty() && llvm::all_of(op->getOperands(), [&](Value v) {
    return shardings.lookup(v).partial == partial;
  });
}

LogicalResult Propagation::visitSums(Operation *op,
                                     const xf::FactorRule &rule) {
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
  ChoiceReasons reasons(rule, choice);
  Reasons result = reasons.ofResult(0, give);
  passSums(result, partial, isGradient ? 1 : 0, op->getContext());
  setReasons(op, {std::move(result)});
  noteMoves(op, reasons);
  return success();
}

SmallVector<Proposal, 4>
Propagation::proposalsOf(Operation *op, const xf::FactorRule &rule) const {
  SmallVector<Proposal, 4> proposals;
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (tensorOf(operand))
      proposals.push_back({&rule.operands[i], shardings.lookup(operand),
                           weights.contains(operand), int64_t(i)});
  // What every device makes for the positions that it has.
  if (isa<xf::RopeTableOp, xf::PositionsOp>(op) && context) {
    Sharding rows = Sharding::whole(tensorOf(op->getResult(0)).getRank());
    rows.dims[0] = mesh.parts(AxisKind::Context);
    proposals.push_back(
        {&rule.results[0], rows, false, -1, ReasonKind::Positions});
  }
  // Where a result is going: into the gradient of a split weight.
  for (auto [result, factors] : llvm::zip(op->getResults(), rule.results))
    if (std::optional<Sharding> goal = goalOf(result))
      proposals.push_back({&factors, *goal, true, -1, ReasonKind::GradientOf});
  return proposals;
}

void Propagation::proposeStream(Operation *op, const xf::FactorRule &rule,
                                SmallVectorImpl<Proposal> &proposals) const {
  for (auto [operand, factors] : llvm::zip(op->getOperands(), rule.operands))
    if (const Sharding *stream = streams.find(operand);
        stream && !shardings.lookup(operand).partial.empty())
      proposals.push_back({&factors, *stream, false, -1, ReasonKind::Stream});
}

std::optional<Sharding> Propagation::goalOf(Value value) const {
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

//===----------------------------------------------------------------------===//
// Ops that are split into others
//===----------------------------------------------------------------------===//

bool Propagation::isSplit(const OpSharding &choice) {
  return llvm::any_of(choice.factors,
                      [](const Axes &axes) { return !axes.empty(); });
}

SmallVector<Operation *> Propagation::splitStream(xf::LinearOp linear) {
  // Its result dies with it, and another may have its address.
  Value before = linear.getResult();
  SmallVector<Operation *> ops = splitBias(linear);
  streams.replace(before, ops.back()->getResult(0));
  streams.add(ops.back());
  return ops;
}

std::optional<SmallVector<Operation *>>
Propagation::rewrite(Operation *op, const xf::FactorRule &rule,
                     const OpSharding &choice) {
  if (auto linear = dyn_cast<xf::LinearOp>(op);
      linear && linear.getBias() &&
      !choice.partialOf(rule, rule.results[0]).empty())
    return splitStream(linear);
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

LogicalResult Propagation::visitAll(ArrayRef<Operation *> ops) {
  for (Operation *op : ops)
    if (failed(visit(op)))
      return failure();
  return success();
}
