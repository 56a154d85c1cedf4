//===- FitConstants.h - Constants from measurements -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds the constants of systems' descriptions with which the fitted rows
/// (Accuracy.h) come out nearest: the mean over groups of the mean
/// |log(predicted / measured)|, by pattern search in steps that halve.
/// Deterministic. Every constant stays in its physical range. The spread is
/// what the held-out rows say.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_ACCURACY_FITCONSTANTS_H
#define HOCKET_PASSES_PLANNING_ACCURACY_FITCONSTANTS_H

#include "passes/planning/accuracy/Accuracy.h"

namespace hocket::planning {

struct FitResult {
  std::vector<cluster::System> systems; ///< As they were given.
  double fitted = 0;  ///< The loss of the rows they were fitted to.
  double heldOut = 0; ///< Of the others.
};

struct FitOptions {
  /// What may change: "software.gemm" of all systems, which then have the same;
  /// "gb300+b300:software.gemm" of some; "26.05@software.gemm" of what all had
  /// before that release (cluster.proto, EarlierSoftware).
  std::vector<std::string> constants;
  /// Configurations whose turn leaves `heldOut` when it is divided by `folds`
  /// are held out.
  int64_t folds = 2, heldOut = 1;
  int64_t rounds = 100;
};

/// Every constant that can be fitted to any system: not "traced.loss_bytes" and
/// the like, of systems that have `traced`.
std::vector<std::string> fittedConstants();

/// Rows of other systems than `starts` are left out. Refuses a constant that is
/// not known, of a system or a release that there is not, and a table without
/// rows of these systems.
StatusOr<FitResult> fitConstants(const std::vector<cluster::System> &starts,
                                 const std::vector<ThroughputRow> &rows,
                                 const FitOptions &options);

/// The same, whatever values the constants have in `starts`: of 250 points that
/// fill their ranges evenly, in orders of magnitude, fits begin at the four
/// that fit best, and the best of these fits is taken.
StatusOr<FitResult> fitFromPoints(const std::vector<cluster::System> &starts,
                                  const std::vector<ThroughputRow> &rows,
                                  const FitOptions &options);

/// Each fold held out in its turn: every row of `starts` is predicted with
/// constants that were fitted without its configuration, by fitFromPoints(),
/// since what is shipped was fitted to some of the rows.
StatusOr<std::vector<RowPrediction>>
crossValidate(const std::vector<cluster::System> &starts,
              const std::vector<ThroughputRow> &rows,
              const FitOptions &options);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_ACCURACY_FITCONSTANTS_H
