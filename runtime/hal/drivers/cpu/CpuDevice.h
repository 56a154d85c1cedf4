//===- CpuDevice.h - All cores of this machine ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The arena is anonymous memory (huge pages where the system gives them).
/// Every operation runs at once on a pool of threads and is over when its call
/// returns, so streams and events cost nothing. Kernels are functions
///
///     void symbol(void *const *buffers, const int64_t *scalars,
///                 int64_t begin, int64_t end);
///
/// of an ELF shared object; any partition of the tasks gives the same bits.
/// HOCKET_NUM_THREADS sets the number of threads, HOCKET_CPU_ISA caps the
/// instruction set.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_HAL_DRIVERS_CPU_CPUDEVICE_H
#define HOCKET_RUNTIME_HAL_DRIVERS_CPU_CPUDEVICE_H

#include "runtime/hal/interfaces/Device.h"

#include <memory>

namespace hocket::hal {

/// Computes with `threads` threads; 0: as WorkerPool::defaultCount() says.
/// InvalidArgument for a bad environment variable, FailedPrecondition if the
/// processor lacks AVX2.
StatusOr<std::unique_ptr<Device>> createCpuDevice(unsigned threads = 0);

} // namespace hocket::hal

#endif // HOCKET_RUNTIME_HAL_DRIVERS_CPU_CPUDEVICE_H
