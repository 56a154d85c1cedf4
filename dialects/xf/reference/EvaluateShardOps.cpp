//===- EvaluateShardOps.cpp - Reference evaluation over shards ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/XfConstraints.h"
#include "dialects/xf/reference/ScalarMath.h"

#include <cmath>

using namespace mlir;
using namespace hocket::xf;

using Tensors = ArrayRef<ReferenceTensor>;
using Results = SmallVectorImpl<ReferenceTensor>;

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
