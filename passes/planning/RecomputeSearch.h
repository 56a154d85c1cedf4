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

/// Values with one of which the worst layer ends, rising: the sums of subsets
/// of a layer's bytes. Where they are too many, values between which they lie.
struct WorkspaceValues {
  std::vector<int64_t> values;
  bool exact = true;
};
WorkspaceValues workspaceValues(const std::vector<RecomputeItem> &items);

/// No choice that fits costs less, by the linear relaxation for every value of
/// the worst layer: given that, it is a knapsack in which each layer takes its
/// cheapest items, the last in part, up to that value. Infinite where nothing
/// fits.
double recomputeBound(const std::vector<RecomputeItem> &items, int64_t need,
                      const WorkspaceValues &workspaces);

/// The best choice found in `steps` steps of branch and bound, and
/// recomputeBound; if the search ends before, both are the optimum.
RecomputeSearch searchRecompute(const std::vector<RecomputeItem> &items,
                                int64_t need, int64_t steps);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_RECOMPUTESEARCH_H
