//===- MeasureDevice.h - Measures a device of this machine ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_CALIBRATE_MEASUREDEVICE_H
#define HOCKET_COMPILER_TOOLS_CALIBRATE_MEASUREDEVICE_H

#include "base/Status.h"
#include "compiler/tools/calibrate/ProgramTimes.h"

#include <functional>

namespace hocket::planning {

struct MeasureOptions {
  std::string driver = "cpu"; ///< Any of hal::driverNames() that computes.
  /// Of a run on this machine that is to be described.
  unsigned ranks = 1;
  unsigned threads = 0; ///< Of each rank; 0: its share of the cores.
  /// For all measurements, about; below 1, of few shapes.
  double seconds = 20;
  /// Where given, steps of programs are measured too, on a processor.
  CompileProgram compile;
  /// Called on one thread before each measurement.
  std::function<void(const std::string &what, size_t done, size_t all)> note;
};

/// Measures GEMMs by shapes in 32 and 16 bits, a kernel that moves data,
/// attention and launches, by as many ranks at once as have cores of their own;
/// and, of several ranks, gathers, by all of them. InvalidArgument for a
/// device that computes nothing or, with several ranks, is not in the host's
/// memory.
StatusOr<DeviceMeasurements> measureDevice(const MeasureOptions &options);

} // namespace hocket::planning

#endif // HOCKET_COMPILER_TOOLS_CALIBRATE_MEASUREDEVICE_H
