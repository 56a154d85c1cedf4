//===- CudaDevice.h - One NVIDIA GPU ----------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One GPU of this machine, through libcuda (README.md says which other
/// libraries are loaded when they are needed). Operations are issued and
/// proceed beside the host; streams and events are the GPU's own. Streams may
/// have a thread each. GEMMs, library ops and launches belong to one thread.
///
/// HOCKET_CUDA_BLOCKING=1 waits for each operation, so that an error is told
/// at the one that made it.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_HAL_DRIVERS_CUDA_CUDADEVICE_H
#define HOCKET_RUNTIME_HAL_DRIVERS_CUDA_CUDADEVICE_H

#include "runtime/hal/interfaces/Device.h"

#include <memory>

namespace hocket::hal {

/// The GPU with number `index` of those that the driver shows.
/// FailedPrecondition without a driver or with fewer GPUs.
StatusOr<std::unique_ptr<Device>> createCudaDevice(unsigned index = 0);

/// What a GPU is, without using it.
struct GpuInfo {
  std::string name;         ///< "NVIDIA H200"
  std::string architecture; ///< "sm_90a"
  uint64_t memoryBytes = 0;
};

/// The GPUs that the driver shows. FailedPrecondition without a driver.
StatusOr<std::vector<GpuInfo>> listGpus();

} // namespace hocket::hal

#endif // HOCKET_RUNTIME_HAL_DRIVERS_CUDA_CUDADEVICE_H
