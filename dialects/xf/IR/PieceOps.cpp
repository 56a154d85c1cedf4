//===- PieceOps.cpp - What a loss over pieces is built of -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Constraints and reference evaluation of the ops of XfPieceOps.td.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/ScalarMath.h"
#include "dialects/xf/IR/XfConstraints.h"

#include "mlir/IR/Builders.h"

#include <cmath>

using namespace mlir;
using namespace hocket::xf;

using Tensors = ArrayRef<ReferenceTensor>;
using Results = SmallVectorImpl<ReferenceTensor>;

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

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
    return emitOpError("X32: a piece of the logits is one part, not ")
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

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

/// log(sum(exp)) of `count` values from `begin`; minus infinity of none.
static double logSumExp(const ReferenceTensor &tensor, int64_t begin,
                        int64_t count) {
  double greatest = -HUGE_VAL, sum = 0;
  for (int64_t i = 0; i < count; ++i)
    greatest = std::max(greatest, tensor[begin + i]);
  if (greatest == -HUGE_VAL)
    return greatest;
  for (int64_t i = 0; i < count; ++i)
    sum += std::exp(tensor[begin + i] - greatest);
  return greatest + std::log(sum);
}

LogicalResult CrossEntropyRowsOp::evaluate(EvaluationContext &,
                                           Tensors operands, Results &results) {
  const ReferenceTensor &logits = operands[0], &labels = operands[1];
  int64_t vocab = logits.dim(-1), parts = shapeOf(getLse()).back();
  int64_t part = (vocab + parts - 1) / parts;
  int64_t first =
      getFirstColumn() ? static_cast<int64_t>(operands[2][0]) : int64_t(0);
  int64_t valid = std::min<int64_t>(vocab, getValidVocab() - first);
  ReferenceTensor lse = zerosOf(getLse().getType());
  ReferenceTensor picked = zerosOf(getPicked().getType());
  for (int64_t row = 0; row < labels.size(); ++row) {
    for (int64_t p = 0; p < parts; ++p)
      lse[row * parts + p] = logSumExp(logits, row * vocab + p * part,
                                       std::min(part, valid - p * part));
    int64_t label = static_cast<int64_t>(labels[row]);
    if (label < -1 || label >= static_cast<int64_t>(getValidVocab()))
      return emitOpError("is given the label ")
             << label << " of a vocabulary of " << getValidVocab();
    if (label >= first && label < first + vocab)
      picked[row] = logits[row * vocab + label - first];
  }
  results.push_back(std::move(lse));
  results.push_back(std::move(picked));
  return success();
}

LogicalResult MergeAttentionOp::evaluate(EvaluationContext &, Tensors operands,
                                         Results &results) {
  ReferenceTensor result = zerosOf(getResult().getType());
  ReferenceTensor lse = zerosOf(getResultLse().getType());
  int64_t positions = result.dim(1), heads = result.dim(2);
  int64_t width = result.dim(3);
  for (int64_t row = 0; row < lse.size(); ++row) {
    int64_t b = row / (heads * positions), h = row / positions % heads;
    int64_t at = ((b * positions + row % positions) * heads + h) * width;
    double x = operands[1][row], y = operands[3][row];
    double greatest = std::max(x, y);
    lse[row] = greatest == -HUGE_VAL
                   ? greatest
                   : greatest + std::log(std::exp(x - greatest) +
                                         std::exp(y - greatest));
    if (greatest == -HUGE_VAL)
      continue;
    for (int64_t c = at; c < at + width; ++c)
      result[c] = operands[0][c] * std::exp(x - lse[row]) +
                  operands[2][c] * std::exp(y - lse[row]);
  }
  results.push_back(std::move(result));
  results.push_back(std::move(lse));
  return success();
}

LogicalResult LogSumExpOp::evaluate(EvaluationContext &, Tensors operands,
                                    Results &results) {
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t width = operands[0].dim(-1);
  for (int64_t row = 0; row < result.size(); ++row)
    result[row] = logSumExp(operands[0], row * width, width);
  results.push_back(std::move(result));
  return success();
}

LogicalResult CountLabelsOp::evaluate(EvaluationContext &, Tensors operands,
                                      Results &results) {
  double count = 0;
  for (double label : operands[0].values)
    count += label >= 0;
  results.push_back(ReferenceTensor(ArrayRef<int64_t>{}, count));
  return success();
}

LogicalResult MeanLossOp::evaluate(EvaluationContext &, Tensors operands,
                                   Results &results) {
  double sum = 0, count = operands[3][0];
  for (int64_t row = 0; row < operands[2].size(); ++row)
    if (operands[2][row] >= 0)
      sum += operands[0][row] - operands[1][row];
  results.push_back(
      ReferenceTensor(ArrayRef<int64_t>{}, count > 0 ? sum / count : 0));
  return success();
}
