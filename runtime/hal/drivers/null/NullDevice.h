//===- NullDevice.h - A device that does nothing ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Accepts what any device accepts, refuses what any device refuses, and does
/// nothing: it allocates no memory, so a program of any size can be walked.
/// copyToHost() gives zeros. Start a new driver from a copy of this one.
///
/// It can play time (Device.h): with HOCKET_NULL_GFLOPS a GEMM of
/// m x n x k takes 2 m n k / (GFLOPS 10^9) seconds, so that a schedule for more
/// ranks than there are cores can be watched. With HOCKET_NULL_GBYTES each
/// stream carries that many 10^9 bytes a second to and from other ranks: once
/// the ranks have met, a collective takes as long as the larger of what it
/// takes and gives, a transfer as long as what it receives.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_HAL_DRIVERS_NULL_NULLDEVICE_H
#define HOCKET_RUNTIME_HAL_DRIVERS_NULL_NULLDEVICE_H

#include "runtime/hal/interfaces/Device.h"

#include <memory>

namespace hocket::hal {

/// InvalidArgument if one of these variables is set and no positive number.
StatusOr<std::unique_ptr<Device>> createNullDevice();

} // namespace hocket::hal

#endif // HOCKET_RUNTIME_HAL_DRIVERS_NULL_NULLDEVICE_H
