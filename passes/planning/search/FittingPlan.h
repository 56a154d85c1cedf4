//===- FittingPlan.h - The fastest plan that fits when compiled -*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A price's bytes are an estimate; what a rank needs is known once its program
/// has been laid out. So the search lists plans, fastest first, and the
/// compiler lays them out until one fits: what is then stated as a plan's peak
/// is what the runtime allocates.
///
/// Laying out takes seconds, so plans that have no hope are left out: where
/// all plans that were measured of a *kind* (schedule, recompute, how many
/// virtual stages, whether the loss is in chunks) came to at least r times
/// their price's bytes, one of that kind whose price is over 1/r of the memory
/// is not measured. What that may have cost is stated: no plan that was left
/// out is faster than `bound`.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_SEARCH_FITTINGPLAN_H
#define HOCKET_PASSES_PLANNING_SEARCH_FITTINGPLAN_H

#include "passes/planning/search/PlanSearch.h"

#include <functional>

namespace hocket::planning {

/// Bytes of the fullest rank, or why the compiler refuses the plan.
using MeasureBytes = std::function<StatusOr<int64_t>(const PricedPlan &)>;

struct FittingOptions {
  int64_t memory = INT64_MAX; ///< Bytes that a rank may use.
  int64_t mostMeasured = 24;  ///< Plans that are laid out.
  /// A price may be so much above the memory and its plan still be measured; or
  /// below, and the plan be listed with its loss in chunks as well.
  double doubt = 0.1;
};

/// A plan that was measured.
struct MeasuredPlan {
  PricedPlan plan;
  StatusOr<int64_t> bytes;
};

struct FittingResult {
  std::vector<MeasuredPlan> measured; ///< In their order; `best` is the last.
  bool found = false;                 ///< The last one fits.
  int64_t skipped = 0;                ///< Faster ones that were not measured.
  int64_t bound = 0; ///< Nanoseconds that no plan left out is below.

  const PricedPlan &best() const { return measured.back().plan; }
  /// (best - bound) / best, at least 0.
  double gap() const;
};

FittingResult findFittingPlan(PlanSearch &search, const FittingOptions &options,
                              const MeasureBytes &measure);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_SEARCH_FITTINGPLAN_H
