//===- ProgramKernels.h - A program's kernels on a device -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_EXECUTOR_PROGRAMKERNELS_H
#define HOCKET_RUNTIME_EXECUTOR_PROGRAMKERNELS_H

#include "runtime/hal/interfaces/Device.h"
#include "runtime/program/program.pb.h"

#include <vector>

namespace hocket {

/// Loads the modules of a checked program (checkProgram()); the device's id of
/// each of its kernels. Fails as Device::loadModule() and findKernel() do.
StatusOr<std::vector<hal::KernelId>>
loadKernels(const program::Program &program, hal::Device &device);

} // namespace hocket

#endif // HOCKET_RUNTIME_EXECUTOR_PROGRAMKERNELS_H
