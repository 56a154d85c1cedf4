//===- Graphs.cpp - Work that a GPU does as one ---------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/hal/drivers/cuda/Graphs.h"

#include <utility>

using namespace hocket;
using namespace hocket::hal::cuda;

Status Graphs::begin(CUstream stream) {
  HOCKET_CUDA_CALL(api, cuStreamBeginCapture, stream,
                   CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  captured = Recorded();
  return okStatus();
}

Status Graphs::end(CUstream stream) {
  Recorded recorded = *std::exchange(captured, std::nullopt);
  HOCKET_CUDA_CALL(api, cuStreamEndCapture, stream, &recorded.graph);
  CUresult result =
      api.cuGraphInstantiateWithFlags(&recorded.executable, recorded.graph, 0);
  if (result != CUDA_SUCCESS)
    api.cuGraphDestroy(recorded.graph);
  HOCKET_RETURN_IF_ERROR(statusOf(api, result, "cuGraphInstantiate"));
  graphs.push_back(std::move(recorded));
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

Status Graphs::launchKernel(const CUDA_KERNEL_NODE_PARAMS &kernel,
                            CUstream stream, bool varies) {
  if (updated)
    return update(kernel, varies);
  HOCKET_CUDA_CALL(api, cuLaunchKernel, kernel.func, kernel.gridDimX,
                   kernel.gridDimY, kernel.gridDimZ, kernel.blockDimX,
                   kernel.blockDimY, kernel.blockDimZ, kernel.sharedMemBytes,
                   stream, kernel.kernelParams, nullptr);
  return captured && varies ? noteNode(stream) : okStatus();
}

/// What a captured stream's next operation would wait for is the last one.
Status Graphs::noteNode(CUstream stream) {
  int status = 0;
  unsigned long long id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode *nodes = nullptr;
  size_t count = 0;
  HOCKET_CUDA_CALL(api, cuStreamGetCaptureInfo_v2, stream, &status, &id, &graph,
                   &nodes, &count);
  if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE || count != 1)
    return internalError("the driver does not tell a captured kernel's node");
  captured->varying.push_back(nodes[0]);
  return okStatus();
}

Status Graphs::update(const CUDA_KERNEL_NODE_PARAMS &kernel, bool varies) {
  const Recorded &recorded = graphs[*updated];
  if (!varies || next == recorded.varying.size())
    return internalError("a kernel takes the place of one that varies");
  HOCKET_CUDA_CALL(api, cuGraphExecKernelNodeSetParams, recorded.executable,
                   recorded.varying[next++], &kernel);
  return okStatus();
}

Status Graphs::beginUpdate(size_t index) {
  updated = index, next = 0;
  return okStatus();
}

Status Graphs::launch(size_t index, CUstream stream) {
  if (updated && (*updated != index || next != graphs[index].varying.size()))
    return internalError("a graph lacks arguments of kernels that vary");
  updated.reset();
  HOCKET_CUDA_CALL(api, cuGraphLaunch, graphs[index].executable, stream);
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

StatusOr<void *> Graphs::allocatePinned(uint64_t bytes) {
  void *memory = nullptr;
  HOCKET_CUDA_CALL(api, cuMemAllocHost, &memory, bytes);
  pinned.push_back(memory);
  return memory;
}

void Graphs::close() {
  for (const Recorded &recorded : graphs) {
    api.cuGraphExecDestroy(recorded.executable);
    api.cuGraphDestroy(recorded.graph);
  }
  for (void *memory : pinned)
    api.cuMemFreeHost(memory);
  graphs.clear();
  pinned.clear();
}
