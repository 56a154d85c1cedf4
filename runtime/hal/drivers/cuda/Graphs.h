//===- Graphs.h - Work that a GPU does as one -------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// CUDA graphs, captured from streams, and the pinned memory that their copies
/// use. A capture is of the thread that begins it: what other threads do with
/// the GPU meanwhile is not their mistake.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_HAL_DRIVERS_CUDA_GRAPHS_H
#define HOCKET_RUNTIME_HAL_DRIVERS_CUDA_GRAPHS_H

#include "runtime/cuda/DriverApi.h"

#include <cstdint>
#include <vector>

namespace hocket::hal::cuda {

class Graphs {
public:
  explicit Graphs(const DriverApi &api) : api(api) {}
  Graphs(const Graphs &) = delete;

  /// From now on `stream` keeps what it is given, as do streams that wait for
  /// its events.
  Status begin(CUstream stream);
  /// Makes a graph of that; the next index. Ends the capture in any case.
  Status end(CUstream stream);
  Status launch(size_t index, CUstream stream) const;

  StatusOr<void *> allocatePinned(uint64_t bytes);

  /// Gives everything back, while the context is current.
  void close();

private:
  const DriverApi &api;
  std::vector<CUgraphExec> graphs;
  std::vector<void *> pinned;
};

} // namespace hocket::hal::cuda

#endif // HOCKET_RUNTIME_HAL_DRIVERS_CUDA_GRAPHS_H
