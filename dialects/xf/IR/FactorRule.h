//===- FactorRule.h - How an op may be sharded ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A factor is a loop of an op: a range that dims of operands and results have
/// in common. A GEMM `y[r, o] = sum_i x[r, i] w[o, i]` has the
/// factors r, o and i. What may be split over a mesh axis is a factor, not a
/// dim; everything about sharding an op follows from its list of factors.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_XF_IR_FACTORRULE_H
#define HOCKET_DIALECTS_XF_IR_FACTORRULE_H

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <string>

namespace hocket::xf {

enum class FactorKind {
  /// Splitting it splits the results, or leaves them whole where they lack it.
  Parallel,
  /// Split, the results that lack it are partial sums.
  Reduced,
  /// Must not be split.
  Whole
};

/// What shards of a result that lacks a reduced factor are put together with.
enum class Combine { Sum, RootOfSquares, Greatest };

struct Factor {
  int64_t size = 0;
  FactorKind kind = FactorKind::Parallel;
};

/// The factors that make up one dim, the slowest varying first; their sizes
/// multiply to the dim's. Empty for a dim of size 1 that no factor names.
using DimFactors = llvm::SmallVector<int64_t, 2>;
/// One entry a dim.
using TensorFactors = llvm::SmallVector<DimFactors, 4>;

struct FactorRule {
  llvm::SmallVector<Factor> factors;
  llvm::SmallVector<TensorFactors> operands; ///< One entry an operand.
  llvm::SmallVector<TensorFactors> results;  ///< One entry a result.
  llvm::SmallVector<Combine> combines; ///< One a result; empty: all `Sum`.

  /// Adds a factor and returns its index.
  int64_t add(int64_t size, FactorKind kind = FactorKind::Parallel) {
    factors.push_back({size, kind});
    return static_cast<int64_t>(factors.size()) - 1;
  }
};

/// `([b, s, i], [o, i], [o]) -> ([b, s, o]) {b=4, s=8, i=16 reduced, o=32}`:
/// factors are letters, a dim of several is their product (`nd`).
std::string toString(const FactorRule &rule);

} // namespace hocket::xf

#endif // HOCKET_DIALECTS_XF_IR_FACTORRULE_H
