//===- SplitOps.cpp - Ops whose shards are other ops ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/dist/SplitOps.h"

using namespace mlir;
using namespace hocket;

SmallVector<Operation *> hocket::dist::splitBias(xf::LinearOp op) {
  OpBuilder builder(op);
  Type type = op.getResult().getType();
  auto linear = builder.create<xf::LinearOp>(op.getLoc(), type, op.getInput(),
                                             op.getWeight(), Value(),
                                             op.getScales(), op.getFp8Attr());
  auto sum = builder.create<xf::AddOp>(op.getLoc(), type, linear.getResult(),
                                       op.getBias());
  op.replaceAllUsesWith(sum.getResult());
  op.erase();
  return {linear, sum};
}

/// f32 of `shape`.
static RankedTensorType f32(MLIRContext *context, ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, Float32Type::get(context));
}

SmallVector<Operation *> hocket::dist::splitCrossEntropy(xf::CrossEntropyOp op,
                                                         int64_t shards) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  MLIRContext *context = op.getContext();
  auto rows = cast<RankedTensorType>(op.getLabels().getType()).getShape();
  SmallVector<int64_t> parts(rows);
  parts.push_back(shards);
  auto each = builder.create<xf::CrossEntropyRowsOp>(
      loc, f32(context, parts), f32(context, rows), op.getLogits(),
      op.getLabels(), Value(), op.getValidVocabAttr());
  auto lse =
      builder.create<xf::LogSumExpOp>(loc, f32(context, rows), each.getLse());
  SmallVector<Operation *> ops{each, lse};
  Value count = op.getCount();
  if (!count) {
    ops.push_back(builder.create<xf::CountLabelsOp>(loc, f32(context, {}),
                                                    op.getLabels()));
    count = ops.back()->getResult(0);
  }
  auto loss = builder.create<xf::MeanLossOp>(loc, op.getLoss().getType(),
                                             lse.getResult(), each.getPicked(),
                                             op.getLabels(), count);
  op.getLoss().replaceAllUsesWith(loss.getResult());
  op.getLse().replaceAllUsesWith(lse.getResult());
  if (op.getPicked())
    op.getPicked().replaceAllUsesWith(each.getPicked());
  op.erase();
  ops.push_back(loss);
  return ops;
}

SmallVector<Operation *>
hocket::dist::countLabels(xf::CrossEntropyGradientOp op) {
  OpBuilder builder(op);
  auto count = builder.create<xf::CountLabelsOp>(
      op.getLoc(), f32(op.getContext(), {}), op.getLabels());
  op.getCountMutable().assign(count.getResult());
  return {count, op};
}
