//===- MeasureDevice.h - Measures a device of this machine ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_CALIBRATE_MEASUREDEVICE_H
#define HOCKET_COMPILER_TOOLS_CALIBRATE_MEASUREDEVICE_H

#include "passes/planning/calibration/Measurements.h"
#include "runtime/base/Status.h"

#include <functional>

namespace hocket::planning {

struct MeasureOptions {
  std::string driver = "cpu"; ///< Any of hal::driverNames() that computes.
  /// Devices that work at once, as the ranks of a run on this machine would.
  unsigned ranks = 1;
  unsigned threads = 0; ///< Of each device; 0: its share of the cores.
  /// For all measurements, about; below 1, of few shapes.
  double seconds = 20;
  /// Called on one thread before each measurement.
  std::function<void(const std::string &what, size_t done, size_t all)> note;
};

/// Measures products by shapes in 32 and 16 bits, a kernel that moves data,
/// attention, launches and, of several ranks, gathers. InvalidArgument for a
/// device that computes nothing or, with several ranks, is not in the host's
/// memory.
StatusOr<DeviceMeasurements> measureDevice(const MeasureOptions &options);

} // namespace hocket::planning

#endif // HOCKET_COMPILER_TOOLS_CALIBRATE_MEASUREDEVICE_H
