//===- CudaLibrary.cpp - The emulated libcuda -----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The functions of DriverApi.h over emulated GPUs (Gpu.h), but for those of
/// kernels (KernelLibrary.cpp). Environment:
///
///   HOCKET_EMULATED_GPUS    how many there are (1)
///   HOCKET_EMULATED_ARCH    what they are (90: compute capability 9.0)
///   HOCKET_EMULATED_MEMORY  bytes of each (2^31)
///   HOCKET_EMULATED_MULTIPROCESSORS  of each (4)
///   HOCKET_EMULATED_SEED    of the orders in which streams advance (1)
///
/// They are read when a GPU is taken into use.
///
//===----------------------------------------------------------------------===//

#include "test/emulator/libraries/CudaLibrary.h"

#include "test/emulator/libraries/Context.h"

#include <cstdlib>
#include <cstring>
#include <map>

using namespace hocket;
using namespace hocket::emulator;
using namespace hocket::hal::cuda;

thread_local CUctx_st *emulator::current = nullptr;

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's.

namespace {

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

unsigned multiprocessors() {
  return unsigned(numberFrom("HOCKET_EMULATED_MULTIPROCESSORS", 4));
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

/// What cuGetErrorString() returned last.
thread_local std::string lastText;

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

void *pointerOf(CUdeviceptr address) {
  return reinterpret_cast<void *>(address);
}

/// A meeting that begins with a check of the memory.
class CheckedMeeting : public Meeting {
public:
  CheckedMeeting(CUctx_st &context, std::vector<MemoryUse> uses,
                 std::shared_ptr<Meeting> meeting)
      : context(context), uses(std::move(uses)), meeting(std::move(meeting)) {}
  unsigned blocks() const override { return meeting->blocks(); }
  void issue() override { meeting->issue(); }
  bool mayBegin() override { return meeting->mayBegin(); }
  std::string arrive() override {
    std::string error = checkUses(context, uses);
    std::string other = meeting->arrive();
    return error.empty() ? other : error;
  }
  bool isOver() const override { return meeting->isOver(); }
  void capture() override { meeting->capture(); }
  std::shared_ptr<Meeting> again(uint64_t launch) override {
    return std::make_shared<CheckedMeeting>(context, uses,
                                            meeting->again(launch));
  }

private:
  CUctx_st &context;
  std::vector<MemoryUse> uses;
  std::shared_ptr<Meeting> meeting;
};
} // namespace

CUresult emulator::meetOn(CUstream handle, std::vector<MemoryUse> uses,
                          std::shared_ptr<Meeting> meeting) {
  return onStream(handle, [&](CUctx_st &context, Stream &stream) {
    context.gpu.meet(stream, std::make_shared<CheckedMeeting>(
                                 context, std::move(uses), std::move(meeting)));
    return CUDA_SUCCESS;
  });
}

const void *emulator::currentGpu() { return current; }

void emulator::letGpuGoOn() {
  (void)inContext([](CUctx_st &context) {
    context.gpu.goOn();
    return CUDA_SUCCESS;
  });
}

CUresult emulator::enqueueOn(CUstream handle, std::vector<MemoryUse> uses,
                             std::function<void()> work, double micros) {
  return onStream(handle, [&](CUctx_st &context, Stream &stream) {
    context.gpu.enqueue(stream, [&context, micros, uses = std::move(uses),
                                 work = std::move(work)] {
      context.gpu.micros += micros;
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

HOCKET_EXPORT CUresult cuInit(unsigned) {
  return gpuCount() > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

HOCKET_EXPORT CUresult cuDriverGetVersion(int *version) {
  *version = int(numberFrom("HOCKET_EMULATED_DRIVER", 13000));
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
      {CUDA_ERROR_CAPTURED_EVENT, "CUDA_ERROR_CAPTURED_EVENT"},
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
    *value = int(multiprocessors());
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
        numberFrom("HOCKET_EMULATED_SEED", 1) * 1000 + unsigned(device),
        multiprocessors());
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

HOCKET_EXPORT CUresult cuEventCreate(CUevent *event, unsigned flags) {
  return inContext([&](CUctx_st &context) {
    *event = new CUevent_st();
    (*event)->isTimed = !(flags & CU_EVENT_DISABLE_TIMING);
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
  return outsideCapture([&](CUctx_st &context) {
    if (!context.events.count(handle))
      return CUDA_ERROR_INVALID_HANDLE;
    const Event &event = *handle->event;
    if (event.capture != 0)
      return CUDA_ERROR_CAPTURED_EVENT;
    return event.reached >= event.recorded ? CUDA_SUCCESS
                                           : CUDA_ERROR_NOT_READY;
  });
}

HOCKET_EXPORT CUresult cuEventElapsedTime(float *milliseconds, CUevent begin,
                                          CUevent end) {
  return withEvent(begin, [&](CUctx_st &context, const auto &first) {
    if (!context.events.count(end) || !begin->isTimed || !end->isTimed)
      return CUDA_ERROR_INVALID_HANDLE;
    const Event &last = *end->event;
    if (first->reached < first->recorded || last.reached < last.recorded)
      return CUDA_ERROR_NOT_READY;
    *milliseconds = float((last.micros - first->micros) / 1000);
    return CUDA_SUCCESS;
  });
}

// NOLINTEND(readability-identifier-naming)
