//===- RowExchange.cpp - Rows of experts between devices ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/dist/RowExchange.h"

#include "dialects/xf/IR/Xf.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::dist;

/// Each device sends the others the ranges of the experts that they hold.
static void exchangeRanges(xf::ExpertSegmentsOp op, ArrayAttr axes) {
  OpBuilder builder(op);
  auto segments = cast<RankedTensorType>(op.getResult().getType());
  Value sent = builder.create<AllToAllOp>(
      op.getLoc(), segments.clone(segments.getShape().drop_front()),
      op.getRanges(), /*split=*/1, /*concat=*/0, axes,
      builder.getStringAttr("devices say how many rows they send"));
  op.getRangesMutable().assign(sent);
}

template <typename To, typename From>
static Value replaced(From op, ArrayAttr axes, StringRef why) {
  OpBuilder builder(op);
  return builder.create<To>(op.getLoc(), op.getResult().getType(), op.getRows(),
                            op.getRanges(), op.getSegments(), axes,
                            builder.getStringAttr(why));
}

Value hocket::dist::exchangeShard(Operation *op, const Axes &axes) {
  ArrayAttr names = Builder(op->getContext()).getStrArrayAttr(axes);
  if (auto segments = dyn_cast<xf::ExpertSegmentsOp>(op)) {
    exchangeRanges(segments, names);
    return {};
  }
  if (auto exchange = dyn_cast<xf::ExchangeRowsOp>(op))
    return replaced<ExchangeRowsOp>(exchange, names,
                                    "rows go where their experts are");
  return replaced<ReturnRowsOp>(cast<xf::ReturnRowsOp>(op), names,
                                "rows go back where their tokens are");
}
