//===- LibraryKernels.h - Library ops on a GPU ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_HAL_DRIVERS_CUDA_LIBRARYKERNELS_H
#define HOCKET_RUNTIME_HAL_DRIVERS_CUDA_LIBRARYKERNELS_H

#include "kernels/cuda/launches/Library.h"
#include "runtime/hal/drivers/cuda/GpuModules.h"
#include "runtime/hal/drivers/cuda/Graphs.h"
#include "runtime/hal/drivers/cuda/TensorMaps.h"

#include <memory>
#include <unordered_map>

namespace hocket::hal::cuda {

/// Where the bytes of a call's arguments are.
struct LibraryMemory {
  CUdeviceptr arena = 0; ///< What ranges count from.
  CUdeviceptr workspace = 0;
  uint64_t workspaceBytes = 0;
  CUdeviceptr fault = 0; ///< The fault word.
};

/// Makes the launches of kernels/cuda/launches/Library.h, whose functions the
/// modules of the program have. What a call is does not change from step to
/// step: it is found out once. Used by one thread at a time with the context
/// current.
class LibraryKernels {
public:
  LibraryKernels(const DriverApi &api, Graphs &graphs,
                 const GpuModules &modules);
  ~LibraryKernels();

  /// How many of persistent kernels' blocks run at once.
  void setMultiprocessors(uint32_t count) { multiprocessors = count; }

  /// Loads the code of `call`, unless run() would refuse it.
  void prepare(const LibraryCall &call) { (void)find(call); }

  /// Issues `call`, which Device has checked. InvalidArgument for an op that
  /// does not run on GPUs, NotFound if the program has not its functions.
  Status run(const LibraryCall &call, const LibraryMemory &memory,
             CUstream stream);

private:
  struct Launch;
  struct Prepared;
  StatusOr<const Prepared *> find(const LibraryCall &call);
  StatusOr<std::unique_ptr<Prepared>> make(const LibraryCall &call);
  Status addTensors(const Launch &launch, const LibraryCall &call,
                    const LibraryMemory &memory,
                    std::vector<void *> &arguments);

  Graphs &graphs; ///< Launches.
  const GpuModules &modules;
  TensorMaps tensors;
  uint32_t multiprocessors = 1;
  /// By a hash of the op and its numbers.
  std::unordered_multimap<size_t, std::unique_ptr<Prepared>> known;
};

} // namespace hocket::hal::cuda

#endif // HOCKET_RUNTIME_HAL_DRIVERS_CUDA_LIBRARYKERNELS_H
