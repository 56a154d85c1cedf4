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
/// All kernels of the device are launched here, so that those whose arguments
/// vary can be found again in a graph. New arguments cost a call of the driver
/// for each of them before a launch of the graph.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_HAL_DRIVERS_CUDA_GRAPHS_H
#define HOCKET_RUNTIME_HAL_DRIVERS_CUDA_GRAPHS_H

#include "runtime/cuda/DriverApi.h"

#include <cstdint>
#include <optional>
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
  /// Has kernels that vary give a graph their arguments, from the first to the
  /// last, until it is launched.
  Status beginUpdate(size_t index);
  bool isUpdating() const { return updated.has_value(); }
  Status launch(size_t index, CUstream stream);

  /// `varies`: its arguments, from one launch of a graph to the next.
  Status launchKernel(const CUDA_KERNEL_NODE_PARAMS &kernel, CUstream stream,
                      bool varies);

  StatusOr<void *> allocatePinned(uint64_t bytes);

  /// Gives everything back, while the context is current.
  void close();

private:
  struct Recorded {
    CUgraph graph = nullptr; ///< Whose nodes the other's are known by.
    CUgraphExec executable = nullptr;
    std::vector<CUgraphNode> varying; ///< In the order of issue.
  };
  Status noteNode(CUstream stream);
  Status update(const CUDA_KERNEL_NODE_PARAMS &kernel, bool varies);

  const DriverApi &api;
  std::vector<Recorded> graphs;
  std::optional<Recorded> captured; ///< While streams are.
  std::optional<size_t> updated;    ///< The graph that takes arguments.
  size_t next = 0;                  ///< Of those that vary in it.
  std::vector<void *> pinned;
};

} // namespace hocket::hal::cuda

#endif // HOCKET_RUNTIME_HAL_DRIVERS_CUDA_GRAPHS_H
