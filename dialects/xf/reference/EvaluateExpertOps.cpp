//===- EvaluateExpertOps.cpp - Reference evaluation of experts ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/XfOps.h"

#include <algorithm>
#include <map>

using namespace mlir;
using namespace hocket::xf;

using Tensors = ArrayRef<ReferenceTensor>;
using Results = SmallVectorImpl<ReferenceTensor>;

//===----------------------------------------------------------------------===//
// Rows of experts
//===----------------------------------------------------------------------===//

/// Each sequence takes its experts' rows in order, as far as they go.
static void orderWithCapacity(const ReferenceTensor &choice, int64_t capacity,
                              ReferenceTensor &slots) {
  std::map<double, int64_t> taken;
  for (int64_t i = 0; i < choice.size(); ++i) {
    if (i % (choice.dim(1) * choice.dim(2)) == 0)
      taken.clear();
    int64_t row = taken[choice[i]]++;
    slots[i] = row < capacity ? choice[i] * static_cast<double>(capacity) +
                                    static_cast<double>(row)
                              : -1;
  }
}

/// The run of element `i` of [B, S, k], of `runs`, `positions` of them along
/// each sequence.
static int64_t runOf(const ReferenceTensor &choice, int64_t i, int64_t runs,
                     int64_t positions) {
  int64_t token = i / choice.dim(2);
  int64_t sequence = token / choice.dim(1), position = token % choice.dim(1);
  return sequence / (choice.dim(0) / (runs / positions)) * positions +
         position / (choice.dim(1) / positions);
}

/// A run of choices, sorted by expert; `ranges` is (first row, rows) of each.
static void orderRun(const ReferenceTensor &choice, std::vector<int64_t> order,
                     ReferenceTensor &slots, MutableArrayRef<double> ranges) {
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return choice[a] != choice[b] ? choice[a] < choice[b] : a < b;
  });
  for (size_t row = 0; row < order.size(); ++row) {
    slots[order[row]] = static_cast<double>(row);
    ranges[2 * static_cast<int64_t>(choice[order[row]]) + 1] += 1;
  }
  for (size_t e = 2; e < ranges.size(); e += 2)
    ranges[e] = ranges[e - 2] + ranges[e - 1];
}

LogicalResult ExpertOrderOp::evaluate(EvaluationContext &, Tensors operands,
                                      Results &results) {
  const ReferenceTensor &choice = operands[0];
  auto experts = static_cast<int64_t>(getExperts());
  auto capacity = static_cast<int64_t>(getCapacity());
  ReferenceTensor slots = zerosOf(getSlots().getType());
  for (double expert : choice.values)
    if (expert < 0 || expert >= static_cast<double>(experts))
      return emitOpError("is given the expert ") << expert << " of " << experts;
  if (capacity > 0) {
    orderWithCapacity(choice, capacity, slots);
    results.push_back(std::move(slots));
    return success();
  }
  ReferenceTensor ranges = zerosOf(getRanges().getType());
  std::vector<std::vector<int64_t>> runs(ranges.dim(0));
  for (int64_t i = 0; i < choice.size(); ++i)
    runs[runOf(choice, i, ranges.dim(0), getPositionRuns())].push_back(i);
  for (size_t run = 0; run < runs.size(); ++run)
    orderRun(choice, std::move(runs[run]), slots,
             MutableArrayRef<double>(ranges.values)
                 .slice(run * experts * 2, experts * 2));
  results.push_back(std::move(slots));
  results.push_back(std::move(ranges));
  return success();
}

/// The row of the buffer for slot `i` of `slots`, -1 where it was dropped.
static int64_t rowOfSlot(const ReferenceTensor &rows,
                         const ReferenceTensor &slots, int64_t i,
                         uint64_t positions) {
  auto slot = static_cast<int64_t>(slots[i]);
  int64_t sequence = i / (slots.dim(1) * slots.dim(2));
  if (slot < 0)
    return slot;
  if (rows.shape.size() == 3)
    return runOf(slots, i, rows.dim(0), static_cast<int64_t>(positions)) *
               rows.dim(1) +
           slot;
  int64_t capacity = rows.dim(2);
  return (slot / capacity * rows.dim(1) + sequence) * capacity +
         slot % capacity;
}

LogicalResult DispatchOp::evaluate(EvaluationContext &, Tensors operands,
                                   Results &results) {
  const ReferenceTensor &input = operands[0], &slots = operands[1];
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t width = input.dim(-1), topK = slots.dim(-1);
  for (int64_t i = 0; i < slots.size(); ++i) {
    int64_t row = rowOfSlot(result, slots, i, getPositionRuns());
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
    int64_t row = rowOfSlot(rows, slots, i, getPositionRuns());
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
    int64_t row = rowOfSlot(rows, slots, i, getPositionRuns());
    for (int64_t h = 0; row >= 0 && h < width; ++h)
      result[i] += tokens[i / topK * width + h] * rows[row * width + h];
  }
  results.push_back(std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// Rows between runs
//===----------------------------------------------------------------------===//

namespace {
/// Expert `expert` of those at the place of a run, in the ranges of run
/// `source` of its group.
struct Segment {
  int64_t run, source, expert;

  /// Calls `fn(number of the segment, source run, its range)` for each.
  template <typename Fn> static void forEach(ArrayRef<int64_t> segments, Fn fn);
};
} // namespace

template <typename Fn>
void Segment::forEach(ArrayRef<int64_t> segments, Fn fn) {
  int64_t places = segments[1], experts = segments[2], number = 0;
  for (int64_t run = 0; run < segments[0]; ++run)
    for (int64_t source = 0; source < places; ++source)
      for (int64_t e = 0; e < experts; ++e)
        fn(number++, Segment{run, run / places * places + source,
                             run % places * experts + e});
}

LogicalResult ExpertSegmentsOp::evaluate(EvaluationContext &, Tensors operands,
                                         Results &results) {
  const ReferenceTensor &ranges = operands[0];
  ReferenceTensor result = zerosOf(getResult().getType());
  ArrayRef<int64_t> shape = result.shape;
  double first = 0;
  Segment::forEach(shape, [&](int64_t i, const Segment &s) {
    if (s.source % shape[1] == 0 && s.expert % shape[2] == 0)
      first = 0;
    // Of ranges that were exchanged there is no choice.
    bool exchanged = shape[0] == 1;
    double count = exchanged
                       ? ranges[2 * i + 1]
                       : ranges[2 * (s.source * ranges.dim(1) + s.expert) + 1];
    result[2 * i] = first;
    result[2 * i + 1] = count;
    first += count;
  });
  results.push_back(std::move(result));
  return success();
}

/// Calls `fn(row where it is, row where its expert is)` for every row.
template <typename Fn>
static LogicalResult forEachExchanged(Operation *op, Tensors operands,
                                      int64_t rows, int64_t bound, Fn fn) {
  const ReferenceTensor &ranges = operands[1], &segments = operands[2];
  int64_t most = 0;
  Segment::forEach(segments.shape, [&](int64_t i, const Segment &s) {
    auto to = static_cast<int64_t>(segments[2 * i]);
    auto count = static_cast<int64_t>(segments[2 * i + 1]);
    auto from =
        static_cast<int64_t>(ranges[2 * (s.source * ranges.dim(1) + s.expert)]);
    most = std::max(most, to + count);
    for (int64_t row = 0; row < count && to + count <= bound; ++row)
      fn(s.source * rows + from + row, s.run * bound + to + row);
  });
  if (most > bound)
    return op->emitOpError("is to bring ")
           << most << " rows to a run that has room for " << bound;
  return success();
}

LogicalResult ExchangeRowsOp::evaluate(EvaluationContext &, Tensors operands,
                                       Results &results) {
  const ReferenceTensor &rows = operands[0];
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t width = rows.dim(2);
  LogicalResult status = forEachExchanged(
      *this, operands, rows.dim(1), result.dim(1), [&](int64_t at, int64_t to) {
        for (int64_t h = 0; h < width; ++h)
          result[to * width + h] = rows[at * width + h];
      });
  results.push_back(std::move(result));
  return status;
}

LogicalResult ReturnRowsOp::evaluate(EvaluationContext &, Tensors operands,
                                     Results &results) {
  const ReferenceTensor &rows = operands[0];
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t width = rows.dim(2);
  LogicalResult status = forEachExchanged(
      *this, operands, result.dim(1), rows.dim(1), [&](int64_t at, int64_t to) {
        for (int64_t h = 0; h < width; ++h)
          result[at * width + h] = rows[to * width + h];
      });
  results.push_back(std::move(result));
  return status;
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

/// Calls `fn(expert, row)` for each row of each expert. `rows` is
/// `[E, B, C, x]`, or `[G, R, x]` with the ranges or segments `ranges`, of
/// `weights` experts.
template <typename Fn>
static void forEachRow(const ReferenceTensor &rows,
                       const ReferenceTensor *ranges, int64_t weights, Fn fn) {
  if (!ranges) {
    int64_t each = rows.dim(1) * rows.dim(2);
    for (int64_t row = 0; row < rows.dim(0) * each; ++row)
      fn(row / each, row);
    return;
  }
  int64_t experts = ranges->dim(-2);
  int64_t segments = ranges->size() / (2 * ranges->dim(0));
  for (int64_t i = 0; i < ranges->dim(0) * segments; ++i) {
    int64_t run = i / segments, place = run % (weights / experts);
    int64_t first = run * rows.dim(1) + static_cast<int64_t>((*ranges)[2 * i]);
    for (int64_t row = 0; row < static_cast<int64_t>((*ranges)[2 * i + 1]);
         ++row)
      fn(place * experts + i % experts, first + row);
  }
}

LogicalResult GroupedLinearOp::evaluate(EvaluationContext &, Tensors operands,
                                        Results &results) {
  const ReferenceTensor &rows = operands[0], &weight = operands[1];
  ReferenceTensor result = zerosOf(getResult().getType());
  int64_t outs = weight.dim(1), ins = weight.dim(2);
  forEachRow(rows, getRanges() ? &operands[2] : nullptr, weight.dim(0),
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
  forEachRow(grad, getRanges() ? &operands[2] : nullptr, weight.dim(0),
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
  forEachRow(grad, getRanges() ? &operands[2] : nullptr, result.dim(0),
             [&](int64_t e, int64_t row) {
               for (int64_t o = 0; o < outs; ++o)
                 for (int64_t i = 0; i < ins; ++i)
                   result[(e * outs + o) * ins + i] +=
                       grad[row * outs + o] * rows[row * ins + i];
             });
  results.push_back(std::move(result));
  return success();
}
