//===- FitSystem.h - A system's constants from measurements -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The constants of cluster.proto by which OpTimes.h comes closest to what was
/// measured: the mean of |log(predicted / measured)| is least, over the 1st,
/// 3rd, 5th, ... sample of each kind; the others tell how good that is.
///
/// Peaks are those that GEMMs reach as they grow (so that `gemm` is 1), the
/// memory's bandwidth is what large kernels reach (`memory` is 1). What was not
/// measured has a value that changes nothing: there is no network beside the
/// node's link, and nothing is hidden.
///
/// Where steps of programs were measured, they correct that (FitPrograms.h).
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_CALIBRATION_FITSYSTEM_H
#define HOCKET_PASSES_PLANNING_CALIBRATION_FITSYSTEM_H

#include "base/Status.h"
#include "passes/planning/calibration/Measurements.h"

namespace hocket::planning {

/// How far predictions of a kind are off: means of |predicted / measured - 1|.
struct FitQuality {
  std::string kind; ///< "GEMMs", "memory", ...
  size_t samples = 0;
  double fitted = 0;
  double heldOut = 0; ///< 0 where there are none.
};

struct FittedSystem {
  cluster::System system;
  std::vector<FitQuality> quality;
};

/// The middle value, or the mean of the two in the middle; 0 of none.
double median(std::vector<double> values);

/// InvalidArgument where a kind has no sample, or one without a time.
StatusOr<FittedSystem> fitSystem(const DeviceMeasurements &measurements);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_CALIBRATION_FITSYSTEM_H
