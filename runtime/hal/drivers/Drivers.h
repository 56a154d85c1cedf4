//===- Drivers.h - The drivers that this build has --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_HAL_DRIVERS_DRIVERS_H
#define HOCKET_RUNTIME_HAL_DRIVERS_DRIVERS_H

#include "runtime/hal/interfaces/Device.h"

#include <memory>

namespace hocket::hal {

/// What a rank gets of its machine.
struct DeviceShare {
  /// How many threads it may compute with; 0: all cores, or what
  /// HOCKET_NUM_THREADS says.
  unsigned threads = 0;
  unsigned index = 0; ///< Which of several GPUs is its.
};

/// "null", "cpu", "cuda".
std::vector<std::string> driverNames();

/// A device of the driver `name`, without an arena yet. InvalidArgument for an
/// unknown name (lists the known ones), FailedPrecondition if this machine
/// cannot run it.
StatusOr<std::unique_ptr<Device>> createDevice(const std::string &name,
                                               const DeviceShare &share = {});

} // namespace hocket::hal

#endif // HOCKET_RUNTIME_HAL_DRIVERS_DRIVERS_H
