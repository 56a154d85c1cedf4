//===- VerifyShardOps.cpp - Verifiers of ops over shards ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/XfConstraints.h"

using namespace mlir;
using namespace hocket::xf;

LogicalResult CrossEntropyRowsOp::verify() {
  if (failed(checkStatic(*this)))
    return failure();
  Shape logits = shapeOf(getLogits()), lse = shapeOf(getLse());
  if (logits.empty() || lse.empty())
    return emitOpError("X32: logits and lse have a last dim");
  if (failed(
          checkShape(*this, 32, "labels", getLabels(), logits.drop_back())) ||
      failed(checkShape(*this, 32, "picked", getPicked(), logits.drop_back())))
    return failure();
  if (lse.drop_back() != logits.drop_back())
    return emitOpError("X32: lse [")
           << lse << "] has other rows than logits [" << logits << "]";
  if (getFirstColumn() && lse.back() != 1)
    return emitOpError("X32: a shard of the logits is one part, not ")
           << lse.back();
  int64_t valid = getValidVocab();
  if (valid < 1 || (valid > logits.back() && !getFirstColumn()))
    return emitOpError("X32: a valid vocabulary of ")
           << valid << " is not in [1, " << logits.back() << "]";
  return success();
}

LogicalResult MergeAttentionOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkRank(*this, 37, "input", getInput(), 4)))
    return failure();
  Shape shape = shapeOf(getInput());
  if (!isWide(elementOf(getInput())))
    return emitOpError("X37: sums are of f32 or f64");
  if (failed(checkShape(*this, 37, "lse", getLse(),
                        {shape[0], shape[2], shape[1]})) ||
      failed(checkSameType(*this, 37, "other", getOther(), getInput())) ||
      failed(checkSameType(*this, 37, "other_lse", getOtherLse(), getLse())) ||
      failed(checkSameType(*this, 37, "result", getResult(), getInput())))
    return failure();
  return checkSameType(*this, 37, "result_lse", getResultLse(), getLse());
}

LogicalResult LogSumExpOp::verify() {
  if (failed(checkStatic(*this)))
    return failure();
  Shape input = shapeOf(getInput());
  if (input.empty())
    return emitOpError("X33: input is a scalar");
  if (failed(checkShape(*this, 33, "result", getResult(), input.drop_back())))
    return failure();
  return checkElement(*this, 33, "result", getResult(), elementOf(getInput()));
}

LogicalResult CountLabelsOp::verify() {
  if (failed(checkStatic(*this)))
    return failure();
  return checkScalar(*this, 34, "result", getResult());
}

LogicalResult MeanLossOp::verify() {
  if (failed(checkStatic(*this)))
    return failure();
  Shape rows = shapeOf(getLabels());
  if (failed(checkShape(*this, 35, "lse", getLse(), rows)) ||
      failed(checkShape(*this, 35, "picked", getPicked(), rows)) ||
      failed(checkScalar(*this, 35, "count", getCount())))
    return failure();
  return checkScalar(*this, 35, "result", getResult());
}
