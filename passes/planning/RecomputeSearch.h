//===- RecomputeSearch.h - The least recomputation that fits ----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A knapsack with a twist. Item i frees `gain` bytes and costs `seconds`, but
/// while its layer's backward runs it takes `bytes` back, together with the
/// other items of its layer; only the worst layer counts:
///
///     minimise  sum of seconds(x)
///     such that sum of gain(x) - max over layers of the sum of bytes(x) >=
///     need
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_RECOMPUTESEARCH_H
#define HOCKET_PASSES_PLANNING_RECOMPUTESEARCH_H

#include <cstdint>
#include <vector>

namespace hocket::planning {

struct RecomputeItem {
  int64_t gain = 0;  ///< Above 0.
  int64_t bytes = 0; ///< At most `gain`.
  double seconds = 0;
  int64_t layer = 0; ///< From 0, without gaps.
};

struct RecomputeSearch {
  bool fits = false;
  std::vector<bool> taken; ///< By item; all, where nothing fits.
  double seconds = 0;
  double bound = 0; ///< No choice that fits costs less.
};

/// The best choice found in `steps` steps of branch and bound, and the bound of
/// the linear relaxation; if the search ends before, both are the optimum.
RecomputeSearch searchRecompute(const std::vector<RecomputeItem> &items,
                                int64_t need, int64_t steps);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_RECOMPUTESEARCH_H
