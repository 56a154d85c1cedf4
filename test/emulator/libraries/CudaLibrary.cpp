//===- CudaLibrary.cpp - The emulated libcuda -----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The functions of DriverApi.h over emulated GPUs (Gpu.h). Environment:
///
///   HOCKET_EMULATED_GPUS    how many there are (1)
///   HOCKET_EMULATED_ARCH    what they are (90: compute capability 9.0)
///   HOCKET_EMULATED_MEMORY  bytes of each (2^31)
///   HOCKET_EMULATED_SEED    of the orders in which streams advance (1)
///
/// They are read when a GPU is taken into use.
///
//===----------------------------------------------------------------------===//

#include "test/emulator/libraries/CudaLibrary.h"

#include "test/emulator/Module.h"
#include "test/emulator/libraries/Gpu.h"

#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>

using namespace hocket;
using namespace hocket::emulator;
using namespace hocket::hal::cuda;

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's.

//===----------------------------------------------------------------------===//
// Objects behind the handles
//===----------------------------------------------------------------------===//

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

struct CUevent_st {
  std::shared_ptr<Event> event = std::make_shared<Event>();
};

struct CUctx_st {
  CUctx_st(size_t bytes, uint64_t seed) : gpu(bytes, seed) {
    gpu.streams.push_back(std::make_unique<Stream>());
  }

  Gpu gpu;
  std::set<CUevent_st *> events;
  std::set<CUmod_st *> modules;
  std::unique_ptr<Graph> capture; ///< That goes on.
  std::thread::id capturer;       ///< Who began it.
};
} // namespace hocket::hal::cuda

namespace {

constexpr CUresult CUDA_ERROR_INVALID_CONTEXT = 201;
constexpr CUresult CUDA_ERROR_INVALID_HANDLE = 400;
constexpr CUresult CUDA_ERROR_INVALID_DEVICE = 101;
constexpr size_t mostSharedOfBlock = 227 << 10;

uint64_t numberFrom(const char *variable, uint64_t otherwise) {
  const char *text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

int gpuCount() {
  return static_cast<int>(numberFrom("HOCKET_EMULATED_GPUS", 1));
}
size_t gpuBytes() {
  return numberFrom("HOCKET_EMULATED_MEMORY", size_t(1) << 31);
}

/// The contexts in use, by device.
struct Contexts {
  std::mutex mutex;
  struct Entry {
    std::unique_ptr<CUctx_st> context;
    unsigned users = 0;
  };
  std::map<CUdevice, Entry> entries;
} contexts;

thread_local CUctx_st *current = nullptr;
/// Of the kernel that runs on this thread.
thread_local CUctx_st *running = nullptr;
thread_local std::string runningName;
/// What cuGetErrorString() returned last.
thread_local std::string lastText;

/// Runs `body` with the current context, unless it has failed.
template <typename Body> CUresult inContext(const Body &body) {
  if (!current)
    return CUDA_ERROR_INVALID_CONTEXT;
  std::lock_guard lock(current->gpu.mutex);
  if (!current->gpu.error().empty())
    return CUDA_ERROR_LAUNCH_FAILED;
  CUresult result = body(*current);
  return current->gpu.error().empty() ? result : CUDA_ERROR_LAUNCH_FAILED;
}

Stream *find(CUctx_st &context, CUstream handle) {
  if (!handle)
    return context.gpu.streams.front().get();
  for (const auto &stream : context.gpu.streams)
    if (stream.get() == reinterpret_cast<Stream *>(handle))
      return stream.get();
  return nullptr;
}

/// The same, unless this thread captures: then nothing that waits, allocates or
/// asks about streams is allowed, and the capture has failed.
template <typename Body> CUresult outsideCapture(const Body &body) {
  return inContext([&](CUctx_st &context) {
    if (!context.capture || context.capturer != std::this_thread::get_id())
      return CUresult(body(context));
    context.capture->isInvalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  });
}

/// Runs `body` with a stream of the current context.
template <typename Body> CUresult onStream(CUstream handle, const Body &body) {
  return inContext([&](CUctx_st &context) {
    Stream *stream = find(context, handle);
    return stream ? body(context, *stream) : CUDA_ERROR_INVALID_HANDLE;
  });
}

template <typename Body> CUresult withEvent(CUevent handle, const Body &body) {
  return inContext([&](CUctx_st &context) {
    return context.events.count(handle) ? body(context, handle->event)
                                        : CUDA_ERROR_INVALID_HANDLE;
  });
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

std::string checkUses(CUctx_st &context, const std::vector<MemoryUse> &uses) {
  for (const MemoryUse &use : uses)
    if (std::string error =
            context.gpu.memory.access(use.address, use.bytes, use.writes);
        !error.empty())
      return error;
  return "";
}

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

void *pointerOf(CUdeviceptr address) {
  return reinterpret_cast<void *>(address);
}

} // namespace

namespace {
/// A meeting that begins with a check of the memory.
class CheckedMeeting : public Meeting {
public:
  CheckedMeeting(CUctx_st &context, std::vector<MemoryUse> uses,
                 std::shared_ptr<Meeting> meeting)
      : context(context), uses(std::move(uses)), meeting(std::move(meeting)) {}
  std::string arrive() override {
    std::string error = checkUses(context, uses);
    std::string other = meeting->arrive();
    return error.empty() ? other : error;
  }
  bool isOver() const override { return meeting->isOver(); }

private:
  CUctx_st &context;
  std::vector<MemoryUse> uses;
  std::shared_ptr<Meeting> meeting;
};
} // namespace

CUresult emulator::meetOn(CUstream handle, std::vector<MemoryUse> uses,
                          std::shared_ptr<Meeting> meeting) {
  return onStream(handle, [&](CUctx_st &context, Stream &stream) {
    if (stream.capture)
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    context.gpu.meet(stream, std::make_shared<CheckedMeeting>(
                                 context, std::move(uses), std::move(meeting)));
    return CUDA_SUCCESS;
  });
}

CUresult emulator::enqueueOn(CUstream handle, std::vector<MemoryUse> uses,
                             std::function<void()> work) {
  return onStream(handle, [&](CUctx_st &context, Stream &stream) {
    context.gpu.enqueue(
        stream, [&context, uses = std::move(uses), work = std::move(work)] {
          std::string error = checkUses(context, uses);
          if (error.empty())
            work();
          return error;
        });
    return CUDA_SUCCESS;
  });
}

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

#define HOCKET_EXPORT extern "C" __attribute__((visibility("default")))

HOCKET_EXPORT CUresult cuInit(unsigned) {
  return gpuCount() > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

HOCKET_EXPORT CUresult cuDriverGetVersion(int *version) {
  *version = 13000;
  return CUDA_SUCCESS;
}

HOCKET_EXPORT CUresult cuGetErrorName(CUresult result, const char **name) {
  static const std::map<CUresult, const char *> names = {
      {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
      {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
      {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
      {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"},
      {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE"},
      {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
      {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE"},
      {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
      {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY"},
      {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"},
      {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
       "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
      {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
       "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
      {CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
       "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"},
      {CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
       "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"}};
  auto found = names.find(result);
  *name = found == names.end() ? nullptr : found->second;
  return CUDA_SUCCESS;
}

HOCKET_EXPORT CUresult cuGetErrorString(CUresult result, const char **text) {
  lastText = "emulated";
  if (result == CUDA_ERROR_LAUNCH_FAILED && current) {
    std::lock_guard lock(current->gpu.mutex);
    lastText = current->gpu.error();
  }
  *text = lastText.c_str();
  return CUDA_SUCCESS;
}

HOCKET_EXPORT CUresult cuDeviceGetCount(int *count) {
  *count = gpuCount();
  return CUDA_SUCCESS;
}

HOCKET_EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  *device = ordinal;
  return ordinal >= 0 && ordinal < gpuCount() ? CUDA_SUCCESS
                                              : CUDA_ERROR_INVALID_DEVICE;
}

HOCKET_EXPORT CUresult cuDeviceGetName(char *name, int length, CUdevice) {
  std::strncpy(name, "Emulated GPU", size_t(length));
  return CUDA_SUCCESS;
}

HOCKET_EXPORT CUresult cuDeviceGetAttribute(int *value, int attribute,
                                            CUdevice) {
  auto architecture = int(numberFrom("HOCKET_EMULATED_ARCH", 90));
  if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
    *value = architecture / 10;
  else if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
    *value = architecture % 10;
  else if (attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
    *value = 4;
  else
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

HOCKET_EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice) {
  *bytes = gpuBytes();
  return CUDA_SUCCESS;
}

HOCKET_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *context,
                                                CUdevice device) {
  std::lock_guard lock(contexts.mutex);
  auto &entry = contexts.entries[device];
  if (entry.users++ == 0)
    entry.context = std::make_unique<CUctx_st>(
        gpuBytes(),
        numberFrom("HOCKET_EMULATED_SEED", 1) * 1000 + unsigned(device));
  *context = entry.context.get();
  return CUDA_SUCCESS;
}

HOCKET_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  std::lock_guard lock(contexts.mutex);
  auto &entry = contexts.entries[device];
  if (entry.users == 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (--entry.users > 0)
    return CUDA_SUCCESS;
  if (current == entry.context.get())
    current = nullptr;
  entry.context.reset();
  return CUDA_SUCCESS;
}

HOCKET_EXPORT CUresult cuCtxSetCurrent(CUcontext context) {
  current = context;
  return CUDA_SUCCESS;
}

HOCKET_EXPORT CUresult cuCtxSynchronize() {
  return outsideCapture([](CUctx_st &context) {
    context.gpu.finish();
    return CUDA_SUCCESS;
  });
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

HOCKET_EXPORT CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
  return inContext([&](CUctx_st &context) {
    *total = context.gpu.memory.capacity();
    *free = *total - context.gpu.memory.used();
    return CUDA_SUCCESS;
  });
}

HOCKET_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  return outsideCapture([&](CUctx_st &context) {
    if (bytes == 0)
      return CUDA_ERROR_INVALID_VALUE;
    *address = context.gpu.memory.allocate(bytes);
    return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  });
}

HOCKET_EXPORT CUresult cuMemFree_v2(CUdeviceptr address) {
  return outsideCapture([&](CUctx_st &context) {
    context.gpu.finish();
    return context.gpu.memory.release(address) ? CUDA_SUCCESS
                                               : CUDA_ERROR_INVALID_VALUE;
  });
}

HOCKET_EXPORT CUresult cuMemAllocHost_v2(void **address, size_t bytes) {
  return outsideCapture([&](CUctx_st &) {
    *address = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    return *address ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  });
}

HOCKET_EXPORT CUresult cuMemFreeHost(void *address) {
  std::free(address);
  return CUDA_SUCCESS;
}

HOCKET_EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from,
                                            size_t bytes, CUstream stream) {
  return enqueueOn(stream, {{to, bytes, true}},
                   [=] { std::memcpy(pointerOf(to), from, bytes); });
}

HOCKET_EXPORT CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from,
                                            size_t bytes, CUstream stream) {
  return enqueueOn(stream, {{from, bytes, false}},
                   [=] { std::memcpy(to, pointerOf(from), bytes); });
}

HOCKET_EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from,
                                            size_t bytes, CUstream stream) {
  return enqueueOn(stream, {{from, bytes, false}, {to, bytes, true}},
                   [=] { std::memcpy(pointerOf(to), pointerOf(from), bytes); });
}

HOCKET_EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value,
                                       size_t bytes, CUstream stream) {
  return enqueueOn(stream, {{to, bytes, true}},
                   [=] { std::memset(pointerOf(to), value, bytes); });
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

HOCKET_EXPORT CUresult cuStreamCreate(CUstream *stream, unsigned) {
  return inContext([&](CUctx_st &context) {
    context.gpu.streams.push_back(std::make_unique<Stream>());
    *stream = reinterpret_cast<CUstream>(context.gpu.streams.back().get());
    return CUDA_SUCCESS;
  });
}

HOCKET_EXPORT CUresult cuStreamDestroy_v2(CUstream handle) {
  return onStream(handle, [&](CUctx_st &context, Stream &stream) {
    context.gpu.finish(stream);
    std::erase_if(context.gpu.streams,
                  [&](const auto &each) { return each.get() == &stream; });
    return CUDA_SUCCESS;
  });
}

HOCKET_EXPORT CUresult cuStreamSynchronize(CUstream handle) {
  return outsideCapture([&](CUctx_st &context) {
    Stream *stream = find(context, handle);
    if (!stream)
      return CUDA_ERROR_INVALID_HANDLE;
    context.gpu.finish(*stream);
    return CUDA_SUCCESS;
  });
}

HOCKET_EXPORT CUresult cuStreamWaitEvent(CUstream handle, CUevent event,
                                         unsigned) {
  return onStream(handle, [&](CUctx_st &context, Stream &stream) {
    if (!context.events.count(event))
      return CUDA_ERROR_INVALID_HANDLE;
    return context.gpu.wait(stream, event->event)
               ? CUDA_SUCCESS
               : CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  });
}

HOCKET_EXPORT CUresult cuEventCreate(CUevent *event, unsigned) {
  return inContext([&](CUctx_st &context) {
    *event = new CUevent_st();
    context.events.insert(*event);
    return CUDA_SUCCESS;
  });
}

HOCKET_EXPORT CUresult cuEventDestroy_v2(CUevent event) {
  return withEvent(event, [&](CUctx_st &context, const auto &) {
    context.events.erase(event);
    delete event;
    return CUDA_SUCCESS;
  });
}

HOCKET_EXPORT CUresult cuEventRecord(CUevent event, CUstream handle) {
  return onStream(handle, [&](CUctx_st &context, Stream &stream) {
    if (!context.events.count(event))
      return CUDA_ERROR_INVALID_HANDLE;
    context.gpu.record(stream, event->event);
    return CUDA_SUCCESS;
  });
}

HOCKET_EXPORT CUresult cuEventSynchronize(CUevent handle) {
  return outsideCapture([&](CUctx_st &context) {
    if (!context.events.count(handle))
      return CUDA_ERROR_INVALID_HANDLE;
    context.gpu.finish(*handle->event);
    return CUDA_SUCCESS;
  });
}

HOCKET_EXPORT CUresult cuEventQuery(CUevent handle) {
  return withEvent(handle, [&](CUctx_st &, const auto &event) {
    return event->reached >= event->recorded ? CUDA_SUCCESS
                                             : CUDA_ERROR_NOT_READY;
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

// NOLINTEND(readability-identifier-naming)
