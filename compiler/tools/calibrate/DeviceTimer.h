//===- DeviceTimer.h - How long operations of a device take -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_CALIBRATE_DEVICETIMER_H
#define HOCKET_COMPILER_TOOLS_CALIBRATE_DEVICETIMER_H

#include "runtime/comm/interfaces/Communicator.h"
#include "runtime/hal/interfaces/Device.h"

#include <functional>

namespace hocket::planning {

/// Times what all ranks of a world do at once, on a device each. Every rank
/// calls the same functions in the same order.
class DeviceTimer {
public:
  /// The device has stream 0. Both outlive it. `seconds`: about how long a
  /// measurement may take, after two calls that it needs.
  DeviceTimer(hal::Device &device, comm::Communicator &world, double seconds)
      : device(device), world(world), seconds(seconds) {}

  using Work = std::function<Status()>;

  /// Seconds of `work` until the device has done it: the least of up to five
  /// rounds after a first call, of one or more calls each, for what else runs
  /// on the machine only adds to it; the mean of the ranks.
  StatusOr<double> untilDone(const Work &work);
  /// Seconds until the calls of `work` return.
  StatusOr<double> untilReturned(const Work &work);

private:
  struct Round {
    double returned = 0, done = 0; ///< Seconds of one call.
  };
  StatusOr<Round> round(const Work &work, int64_t calls);
  StatusOr<Round> measure(const Work &work);
  /// The mean of all ranks' values.
  StatusOr<double> mean(double value);

  hal::Device &device;
  comm::Communicator &world;
  double seconds;
};

} // namespace hocket::planning

#endif // HOCKET_COMPILER_TOOLS_CALIBRATE_DEVICETIMER_H
