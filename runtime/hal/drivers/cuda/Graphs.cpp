//===- Graphs.cpp - Work that a GPU does as one ---------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/hal/drivers/cuda/Graphs.h"

using namespace hocket;
using namespace hocket::hal::cuda;

Status Graphs::begin(CUstream stream) {
  HOCKET_CUDA_CALL(api, cuStreamBeginCapture, stream,
                   CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  return okStatus();
}

Status Graphs::end(CUstream stream) {
  CUgraph graph = nullptr;
  HOCKET_CUDA_CALL(api, cuStreamEndCapture, stream, &graph);
  CUgraphExec executable = nullptr;
  CUresult result = api.cuGraphInstantiateWithFlags(&executable, graph, 0);
  api.cuGraphDestroy(graph);
  HOCKET_RETURN_IF_ERROR(statusOf(api, result, "cuGraphInstantiate"));
  graphs.push_back(executable);
  return okStatus();
}

Status Graphs::launch(size_t index, CUstream stream) const {
  HOCKET_CUDA_CALL(api, cuGraphLaunch, graphs[index], stream);
  return okStatus();
}

StatusOr<void *> Graphs::allocatePinned(uint64_t bytes) {
  void *memory = nullptr;
  HOCKET_CUDA_CALL(api, cuMemAllocHost, &memory, bytes);
  pinned.push_back(memory);
  return memory;
}

void Graphs::close() {
  for (CUgraphExec executable : graphs)
    api.cuGraphExecDestroy(executable);
  for (void *memory : pinned)
    api.cuMemFreeHost(memory);
  graphs.clear();
  pinned.clear();
}
