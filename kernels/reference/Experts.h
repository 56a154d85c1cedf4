//===- Experts.h - Tokens to experts, and back ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The rows that experts work on. A slot is a token's row with one of its
/// experts. With a capacity C it is `expert * C + row`, counted in each
/// sequence, or -1 for a token that was dropped, and the buffer is
/// [experts, batch, C, width]; without (C = 0) it is a row of its run, where
/// batch is cut into `runs` runs of sequences and the buffer is [runs, rows of
/// a run, width], ordered by expert, then by token; `ranges` is (first row of
/// its run, number of rows) of each run and expert.
///   expert order     slots (and ranges) from the chosen experts
///   dispatch         rows[slot] = (weight *) token; other rows 0
///   combine          token = sum over its slots of (weight *) rows[slot]
///   weight gradient  dot product of token and rows[slot]
///   grouped linear   y[r, o] = sum_i x[r, i] w[e, o, i] for e's rows r; rows
///                    of no expert 0. Input gradient: dx[r, i] = sum_o dy[r, o]
///                    w[e, o, i]. Weight gradient: dw[e, o, i] (+)= sum over
///                    e's rows of dy[r, o] x[r, i].
/// A run's rows may also lie in several segments for each expert: those that
/// one rank has sent after those of another, each ordered by expert. Segment s
/// of a run is of expert s % experts, and `ranges` is by segment.
///   pack segments    where each segment lies, from the ranges that it has
///                    where it came from: one after the other, in order
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_KERNELS_REFERENCE_EXPERTS_H
#define HOCKET_KERNELS_REFERENCE_EXPERTS_H

#include "kernels/reference/Element.h"

#include <algorithm>

namespace hocket::kernels {

struct SlotShape {
  int64_t batch = 0, sequence = 0, topK = 1;
  int64_t experts = 0;  ///< 0 without a capacity
  int64_t capacity = 0; ///< 0: none
  int64_t runs = 1;     ///< divides batch; 1 with a capacity
  int64_t rows = 0;     ///< of the whole buffer; with a capacity as it follows

  int64_t tokens() const { return batch * sequence; }
  int64_t slots() const { return tokens() * topK; }
};

/// The buffer's row for the value `slot` of slot `index`, which is not -1.
constexpr int64_t rowOfSlot(const SlotShape &shape, int64_t index,
                            int64_t slot) {
  int64_t sequence = index / (shape.sequence * shape.topK);
  if (shape.capacity == 0)
    return sequence / (shape.batch / shape.runs) * (shape.rows / shape.runs) +
           slot;
  return (slot / shape.capacity * shape.batch + sequence) * shape.capacity +
         slot % shape.capacity;
}

struct ExpertOrderArguments {
  SlotShape shape;                 ///< experts is set always, rows is not used
  const int32_t *chosen = nullptr; ///< [batch, sequence, topK]
  int32_t *slots = nullptr;        ///< [batch, sequence, topK]
  int32_t *ranges = nullptr; ///< [runs, experts, 2]; scratch with a capacity
};

/// counts[s, e] = how often e was chosen in sequence s, or in all as one.
struct ExpertCountsArguments {
  int64_t choices = 0, experts = 0;
  int64_t sequences = 1;           ///< divides choices
  const int32_t *chosen = nullptr; ///< [choices]
  float *counts = nullptr;         ///< [sequences, experts]
};

struct DispatchArguments {
  SlotShape shape;
  int64_t width = 0;
  ConstView tokens;               ///< [batch, sequence, width]
  const int32_t *slots = nullptr; ///< [batch, sequence, topK]
  const float *weights = nullptr; ///< [batch, sequence, topK], or null
  View rows;                      ///< of the tokens' type
};

struct CombineArguments {
  SlotShape shape;
  int64_t width = 0;
  ConstView rows;
  const int32_t *slots = nullptr; ///< [batch, sequence, topK]
  const float *weights = nullptr; ///< [batch, sequence, topK], or null
  View tokens; ///< [batch, sequence, width], of the rows' type
};

struct CombineWeightGradientArguments {
  SlotShape shape;
  int64_t width = 0;
  ConstView tokens;               ///< [batch, sequence, width]
  ConstView rows;                 ///< of the tokens' type
  const int32_t *slots = nullptr; ///< [batch, sequence, topK]
  float *dweights = nullptr;      ///< [batch, sequence, topK]
};

struct GroupShape {
  int64_t rows = 0, out = 0, in = 0, experts = 1;
  int64_t runs = 1;     ///< divides rows
  int64_t segments = 1; ///< of a run; a multiple of experts
  /// [runs, segments, 2], in a run ascending and without overlap; null: rows /
  /// experts each, in one run of as many segments. What is beyond the rows of a
  /// run is none: a rank may have been chosen for more than it has room for.
  const int32_t *ranges = nullptr;

  /// Of segment `segment` of run `run`, in the whole buffer.
  int64_t first(int64_t run, int64_t segment) const {
    return ranges ? rows / runs * run + begin(run, segment)
                  : rows / experts * segment;
  }
  int64_t count(int64_t run, int64_t segment) const {
    return ranges
               ? std::min<int64_t>(ranges[2 * (run * segments + segment) + 1],
                                   rows / runs - begin(run, segment))
               : rows / experts;
  }

private:
  /// In its run.
  int64_t begin(int64_t run, int64_t segment) const {
    return std::min<int64_t>(ranges[2 * (run * segments + segment)],
                             rows / runs);
  }
};

/// packed[s] = (sum of the counts before s, count of s).
struct PackSegmentsArguments {
  int64_t segments = 0;
  const int32_t *ranges = nullptr; ///< [segments, 2]
  int32_t *packed = nullptr;       ///< [segments, 2]
};

struct GroupedLinearArguments {
  GroupShape shape;
  ConstView x;      ///< [rows, in]
  ConstView weight; ///< [experts, out, in], of x's type
  View y;           ///< [rows, out], of x's type
};

struct GroupedInputGradientArguments {
  GroupShape shape;
  ConstView dy;     ///< [rows, out]
  ConstView weight; ///< [experts, out, in], of dy's type
  View dx;          ///< [rows, in], of dy's type
};

struct GroupedWeightGradientArguments {
  GroupShape shape;
  ConstView dy;            ///< [rows, out]
  ConstView x;             ///< [rows, in], of dy's type
  View dweight;            ///< [experts, out, in]; cpu: f32
  bool accumulate = false; ///< add to dweight, else overwrite all of it
};

/// Null, or that an expert is outside [0, experts).
[[nodiscard]] KernelError checkExperts(const int32_t *chosen, int64_t count,
                                       int64_t experts);
/// Null, or that a slot is outside the buffer.
[[nodiscard]] KernelError checkSlots(const SlotShape &shape,
                                     const int32_t *slots);
/// Null, or that ranges overlap or begin before their rows.
[[nodiscard]] KernelError checkRanges(const GroupShape &shape);

namespace reference {
[[nodiscard]] KernelError expertOrder(const ExpertOrderArguments &args);
[[nodiscard]] KernelError expertCounts(const ExpertCountsArguments &args);
/// An error where a count is negative, or their sum is no 32-bit number.
[[nodiscard]] KernelError packSegments(const PackSegmentsArguments &args);
[[nodiscard]] KernelError dispatch(const DispatchArguments &args);
[[nodiscard]] KernelError combine(const CombineArguments &args);
[[nodiscard]] KernelError
combineWeightGradient(const CombineWeightGradientArguments &args);
[[nodiscard]] KernelError groupedLinear(const GroupedLinearArguments &args);
[[nodiscard]] KernelError
groupedLinearInputGradient(const GroupedInputGradientArguments &args);
[[nodiscard]] KernelError
groupedLinearWeightGradient(const GroupedWeightGradientArguments &args);
} // namespace reference

} // namespace hocket::kernels

#endif // HOCKET_KERNELS_REFERENCE_EXPERTS_H
