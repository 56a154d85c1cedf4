//===- ServedExperts.cpp - Experts of tokens that are alone ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/xf/ServedExperts.h"

#include "dialects/xf/IR/XfOps.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace hocket::xf;

/// Blocks of rows that have a dim more.
static SmallVector<int64_t> withOne(ArrayRef<int64_t> blocks) {
  SmallVector<int64_t> wide{1};
  llvm::append_range(wide, blocks);
  return wide;
}

namespace {

/// Rewrites what is between the order of one layer and its `combine`.
class RowsOfTokens {
public:
  explicit RowsOfTokens(ExpertOrderOp order)
      : experts(static_cast<int64_t>(order.getExperts())),
        tokens(cast<ShapedType>(order.getSlots().getType()).getDimSize(0)) {}

  void rewrite(ExpertOrderOp order);

private:
  /// From `[G, R, h]` to `[E, B, 1, h]`.
  void widen(Value rows) {
    auto type = cast<RankedTensorType>(rows.getType());
    rows.setType(
        type.clone({experts, tokens, int64_t(1), type.getShape().back()}));
    widened.insert(rows);
  }
  bool isRows(Value value) const { return widened.contains(value); }

  void visit(Operation *op, Value slots);

  int64_t experts, tokens;
  DenseSet<Value> widened;
  SmallVector<Operation *> erased;
};

} // namespace

void RowsOfTokens::visit(Operation *op, Value slots) {
  if (auto dispatch = dyn_cast<DispatchOp>(op)) {
    if (dispatch.getSlots() != slots)
      return;
    dispatch.setPositionRuns(1);
    return widen(dispatch.getResult());
  }
  if (auto combine = dyn_cast<CombineOp>(op)) {
    if (combine.getSlots() == slots)
      combine.setPositionRuns(1);
    return;
  }
  if (llvm::none_of(op->getOperands(), [&](Value v) { return isRows(v); }))
    return;
  if (isa<ExchangeRowsOp, ReturnRowsOp>(op)) {
    op->getResult(0).replaceAllUsesWith(op->getOperand(0));
    return erased.push_back(op);
  }
  if (auto grouped = dyn_cast<GroupedLinearOp>(op)) {
    grouped.getRangesMutable().clear();
    grouped.setExpectedRows(0);
  }
  if (auto quantize = dyn_cast<QuantizeBlocksOp>(op))
    quantize.setBlocks(withOne(quantize.getBlocks()));
  if (auto dequantize = dyn_cast<DequantizeBlocksOp>(op))
    dequantize.setBlocks(withOne(dequantize.getBlocks()));
  for (Value result : op->getResults())
    widen(result);
}

void RowsOfTokens::rewrite(ExpertOrderOp order) {
  OpBuilder builder(order);
  auto alone = builder.create<ExpertOrderOp>(
      order.getLoc(), order.getSlots().getType(), Type(), order.getChoice(),
      order.getExpertsAttr(), builder.getI64IntegerAttr(1),
      builder.getI64IntegerAttr(1));
  order.getSlots().replaceAllUsesWith(alone.getSlots());
  for (Operation *op = alone->getNextNode(); op; op = op->getNextNode())
    visit(op, alone.getSlots());
  for (Operation *op : erased)
    op->erase();
  for (Operation *user :
       llvm::make_early_inc_range(order.getRanges().getUsers()))
    if (isa<ExpertSegmentsOp>(user) && user->use_empty())
      user->erase();
  order.erase();
}

void hocket::xf::giveRowWithEachExpert(func::FuncOp function) {
  SmallVector<ExpertOrderOp> orders;
  for (auto order : function.getOps<ExpertOrderOp>())
    if (order.getRanges())
      orders.push_back(order);
  for (ExpertOrderOp order : orders)
    RowsOfTokens(order).rewrite(order);
}
