//===- EvaluateExpertOps.cpp - Reference evaluation of experts ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/XfOps.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace hocket::xf;

using Tensors = ArrayRef<ReferenceTensor>;
using Results = SmallVectorImpl<ReferenceTensor>;
using Row = std::vector<double>;

//===----------------------------------------------------------------------===//
// Rows of experts
//===----------------------------------------------------------------------===//

LogicalResult ExpertOrderOp::evaluate(EvaluationContext &, Tensors operands,
                                      Results &results) {
  const ReferenceTensor &choice = operands[0];
  auto experts = static_cast<int64_t>(getExperts());
  auto capacity = static_cast<int64_t>(getCapacity());
  ReferenceTensor slots = zerosOf(getSlots().getType());
  Row counts(experts, 0.0);
  for (double expert : choice.values) {
    if (expert < 0 || expert >= static_cast<double>(experts))
      return emitOpError("is given the expert ") << expert << " of " << experts;
    counts[static_cast<size_t>(expert)] += 1;
  }
  // Dropless: where an expert's next row is. Else: how many it has taken.
  Row next(experts, 0.0);
  if (capacity == 0)
    std::exclusive_scan(counts.begin(), counts.end(), next.begin(), 0.0);
  const Row first = next;
  int64_t perSequence = choice.dim(1) * choice.dim(2);
  for (int64_t i = 0; i < choice.size(); ++i) {
    if (capacity > 0 && i % perSequence == 0)
      std::fill(next.begin(), next.end(), 0.0);
    double &row = next[static_cast<size_t>(choice[i])];
    if (capacity == 0)
      slots[i] = row;
    else
      slots[i] = row < static_cast<double>(capacity)
                     ? choice[i] * static_cast<double>(capacity) + row
                     : -1;
    row += 1;
  }
  results.push_back(std::move(slots));
  if (capacity > 0)
    return success();
  ReferenceTensor ranges = zerosOf(getRanges().getType());
  for (int64_t e = 0; e < experts; ++e) {
    ranges[2 * e] = first[e];
    ranges[2 * e + 1] = counts[e];
  }
  results.push_back(std::move(ranges));
  return success();
}

/// The row of the buffer for slot `i` of `slots`, -1 where it was dropped.
static int64_t rowOfSlot(const ReferenceTensor &rows,
                         const ReferenceTensor &slots, int64_t i) {
  auto slot = static_cast<int64_t>(slots[i]);
  if (slot < 0 || rows.shape.size() == 2)
    return slot;
  int64_t capacity = rows.dim(2), sequence = i / (slots.dim(1) * slots.dim(2));
  return (slot / capacity * rows.dim(1) + sequence) * capacity +
         slot % capacity;
}

LogicalResult DispatchOp::evaluate(EvaluationContext &, Tensors operands,
                                   Results &results) {
  const ReferenceTensor &input = operands[0], &slots = operands[1];
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t width = input.dim(-1), topK = slots.dim(-1);
  for (int64_t i = 0; i < slots.size(); ++i) {
    int64_t row = rowOfSlot(result, slots, i);
    for (int64_t h = 0; row >= 0 && h < width; ++h)
      result[row * width + h] =
          input[i / topK * width + h] * (getWeights() ? operands[2][i] : 1);
  }
  results.push_back(std::move(result));
  return success();
}

LogicalResult CombineOp::evaluate(EvaluationContext &, Tensors operands,
                                  Results &results) {
  const ReferenceTensor &rows = operands[0], &slots = operands[1];
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t width = rows.dim(-1), topK = slots.dim(-1);
  for (int64_t i = 0; i < slots.size(); ++i) {
    int64_t row = rowOfSlot(rows, slots, i);
    for (int64_t h = 0; row >= 0 && h < width; ++h)
      result[i / topK * width + h] +=
          rows[row * width + h] * (getWeights() ? operands[2][i] : 1);
  }
  results.push_back(std::move(result));
  return success();
}

LogicalResult CombineWeightGradientOp::evaluate(EvaluationContext &,
                                                Tensors operands,
                                                Results &results) {
  const ReferenceTensor &tokens = operands[0], &rows = operands[1],
                        &slots = operands[2];
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t width = rows.dim(-1), topK = slots.dim(-1);
  for (int64_t i = 0; i < slots.size(); ++i) {
    int64_t row = rowOfSlot(rows, slots, i);
    for (int64_t h = 0; row >= 0 && h < width; ++h)
      result[i] += tokens[i / topK * width + h] * rows[row * width + h];
  }
  results.push_back(std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

/// Calls `fn(expert, row)` for each row of each expert. `rows` is
/// `[E, B, C, x]`, or `[R, x]` with the ranges `ranges`.
template <typename Fn>
static void forEachRow(const ReferenceTensor &rows,
                       const ReferenceTensor *ranges, Fn fn) {
  int64_t experts = ranges ? ranges->dim(0) : rows.dim(0);
  int64_t each = ranges ? 0 : rows.dim(1) * rows.dim(2);
  for (int64_t e = 0; e < experts; ++e) {
    int64_t first = ranges ? static_cast<int64_t>((*ranges)[2 * e]) : e * each;
    int64_t count = ranges ? static_cast<int64_t>((*ranges)[2 * e + 1]) : each;
    for (int64_t row = first; row < first + count; ++row)
      fn(e, row);
  }
}

LogicalResult GroupedLinearOp::evaluate(EvaluationContext &, Tensors operands,
                                        Results &results) {
  const ReferenceTensor &rows = operands[0], &weight = operands[1];
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t outs = weight.dim(1), ins = weight.dim(2);
  forEachRow(rows, getRanges() ? &operands[2] : nullptr,
             [&](int64_t e, int64_t row) {
               for (int64_t o = 0; o < outs; ++o)
                 for (int64_t i = 0; i < ins; ++i)
                   result[row * outs + o] +=
                       rows[row * ins + i] * weight[(e * outs + o) * ins + i];
             });
  results.push_back(std::move(result));
  return success();
}

LogicalResult GroupedLinearInputGradientOp::evaluate(EvaluationContext &,
                                                     Tensors operands,
                                                     Results &results) {
  const ReferenceTensor &grad = operands[0], &weight = operands[1];
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t outs = weight.dim(1), ins = weight.dim(2);
  forEachRow(grad, getRanges() ? &operands[2] : nullptr,
             [&](int64_t e, int64_t row) {
               for (int64_t o = 0; o < outs; ++o)
                 for (int64_t i = 0; i < ins; ++i)
                   result[row * ins + i] +=
                       grad[row * outs + o] * weight[(e * outs + o) * ins + i];
             });
  results.push_back(std::move(result));
  return success();
}

LogicalResult GroupedLinearWeightGradientOp::evaluate(EvaluationContext &,
                                                      Tensors operands,
                                                      Results &results) {
  const ReferenceTensor &grad = operands[0], &rows = operands[1];
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t outs = result.dim(1), ins = result.dim(2);
  forEachRow(grad, getRanges() ? &operands[2] : nullptr,
             [&](int64_t e, int64_t row) {
               for (int64_t o = 0; o < outs; ++o)
                 for (int64_t i = 0; i < ins; ++i)
                   result[(e * outs + o) * ins + i] +=
                       grad[row * outs + o] * rows[row * ins + i];
             });
  results.push_back(std::move(result));
  return success();
}
