//===- PropagateAttention.cpp - Attention over shared sequences -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Placement.h"
#include "passes/dist/Propagation.h"

#include <utility>

using namespace mlir;
using namespace hocket;
using namespace hocket::dist;

LogicalResult Propagation::visitAttention(Operation *op,
                                          const xf::FactorRule &rule,
                                          OpSharding choice) {
  bool isGradient = isa<xf::AttentionGradientOp>(op);
  Sharding queries = choice.of(rule.operands[0]);
  Sharding keys = choice.of(rule.operands[isGradient ? 2 : 1]);
  keys.dims[1] = queries.dims[1];
  if (context == ContextStrategy::AllToAll) {
    if (failed(splitHeads(op, rule, choice)))
      return failure();
    if (!isGradient)
      keepForGradient(op, rule, choice);
  }
  split(op, rule, choice);
  // Keys of another sequence, which is not cut as the queries' is, are
  // gathered.
  unsigned query = isGradient ? 1 : 0;
  bool sharesPlaces = tensorOf(op->getOperand(query)).getDimSize(1) ==
                      tensorOf(op->getOperand(query + 1)).getDimSize(1);
  if (context == ContextStrategy::Ring && sharesPlaces) {
    keepKeys(op, isGradient, queries.dims[1]);
    noteMoves(op, ChoiceReasons(rule, choice));
  }
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

LogicalResult Propagation::visitJoin(Operation *op, const xf::FactorRule &rule,
                                     const OpSharding &choice) {
  split(op, rule, choice);
  Value whole = op->getResult(0);
  Sharding to = shardings.lookup(whole);
  Axes axes = mesh.parts(AxisKind::Context);
  if (tensorOf(whole).getDimSize(1) % mesh.product(axes) != 0)
    return success();
  for (Axes &each : to.dims)
    dropAxes(each, axes);
  dropAxes(to.partial, axes);
  to.dims[1] = axes;
  OpBuilder builder(op);
  builder.setInsertionPointAfter(op);
  auto moved = builder.create<dist::ConstrainOp>(
      op->getLoc(), whole.getType(), whole, to.toAttr(mesh.symbol()));
  whole.replaceAllUsesExcept(moved.getResult(), moved);
  return visit(moved);
}

LogicalResult Propagation::splitHeads(Operation *op, const xf::FactorRule &rule,
                                      OpSharding &choice) {
  int64_t position = rule.operands[0][1][0], group = rule.operands[0][2][0];
  Axes axes = std::exchange(choice.factors[position], {});
  llvm::append_range(choice.factors[group], axes);
  for (ReasonAttr reason : std::exchange(choice.reasons[position], {}))
    choice.reasons[group].push_back(reason.about(ReasonKind::Heads));
  int64_t devices = mesh.product(choice.factors[group]);
  if (rule.factors[group].size % devices != 0)
    return op->emitError("D19: ")
           << rule.factors[group].size << " key heads cannot be dealt to "
           << devices << " devices";
  return success();
}

void Propagation::keepForGradient(Operation *op, const xf::FactorRule &rule,
                                  const OpSharding &choice) {
  for (unsigned i : {0, 1, 2}) {
    Value operand = op->getOperand(i);
    Sharding want = choice.of(rule.operands[i]);
    OpBuilder builder(op);
    auto split = operand.getDefiningOp<xf::ReshapeOp>();
    if (!split || tensorOf(split.getInput()).getRank() != 3) {
      keepMoved(op, i, want);
      continue;
    }
    Sharding flat = want;
    flat.dims.pop_back(); // of a head's channels, which are whole
    Value moved = moveForGradient(builder, split.getInput(), flat);
    auto heads =
        builder.create<xf::ReshapeOp>(split.getLoc(), operand.getType(), moved);
    set(heads.getResult(), want);
    annotate(heads, {flat.toAttr(mesh.symbol())}, {want.toAttr(mesh.symbol())});
    Reasons reasons;
    for (auto [d, axes] : llvm::enumerate(want.dims))
      llvm::append_range(reasons,
                         follow(axes, 0, int64_t(d), op->getContext()));
    setReasons(heads, {std::move(reasons)});
    op->setOperand(i, heads.getResult());
  }
}

void Propagation::keepMoved(Operation *op, unsigned i, const Sharding &to) {
  OpBuilder builder(op);
  op->setOperand(i, moveForGradient(builder, op->getOperand(i), to));
}

Value Propagation::moveForGradient(OpBuilder &builder, Value value,
                                   const Sharding &to) {
  auto moved = builder.create<dist::ConstrainOp>(
      value.getLoc(), value.getType(), value, to.toAttr(mesh.symbol()));
  set(moved.getResult(), to);
  annotate(moved, {moved.getTo()}, {moved.getTo()});
  setReasons(moved, {{ReasonAttr::of(moved.getContext(), ReasonKind::Wanted)}});
  Operation *end = moved->getBlock()->getTerminator();
  value.replaceUsesWithIf(
      moved.getResult(), [&](OpOperand &use) { return use.getOwner() == end; });
  return moved.getResult();
}

void Propagation::keepKeys(Operation *op, bool isGradient, const Axes &axes) {
  Placement placement = Placement::of(op);
  auto keep = [&](ArrayAttr &list, ArrayRef<unsigned> places) {
    SmallVector<Attribute> all(list.getValue());
    for (unsigned i : places) {
      Sharding sharding = Sharding::of(cast<ShardingAttr>(all[i]));
      sharding.dims[1] = axes;
      dropAxes(sharding.partial, axes);
      all[i] = sharding.toAttr(mesh.symbol());
      if (&list == &placement.results)
        set(op->getResult(i), sharding);
    }
    list = ArrayAttr::get(op->getContext(), all);
    placement.setOn(op);
  };
  if (!isGradient)
    return keep(placement.operands, {1, 2});
  keep(placement.operands, {2, 3});
  keep(placement.results, {1, 2});
  SmallVector<Reasons> reasons;
  for (unsigned i = 0; i < op->getNumResults(); ++i) {
    reasons.push_back(reasonsOf(op, i));
    if (i == 0)
      continue;
    llvm::erase_if(reasons[i], [&](ReasonAttr reason) {
      return llvm::is_contained(axes, reason.getAxis().getValue());
    });
    for (StringRef axis : axes)
      reasons[i].push_back(ReasonAttr::of(
          ReasonKind::Ring, StringAttr::get(op->getContext(), axis)));
  }
  setReasons(op, reasons);
}
