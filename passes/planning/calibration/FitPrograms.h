//===- FitPrograms.h - Constants corrected by programs ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Kernels alone tell how time grows with sizes; programs, how much of it there
/// is with the layouts, the fusions and the caches of a step. Each kind's
/// constant is multiplied by one number: what the fitted programs took of that
/// kind, together, over what was told.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_CALIBRATION_FITPROGRAMS_H
#define HOCKET_PASSES_PLANNING_CALIBRATION_FITPROGRAMS_H

#include "passes/planning/calibration/Measurements.h"

namespace hocket::planning {

/// Whether a constant may depend on the sample-th of a kind; the others are
/// held out.
inline bool isFitted(size_t sample) { return sample % 2 == 0; }

/// The program's step with the seconds that the cost model has for it.
ProgramSample predictedStep(const cluster::System &system,
                            const ProgramSample &program);

/// Changes nothing where there are no programs.
void correctByPrograms(const std::vector<ProgramSample> &programs,
                       cluster::System &system);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_CALIBRATION_FITPROGRAMS_H
