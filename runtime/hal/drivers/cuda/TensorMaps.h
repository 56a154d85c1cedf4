//===- TensorMaps.h - Tensor maps for TMA -----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_HAL_DRIVERS_CUDA_TENSORMAPS_H
#define HOCKET_RUNTIME_HAL_DRIVERS_CUDA_TENSORMAPS_H

#include "kernels/cuda/launches/Library.h"
#include "runtime/cuda/DriverApi.h"

#include <memory>
#include <unordered_map>

namespace hocket::hal::cuda {

/// The tensor maps of a device. One is made, on the host alone, when a tensor
/// is first met at an address: layers and microbatches have addresses of their
/// own. Used by one thread at a time.
class TensorMaps {
public:
  explicit TensorMaps(const DriverApi &api) : api(api) {}
  TensorMaps(const TensorMaps &) = delete;

  /// That of `tensor` with its first element at `address`; it stays where it
  /// is. InvalidArgument, with what was asked for, if the driver refuses it.
  StatusOr<const CUtensorMap *> find(const kernels::CudaTensor &tensor,
                                     CUdeviceptr address);

private:
  struct Known {
    kernels::CudaTensor tensor;
    CUtensorMap map;
  };

  const DriverApi &api;
  /// By address, where few tensors are.
  std::unordered_multimap<CUdeviceptr, std::unique_ptr<Known>> known;
};

} // namespace hocket::hal::cuda

#endif // HOCKET_RUNTIME_HAL_DRIVERS_CUDA_TENSORMAPS_H
