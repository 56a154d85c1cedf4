//===- Experts.cpp - Tokens to experts, and back --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/reference/Experts.h"

#include <algorithm>

namespace hocket::kernels {

KernelError checkExperts(const int32_t *chosen, int64_t count,
                         int64_t experts) {
  for (int64_t i = 0; i < count; ++i)
    if (chosen[i] < 0 || chosen[i] >= experts)
      return "experts: a chosen expert does not exist";
  return nullptr;
}

KernelError checkSlots(const SlotShape &shape, const int32_t *slots) {
  int64_t end =
      shape.capacity ? shape.experts * shape.capacity : shape.rows / shape.runs;
  for (int64_t i = 0; i < shape.slots(); ++i)
    if (slots[i] < -1 || slots[i] >= end)
      return "experts: a slot is outside the experts' rows";
  return nullptr;
}

KernelError checkRanges(const GroupShape &shape) {
  int64_t each = shape.rows / shape.runs;
  for (int64_t run = 0; run < shape.runs; ++run) {
    int64_t end = run * each;
    for (int64_t s = 0; s < shape.segments; ++s) {
      int64_t first = shape.first(run, s), count = shape.count(run, s);
      if (first < end || count < 0)
        return "experts: ranges overlap or begin before their rows";
      end = first + count;
    }
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// The slots of [first, first + count), a run, and its ranges.
static void orderRun(const ExpertOrderArguments &args, int64_t first,
                     int64_t count, int32_t *ranges) {
  int64_t experts = args.shape.experts;
  std::fill_n(ranges, 2 * experts, 0);
  for (int64_t i = first; i < first + count; ++i)
    ++ranges[2 * args.chosen[i] + 1];
  int32_t begin = 0;
  for (int64_t e = 0; e < experts; ++e) {
    ranges[2 * e] = begin;
    begin += ranges[2 * e + 1];
    ranges[2 * e + 1] = 0;
  }
  for (int64_t i = first; i < first + count; ++i) {
    int32_t *range = ranges + 2 * args.chosen[i];
    args.slots[i] = range[0] + range[1]++;
  }
}

static void orderWithCapacity(const ExpertOrderArguments &args) {
  int64_t perSequence = args.shape.sequence * args.shape.topK;
  int64_t capacity = args.shape.capacity;
  for (int64_t i = 0; i < args.shape.slots(); ++i) {
    if (i % perSequence == 0)
      std::fill_n(args.ranges, 2 * args.shape.experts, 0);
    int64_t row = args.ranges[2 * args.chosen[i]]++;
    args.slots[i] =
        row < capacity ? int32_t(args.chosen[i] * capacity + row) : -1;
  }
}

KernelError reference::expertOrder(const ExpertOrderArguments &args) {
  if (KernelError error =
          checkExperts(args.chosen, args.shape.slots(), args.shape.experts))
    return error;
  if (args.shape.capacity > 0) {
    orderWithCapacity(args);
    return nullptr;
  }
  int64_t each = args.shape.slots() / args.shape.runs;
  for (int64_t run = 0; run < args.shape.runs; ++run)
    orderRun(args, run * each, each,
             args.ranges + run * args.shape.experts * 2);
  return nullptr;
}

KernelError reference::expertCounts(const ExpertCountsArguments &args) {
  if (KernelError error = checkExperts(args.chosen, args.choices, args.experts))
    return error;
  std::fill_n(args.counts, args.sequences * args.experts, 0.0f);
  int64_t each = args.choices / args.sequences;
  for (int64_t i = 0; i < args.choices; ++i)
    args.counts[i / each * args.experts + args.chosen[i]] += 1;
  return nullptr;
}

KernelError reference::packSegments(const PackSegmentsArguments &args) {
  int64_t first = 0;
  for (int64_t s = 0; s < args.segments; ++s) {
    int32_t count = args.ranges[2 * s + 1];
    if (count < 0 || first + count > INT32_MAX)
      return "experts: ranges have no such numbers of rows";
    args.packed[2 * s] = int32_t(first);
    args.packed[2 * s + 1] = count;
    first += count;
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

KernelError reference::dispatch(const DispatchArguments &args) {
  if (KernelError error = checkSlots(args.shape, args.slots))
    return error;
  int64_t width = args.width;
  for (int64_t i = 0; i < args.shape.rows * width; ++i)
    store(args.rows, i, 0);
  for (int64_t i = 0; i < args.shape.slots(); ++i) {
    if (args.slots[i] < 0)
      continue;
    int64_t row = rowOfSlot(args.shape, i, args.slots[i]);
    for (int64_t h = 0; h < width; ++h)
      store(args.rows, row * width + h,
            load(args.tokens, i / args.shape.topK * width + h) *
                (args.weights ? args.weights[i] : 1));
  }
  return nullptr;
}

KernelError reference::combine(const CombineArguments &args) {
  if (KernelError error = checkSlots(args.shape, args.slots))
    return error;
  int64_t width = args.width, topK = args.shape.topK;
  for (int64_t t = 0; t < args.shape.tokens(); ++t)
    for (int64_t h = 0; h < width; ++h) {
      double sum = 0;
      for (int64_t i = t * topK; i < (t + 1) * topK; ++i)
        if (args.slots[i] >= 0)
          sum += load(args.rows,
                      rowOfSlot(args.shape, i, args.slots[i]) * width + h) *
                 (args.weights ? args.weights[i] : 1);
      store(args.tokens, t * width + h, sum);
    }
  return nullptr;
}

KernelError
reference::combineWeightGradient(const CombineWeightGradientArguments &args) {
  if (KernelError error = checkSlots(args.shape, args.slots))
    return error;
  int64_t width = args.width;
  for (int64_t i = 0; i < args.shape.slots(); ++i) {
    double sum = 0;
    for (int64_t h = 0; args.slots[i] >= 0 && h < width; ++h)
      sum +=
          load(args.tokens, i / args.shape.topK * width + h) *
          load(args.rows, rowOfSlot(args.shape, i, args.slots[i]) * width + h);
    args.dweights[i] = float(sum);
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

/// Calls fn(expert, row) for the rows of every expert.
template <typename Fn> static void forEachRow(const GroupShape &shape, Fn fn) {
  for (int64_t run = 0; run < shape.runs; ++run)
    for (int64_t s = 0; s < shape.segments; ++s)
      for (int64_t i = 0; i < shape.count(run, s); ++i)
        fn(s % shape.experts, shape.first(run, s) + i);
}

KernelError reference::groupedLinear(const GroupedLinearArguments &args) {
  const GroupShape &s = args.shape;
  if (KernelError error = checkRanges(s))
    return error;
  for (int64_t i = 0; i < s.rows * s.out; ++i)
    store(args.y, i, 0);
  forEachRow(s, [&](int64_t e, int64_t r) {
    for (int64_t o = 0; o < s.out; ++o) {
      double sum = 0;
      for (int64_t i = 0; i < s.in; ++i)
        sum += load(args.x, r * s.in + i) *
               load(args.weight, (e * s.out + o) * s.in + i);
      store(args.y, r * s.out + o, sum);
    }
  });
  return nullptr;
}

KernelError reference::groupedLinearInputGradient(
    const GroupedInputGradientArguments &args) {
  const GroupShape &s = args.shape;
  if (KernelError error = checkRanges(s))
    return error;
  for (int64_t i = 0; i < s.rows * s.in; ++i)
    store(args.dx, i, 0);
  forEachRow(s, [&](int64_t e, int64_t r) {
    for (int64_t i = 0; i < s.in; ++i) {
      double sum = 0;
      for (int64_t o = 0; o < s.out; ++o)
        sum += load(args.dy, r * s.out + o) *
               load(args.weight, (e * s.out + o) * s.in + i);
      store(args.dx, r * s.in + i, sum);
    }
  });
  return nullptr;
}

KernelError reference::groupedLinearWeightGradient(
    const GroupedWeightGradientArguments &args) {
  const GroupShape &s = args.shape;
  if (KernelError error = checkRanges(s))
    return error;
  for (int64_t i = 0; !args.accumulate && i < s.experts * s.out * s.in; ++i)
    store(args.dweight, i, 0);
  forEachRow(s, [&](int64_t e, int64_t r) {
    for (int64_t o = 0; o < s.out; ++o)
      for (int64_t i = 0; i < s.in; ++i) {
        int64_t at = (e * s.out + o) * s.in + i;
        store(args.dweight, at,
              load(args.dweight, at) +
                  load(args.dy, r * s.out + o) * load(args.x, r * s.in + i));
      }
  });
  return nullptr;
}

} // namespace hocket::kernels
