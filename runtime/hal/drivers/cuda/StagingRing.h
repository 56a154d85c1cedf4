//===- StagingRing.h - Pinned memory between host and GPU -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A GPU copies beside its work only from and to pinned memory. The copies of
/// one stream go through a few chunks of it, used in turn: a chunk is used
/// again when what it last carried has arrived.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_HAL_DRIVERS_CUDA_STAGINGRING_H
#define HOCKET_RUNTIME_HAL_DRIVERS_CUDA_STAGINGRING_H

#include "runtime/cuda/DriverApi.h"

#include <array>
#include <cstdint>

namespace hocket::hal::cuda {

/// Used by one thread at a time, with the GPU's context current, also when it
/// is destroyed. Memory is allocated at the first copy.
class StagingRing {
public:
  StagingRing(const DriverApi &api, CUstream stream)
      : api(api), stream(stream) {}
  ~StagingRing();
  StagingRing(const StagingRing &) = delete;

  /// `from` is free again on return.
  Status copyFromHost(const void *from, CUdeviceptr to, uint64_t bytes);
  /// `to` is filled by the next finish().
  Status copyToHost(CUdeviceptr from, void *to, uint64_t bytes);
  /// Waits for the copies and fills what they go to.
  Status finish();

private:
  static constexpr uint64_t chunkBytes = 4 << 20;

  struct Chunk {
    void *memory = nullptr;
    CUevent arrived = nullptr;
    bool busy = false;
    void *target = nullptr; ///< Of a copy to the host.
    uint64_t bytes = 0;
  };

  /// A chunk that carries nothing.
  StatusOr<Chunk *> next();
  Status finish(Chunk &chunk);

  const DriverApi &api;
  CUstream stream;
  std::array<Chunk, 2> chunks;
  size_t turn = 0;
};

} // namespace hocket::hal::cuda

#endif // HOCKET_RUNTIME_HAL_DRIVERS_CUDA_STAGINGRING_H
