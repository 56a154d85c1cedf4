//===- KernelLibrary.cpp - Modules, kernels and graphs --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The functions of DriverApi.h that load and launch kernels, and those that
/// keep launches.
///
//===----------------------------------------------------------------------===//

#include "test/emulator/Module.h"
#include "test/emulator/TensorMap.h"
#include "test/emulator/libraries/Context.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <thread>

using namespace hocket;
using namespace hocket::emulator;
using namespace hocket::hal::cuda;

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's.

namespace hocket::hal::cuda {
struct CUmod_st {
  std::unique_ptr<Module> module;
  std::vector<std::unique_ptr<CUfunc_st>> functions;
};

struct CUfunc_st {
  Module *module;
  std::string name;
  std::vector<unsigned> sizes; ///< Of its arguments.
  /// A GPU gives 48 KiB unasked, less what the kernel has statically. How much
  /// that is nobody knows here, so what is not asked for is not given.
  size_t mostShared = 0;
};

struct CUgraph_st {
  std::unique_ptr<Graph> graph;
};

struct CUgraphExec_st {
  std::unique_ptr<Graph> graph;
};

struct CUgraphNode_st {
  uint64_t graph; ///< Its number.
  size_t index;
};
} // namespace hocket::hal::cuda

namespace {

constexpr size_t mostSharedOfBlock = 227 << 10;

/// Of the kernel that runs on this thread.
thread_local CUctx_st *running = nullptr;
thread_local std::string runningName;

/// What a kernel compiled with Watch::Accesses tells.
bool watch(const void *at, unsigned long bytes, bool writes) {
  auto address = reinterpret_cast<uint64_t>(at);
  if (!running->gpu.memory.owns(address))
    return true; // A local variable or shared memory.
  std::string error = running->gpu.memory.access(address, bytes, writes);
  if (!error.empty())
    running->gpu.fail("kernel " + runningName + " " + error);
  return error.empty();
}

/// What HOCKET_EMULATED_TROUBLE ("hang:rope,fault:norm,wrong:adam") says of a
/// kernel whose name has the word behind the colon: "hang", it never ends;
/// "fault", it ends with an illegal address; "wrong", it does nothing.
std::string troubleOf(const std::string &name) {
  const char *text = std::getenv("HOCKET_EMULATED_TROUBLE");
  std::istringstream list(text ? text : "");
  for (std::string each; std::getline(list, each, ',');)
    if (size_t colon = each.find(':');
        colon != std::string::npos &&
        name.find(each.substr(colon + 1)) != std::string::npos)
      return each.substr(0, colon);
  return "";
}

/// A launch that owns its arguments, as the host's may change at once.
class OwnedLaunch {
public:
  OwnedLaunch(CUfunction function, const Launch &launch, void **arguments)
      : module(*function->module), name(function->name), launch(launch) {
    for (size_t i = 0; i < function->sizes.size(); ++i) {
      auto *from = static_cast<std::byte *>(arguments[i]);
      copies.emplace_back(from, from + function->sizes[i]);
    }
  }

  std::string run(CUctx_st &context) {
    std::string trouble = troubleOf(name);
    while (trouble == "hang")
      std::this_thread::sleep_for(std::chrono::seconds(1));
    if (trouble == "fault")
      return "kernel " + name + ": an illegal address";
    if (trouble == "wrong")
      return "";
    std::vector<void *> pointers;
    for (auto &copy : copies)
      pointers.push_back(copy.data());
    running = &context;
    runningName = name;
    std::string error = module.run(name, launch, pointers);
    running = nullptr;
    return error.empty() ? "" : "kernel " + name + ": " + error;
  }

private:
  Module &module;
  std::string name;
  Launch launch;
  std::vector<std::vector<std::byte>> copies;
};

/// A launch that has come to be; null if it is too large for a GPU.
std::shared_ptr<OwnedLaunch> makeLaunch(CUctx_st &context,
                                        const CUDA_KERNEL_NODE_PARAMS &kernel) {
  uint64_t threads =
      uint64_t(kernel.blockDimX) * kernel.blockDimY * kernel.blockDimZ;
  bool fits = threads >= 1 && threads <= 1024 && kernel.gridDimX >= 1 &&
              kernel.gridDimX <= INT32_MAX && kernel.gridDimY >= 1 &&
              kernel.gridDimY <= 65535 && kernel.gridDimZ >= 1 &&
              kernel.gridDimZ <= 65535 && kernel.func &&
              kernel.sharedMemBytes <= kernel.func->mostShared && !kernel.extra;
  if (!fits)
    return nullptr;
  Launch launch;
  launch.gridSize = {kernel.gridDimX, kernel.gridDimY, kernel.gridDimZ};
  launch.blockSize = {kernel.blockDimX, kernel.blockDimY, kernel.blockDimZ};
  launch.sharedBytes = kernel.sharedMemBytes;
  launch.seed = context.gpu.draw();
  return std::make_shared<OwnedLaunch>(kernel.func, launch,
                                       kernel.kernelParams);
}

Work workOf(CUctx_st &context, const std::shared_ptr<OwnedLaunch> &launch) {
  return [launch, &context] { return launch->run(context); };
}

/// The nodes that have been told, until their graph is destroyed.
struct ToldNodes {
  std::mutex mutex;
  std::map<CUgraphNode, std::unique_ptr<CUgraphNode_st>> known;

  CUgraphNode add(uint64_t graph, size_t index) {
    std::lock_guard lock(mutex);
    auto node = std::make_unique<CUgraphNode_st>(CUgraphNode_st{graph, index});
    CUgraphNode handle = node.get();
    known.emplace(handle, std::move(node));
    return handle;
  }
  bool contains(CUgraphNode node) {
    std::lock_guard lock(mutex);
    return known.contains(node);
  }
  void forget(uint64_t graph) {
    std::lock_guard lock(mutex);
    std::erase_if(
        known, [&](const auto &each) { return each.second->graph == graph; });
  }
} toldNodes;

/// What cuStreamGetCaptureInfo_v2() returned last.
thread_local CUgraphNode lastNode = nullptr;

} // namespace

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// The bytes of an ELF file that has its section headers last, as linkers
/// write it; 0 if it is none.
static size_t elfBytes(const void *image) {
  const auto *bytes = static_cast<const char *>(image);
  if (std::memcmp(bytes,
                  "\x7f"
                  "ELF",
                  4) != 0)
    return 0;
  uint64_t start = 0;
  uint16_t size = 0, count = 0;
  std::memcpy(&start, bytes + 0x28, sizeof(start));
  std::memcpy(&size, bytes + 0x3a, sizeof(size));
  std::memcpy(&count, bytes + 0x3c, sizeof(count));
  return start + size_t(size) * count;
}

HOCKET_EXPORT CUresult cuModuleLoadData(CUmodule *handle, const void *image) {
  return outsideCapture([&](CUctx_st &context) {
    size_t bytes = elfBytes(image);
    if (bytes == 0)
      return CUDA_ERROR_INVALID_IMAGE;
    std::string error;
    auto module = Module::load(
        std::string(static_cast<const char *>(image), bytes), error);
    if (!module)
      return CUDA_ERROR_INVALID_IMAGE;
    module->setWatcher(watch);
    *handle = new CUmod_st{std::move(module), {}};
    context.modules.insert(*handle);
    return CUDA_SUCCESS;
  });
}

HOCKET_EXPORT CUresult cuModuleUnload(CUmodule module) {
  return inContext([&](CUctx_st &context) {
    if (context.modules.erase(module) == 0)
      return CUDA_ERROR_INVALID_HANDLE;
    context.gpu.finish();
    delete module;
    return CUDA_SUCCESS;
  });
}

/// Loads the function, for which it waits until the GPU does nothing, as
/// drivers may ("Lazy Loading").
HOCKET_EXPORT CUresult cuModuleGetFunction(CUfunction *function,
                                           CUmodule module, const char *name) {
  return outsideCapture([&](CUctx_st &context) {
    if (!context.modules.count(module))
      return CUDA_ERROR_INVALID_HANDLE;
    if (!module->module->has(name))
      return CUDA_ERROR_NOT_FOUND;
    context.gpu.finish();
    module->functions.push_back(std::make_unique<CUfunc_st>(CUfunc_st{
        module->module.get(), name, module->module->argumentSizes(name)}));
    *function = module->functions.back().get();
    return CUDA_SUCCESS;
  });
}

HOCKET_EXPORT CUresult cuFuncSetAttribute(CUfunction function, int attribute,
                                          int value) {
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
      value < 0 || size_t(value) > mostSharedOfBlock)
    return CUDA_ERROR_INVALID_VALUE;
  function->mostShared = size_t(value);
  return CUDA_SUCCESS;
}

HOCKET_EXPORT CUresult cuTensorMapEncodeTiled(
    CUtensorMap *map, int dataType, unsigned rank, void *address,
    const unsigned long long *sizes, const unsigned long long *strides,
    const unsigned *box, const unsigned *elementStrides, int interleave,
    int swizzle, int l2Promotion, int fill) {
  std::string error = TensorMap::encode(
      {dataType, rank, address, sizes, strides, box, elementStrides, interleave,
       swizzle, l2Promotion, fill},
      map);
  return error.empty() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

HOCKET_EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned gridX,
                                      unsigned gridY, unsigned gridZ,
                                      unsigned blockX, unsigned blockY,
                                      unsigned blockZ, unsigned sharedBytes,
                                      CUstream handle, void **arguments,
                                      void **extra) {
  return onStream(handle, [&](CUctx_st &context, Stream &stream) {
    auto launch =
        makeLaunch(context, {function, gridX, gridY, gridZ, blockX, blockY,
                             blockZ, sharedBytes, arguments, extra});
    if (!launch)
      return CUDA_ERROR_INVALID_VALUE;
    context.gpu.enqueue(stream, workOf(context, launch));
    if (stream.capture)
      stream.capture->nodes.back().isKernel = true;
    return CUDA_SUCCESS;
  });
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

HOCKET_EXPORT CUresult cuStreamBeginCapture_v2(CUstream handle, int) {
  return onStream(handle, [&](CUctx_st &context, Stream &stream) {
    if (!handle || context.capture)
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    context.capture = std::make_unique<Graph>();
    context.capturer = std::this_thread::get_id();
    context.gpu.beginCapture(stream, *context.capture);
    return CUDA_SUCCESS;
  });
}

HOCKET_EXPORT CUresult cuStreamEndCapture(CUstream handle, CUgraph *graph) {
  return onStream(handle, [&](CUctx_st &context, Stream &stream) {
    if (!context.capture || stream.capture != context.capture.get() ||
        stream.branch != 0)
      return CUDA_ERROR_INVALID_VALUE;
    context.gpu.endCapture(*context.capture);
    std::unique_ptr<Graph> captured = std::move(context.capture);
    if (captured->isInvalid)
      return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!captured->isJoined())
      return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    *graph = new CUgraph_st{std::move(captured)};
    return CUDA_SUCCESS;
  });
}

HOCKET_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *executable,
                                                   CUgraph graph,
                                                   unsigned long long) {
  *executable = new CUgraphExec_st{std::make_unique<Graph>(*graph->graph)};
  return CUDA_SUCCESS;
}

HOCKET_EXPORT CUresult cuGraphDestroy(CUgraph graph) {
  toldNodes.forget(graph->graph->id);
  delete graph;
  return CUDA_SUCCESS;
}

/// Streams of its branches stay; they are empty once it has been done.
HOCKET_EXPORT CUresult cuGraphExecDestroy(CUgraphExec executable) {
  delete executable;
  return CUDA_SUCCESS;
}

/// Knows what a stream waits for only just after work of its own.
HOCKET_EXPORT CUresult cuStreamGetCaptureInfo_v2(
    CUstream handle, int *status, unsigned long long *id, CUgraph *,
    const CUgraphNode **dependencies, size_t *count) {
  return onStream(handle, [&](CUctx_st &, Stream &stream) {
    *status = stream.capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : 0;
    if (!stream.capture)
      return CUDA_SUCCESS;
    const Graph &graph = *stream.capture;
    size_t last = graph.nodes.size();
    while (last > 0 && graph.nodes[last - 1].branch != stream.branch)
      --last;
    if (last == 0 || !graph.nodes[last - 1].work)
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    lastNode = toldNodes.add(graph.id, last - 1);
    *id = graph.id, *dependencies = &lastNode, *count = 1;
    return CUDA_SUCCESS;
  });
}

/// Launches from now on take the arguments; those that wait keep theirs.
HOCKET_EXPORT CUresult
cuGraphExecKernelNodeSetParams_v2(CUgraphExec executable, CUgraphNode node,
                                  const CUDA_KERNEL_NODE_PARAMS *kernel) {
  return inContext([&](CUctx_st &context) {
    Graph &graph = *executable->graph;
    if (!toldNodes.contains(node) || node->graph != graph.id ||
        !graph.nodes[node->index].isKernel)
      return CUDA_ERROR_INVALID_VALUE;
    auto launch = makeLaunch(context, *kernel);
    if (!launch)
      return CUDA_ERROR_INVALID_VALUE;
    graph.nodes[node->index].work = workOf(context, launch);
    return CUDA_SUCCESS;
  });
}

HOCKET_EXPORT CUresult cuGraphLaunch(CUgraphExec executable, CUstream handle) {
  return onStream(handle, [&](CUctx_st &context, Stream &stream) {
    context.gpu.launch(*executable->graph, stream);
    return CUDA_SUCCESS;
  });
}

// NOLINTEND(readability-identifier-naming)
