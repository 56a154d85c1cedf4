//===- CudaLibrary.h - What the emulated libraries share --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the emulated libcuda offers beside NVIDIA's functions, to the other
/// emulated libraries, which are linked to it.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_EMULATOR_LIBRARIES_CUDALIBRARY_H
#define HOCKET_TEST_EMULATOR_LIBRARIES_CUDALIBRARY_H

#include "runtime/cuda/DriverApi.h"
#include "test/emulator/libraries/Gpu.h"

#include <functional>
#include <vector>

namespace hocket::emulator {

/// Memory that some work uses.
struct MemoryUse {
  hal::cuda::CUdeviceptr address = 0;
  size_t bytes = 0;
  bool writes = false;
};

/// Lets `stream` of the current context check the memory and call `work`, which
/// takes so long by the GPU's clock.
__attribute__((visibility("default"))) hal::cuda::CUresult
enqueueOn(hal::cuda::CUstream stream, std::vector<MemoryUse> uses,
          std::function<void()> work, double micros = 0);

/// Lets the GPU of the current context do something: the host waits for what
/// other ranks' hosts do, and real GPUs go on by themselves.
__attribute__((visibility("default"))) void letGpuGoOn();

/// Names the GPU of the current context.
__attribute__((visibility("default"))) const void *currentGpu();

/// Lets `stream` of the current context check the memory and then meet others.
__attribute__((visibility("default"))) hal::cuda::CUresult
meetOn(hal::cuda::CUstream stream, std::vector<MemoryUse> uses,
       std::shared_ptr<Meeting> meeting);

} // namespace hocket::emulator

#endif // HOCKET_TEST_EMULATOR_LIBRARIES_CUDALIBRARY_H
