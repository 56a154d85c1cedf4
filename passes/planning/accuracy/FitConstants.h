//===- FitConstants.h - Constants from measurements -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds the constants of a system's description with which the fitted half of
/// the rows (Accuracy.h) comes out nearest: the mean over groups of the mean
/// |log(predicted / measured)|, by coordinate descent in steps that halve.
/// Deterministic. Every constant stays in its physical range. The spread is
/// what the held-out rows say.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_ACCURACY_FITCONSTANTS_H
#define HOCKET_PASSES_PLANNING_ACCURACY_FITCONSTANTS_H

#include "passes/planning/accuracy/Accuracy.h"

namespace hocket::planning {

struct FitResult {
  cluster::System system;
  double fitted = 0;  ///< The loss of the rows it was fitted to.
  double heldOut = 0; ///< Of the others.
};

struct FitOptions {
  /// "software.gemm", "network.efficiency", ...: what may change.
  std::vector<std::string> constants;
  /// Fit to the half that is held out, and report the other.
  bool swapHalves = false;
  int64_t rounds = 60;
};

/// Every constant that can be fitted.
std::vector<std::string> fittedConstants();

/// Rows of other systems than `start` are left out. Refuses a constant that is
/// not known, and a table without rows of this system.
StatusOr<FitResult> fitConstants(const cluster::System &start,
                                 const std::vector<ThroughputRow> &rows,
                                 const FitOptions &options);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_ACCURACY_FITCONSTANTS_H
