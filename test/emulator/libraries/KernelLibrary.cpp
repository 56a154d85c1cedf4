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
#include "test/emulator/libraries/Context.h"

#include <cstring>

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
  size_t mostShared = 48 << 10;
};

struct CUgraph_st {
  std::unique_ptr<Graph> graph;
};

struct CUgraphExec_st {
  std::unique_ptr<Graph> graph;
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
  return inContext([&](CUctx_st &context) {
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

HOCKET_EXPORT CUresult cuModuleGetFunction(CUfunction *function,
                                           CUmodule module, const char *name) {
  return inContext([&](CUctx_st &context) {
    if (!context.modules.count(module))
      return CUDA_ERROR_INVALID_HANDLE;
    if (!module->module->has(name))
      return CUDA_ERROR_NOT_FOUND;
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

HOCKET_EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned gridX,
                                      unsigned gridY, unsigned gridZ,
                                      unsigned blockX, unsigned blockY,
                                      unsigned blockZ, unsigned sharedBytes,
                                      CUstream handle, void **arguments,
                                      void **extra) {
  return onStream(handle, [&](CUctx_st &context, Stream &stream) {
    uint64_t threads = uint64_t(blockX) * blockY * blockZ;
    bool fits = threads >= 1 && threads <= 1024 && gridX >= 1 &&
                gridX <= INT32_MAX && gridY >= 1 && gridY <= 65535 &&
                gridZ >= 1 && gridZ <= 65535 &&
                sharedBytes <= function->mostShared && !extra;
    if (!fits)
      return CUDA_ERROR_INVALID_VALUE;
    Launch launch;
    launch.gridSize = {gridX, gridY, gridZ};
    launch.blockSize = {blockX, blockY, blockZ};
    launch.sharedBytes = sharedBytes;
    launch.seed = context.gpu.draw();
    auto owned = std::make_shared<OwnedLaunch>(function, launch, arguments);
    context.gpu.enqueue(stream,
                        [owned, &context] { return owned->run(context); });
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
  delete graph;
  return CUDA_SUCCESS;
}

/// Streams of its branches stay; they are empty once it has been done.
HOCKET_EXPORT CUresult cuGraphExecDestroy(CUgraphExec executable) {
  delete executable;
  return CUDA_SUCCESS;
}

HOCKET_EXPORT CUresult cuGraphLaunch(CUgraphExec executable, CUstream handle) {
  return onStream(handle, [&](CUctx_st &context, Stream &stream) {
    context.gpu.launch(*executable->graph, stream);
    return CUDA_SUCCESS;
  });
}

// NOLINTEND(readability-identifier-naming)
