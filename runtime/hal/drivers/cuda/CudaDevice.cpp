//===- CudaDevice.cpp - One NVIDIA GPU ------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/hal/drivers/cuda/CudaDevice.h"

#include "base/Format.h"
#include "kernels/cuda/DeviceMemory.h"
#include "runtime/hal/drivers/cuda/CublasLtGemms.h"
#include "runtime/hal/drivers/cuda/Graphs.h"
#include "runtime/hal/drivers/cuda/LibraryKernels.h"
#include "runtime/hal/drivers/cuda/StagingRing.h"

#include <cstdlib>

using namespace hocket;
using namespace hocket::hal;
using namespace hocket::hal::cuda;

namespace {

class CudaDevice : public Device {
public:
  CudaDevice(const DriverApi &api, CUdevice device, Architecture architecture)
      : api(api), device(device), modules(api, architecture), graphs(api),
        library(api, graphs, modules), gemms(api) {
    const char *blocking = std::getenv("HOCKET_CUDA_BLOCKING");
    isBlocking = blocking && std::string_view(blocking) == "1";
  }
  ~CudaDevice() override;

  /// Takes the GPU into use.
  Status open(DeviceProperties properties) {
    about = std::move(properties);
    gemms.setGpu(about.name + " " + about.isa, about.f8Layouts);
    library.setMultiprocessors(about.workers);
    HOCKET_CUDA_CALL(api, cuDevicePrimaryCtxRetain, &context, device);
    return okStatus();
  }

  const DeviceProperties &properties() const override { return about; }
  void *arenaAddress() const override {
    return reinterpret_cast<void *>(arena);
  }
  void *nativeStream(StreamId stream) const override { return at(stream); }
  /// Unless it is to wait for every operation.
  bool canCapture() const override { return !isBlocking; }
  uint64_t allocatedBytes() const override {
    return arena ? kernels::gpuBytes(arenaBytes(), scratchBytes) : scratchBytes;
  }

protected:
  Status doAllocateArena(uint64_t bytes) override;
  Status doCreateQueues(uint32_t streamCount, uint32_t eventCount) override;
  Status doReserveScratch(uint64_t bytes) override;

  Status doLoadModule(const std::string &name,
                      std::span<const ModuleVariant> variants) override {
    HOCKET_RETURN_IF_ERROR(enter());
    return modules.load(name, variants);
  }
  Status doFindKernel(ModuleId module, const std::string &symbol) override {
    HOCKET_RETURN_IF_ERROR(enter());
    HOCKET_ASSIGN_OR_RETURN(GpuFunction function, modules.find(module, symbol));
    functions.push_back(function);
    return okStatus();
  }

  Status doPrepareGemms(std::span<const GemmCall> calls) override;
  Status doPrepareLibrary(std::span<const LibraryCall> calls) override {
    HOCKET_RETURN_IF_ERROR(enter());
    for (const LibraryCall &call : calls)
      library.prepare(call);
    return okStatus();
  }
  Status doLaunch(StreamId stream, const LaunchCall &call) override;
  Status doGemm(StreamId stream, const GemmCall &call) override {
    HOCKET_RETURN_IF_ERROR(enter());
    HOCKET_RETURN_IF_ERROR(gemms.multiply(call, gemmMemory(), at(stream)));
    return settle(stream);
  }
  Status doLibrary(StreamId stream, const LibraryCall &call) override {
    HOCKET_RETURN_IF_ERROR(enter());
    mayFault = true;
    LibraryMemory memory{arena, scratch, scratchBytes, faultWord()};
    HOCKET_RETURN_IF_ERROR(library.run(call, memory, at(stream)));
    return settle(stream);
  }

  Status doCopy(StreamId stream, Range from, Range to) override {
    HOCKET_RETURN_IF_ERROR(enter());
    HOCKET_CUDA_CALL(api, cuMemcpyDtoDAsync, at(to), at(from), to.bytes,
                     at(stream));
    return settle(stream);
  }
  Status doFill(StreamId stream, Range range, uint8_t value) override {
    HOCKET_RETURN_IF_ERROR(enter());
    HOCKET_CUDA_CALL(api, cuMemsetD8Async, at(range), value, range.bytes,
                     at(stream));
    return settle(stream);
  }
  Status doCopyFromHost(StreamId stream, const void *from, Range to) override {
    HOCKET_RETURN_IF_ERROR(enter());
    if (!isCapturing())
      return queues[stream].staging->copyFromHost(from, at(to), to.bytes);
    HOCKET_CUDA_CALL(api, cuMemcpyHtoDAsync, at(to), from, to.bytes,
                     at(stream));
    return okStatus();
  }
  Status doCopyToHost(StreamId stream, Range from, void *to) override {
    HOCKET_RETURN_IF_ERROR(enter());
    if (!isCapturing())
      return queues[stream].staging->copyToHost(at(from), to, from.bytes);
    HOCKET_CUDA_CALL(api, cuMemcpyDtoHAsync, to, at(from), from.bytes,
                     at(stream));
    return okStatus();
  }

  Status doRecord(StreamId stream, EventId event) override {
    HOCKET_RETURN_IF_ERROR(enter());
    HOCKET_CUDA_CALL(api, cuEventRecord, eventOf(event), at(stream));
    return okStatus();
  }
  Status doWait(StreamId stream, EventId event) override {
    HOCKET_RETURN_IF_ERROR(enter());
    HOCKET_CUDA_CALL(api, cuStreamWaitEvent, at(stream), eventOf(event), 0);
    return okStatus();
  }
  Status doSynchronize(StreamId stream) override;

  Status doBeginCapture() override;
  Status doEndCapture() override;
  Status doBeginUpdate(GraphId graph) override {
    return graphs.beginUpdate(graph);
  }
  Status doReplay(GraphId graph) override {
    HOCKET_RETURN_IF_ERROR(enter());
    mayFault = true;
    return graphs.launch(graph, at(0));
  }
  StatusOr<void *> doAllocateHostMemory(uint64_t bytes) override {
    HOCKET_RETURN_IF_ERROR(enter());
    return graphs.allocatePinned(bytes);
  }

private:
  struct Queue {
    CUstream stream = nullptr;
    std::unique_ptr<StagingRing> staging;
  };

  Status fork();
  Status join();
  /// Before any call: threads come and go, each has its own current context.
  Status enter() {
    HOCKET_CUDA_CALL(api, cuCtxSetCurrent, context);
    return okStatus();
  }
  /// After an operation.
  Status settle(StreamId stream) {
    return isBlocking ? doSynchronize(stream) : okStatus();
  }
  /// With all `bytes` that the program needs.
  Status outOfMemory(uint64_t bytes, uint64_t ofScratch) const;
  /// What the kernels of a synchronised stream have reported.
  Status checkFault(StreamId stream);

  GemmMemory gemmMemory() const {
    return {arena, arenaBytes(), scratch, scratchBytes};
  }
  CUevent eventOf(EventId event) const {
    return (isCapturing() ? capturedEvents : events)[event];
  }
  CUstream at(StreamId stream) const { return queues[stream].stream; }
  CUdeviceptr at(Range range) const { return arena + range.offset; }
  CUdeviceptr faultWord() const { return arena + faultOffset; }

  const DriverApi &api;
  CUdevice device;
  CUcontext context = nullptr;
  bool isBlocking = false;
  DeviceProperties about;
  CUdeviceptr arena = 0, scratch = 0;
  uint64_t faultOffset = 0, scratchBytes = 0;
  bool mayFault = false; ///< Stream 0 has ops that may have raised the word.
  std::vector<Queue> queues;
  std::vector<CUevent> events;
  /// What captures use: an event that was captured is of no use elsewhere.
  std::vector<CUevent> capturedEvents;
  std::vector<CUevent> joins; ///< Of streams, where captures begin and end.
  std::vector<GpuFunction> functions;
  GpuModules modules;
  Graphs graphs;
  LibraryKernels library;
  CublasLtGemms gemms;
};

} // namespace

CudaDevice::~CudaDevice() {
  if (!context || api.cuCtxSetCurrent(context) != CUDA_SUCCESS)
    return;
  api.cuCtxSynchronize();
  for (const auto *list : {&events, &capturedEvents, &joins})
    for (CUevent event : *list)
      api.cuEventDestroy(event);
  for (Queue &queue : queues) {
    queue.staging.reset();
    if (queue.stream)
      api.cuStreamDestroy(queue.stream);
  }
  for (CUdeviceptr memory : {scratch, arena})
    if (memory)
      api.cuMemFree(memory);
  graphs.close();
  gemms.close();
  modules.close();
  api.cuDevicePrimaryCtxRelease(device);
}

//===----------------------------------------------------------------------===//
// Set-up
//===----------------------------------------------------------------------===//

Status CudaDevice::outOfMemory(uint64_t bytes, uint64_t ofScratch) const {
  size_t free = 0, total = 0;
  std::string needs = "the program needs " + formatBytes(bytes) + " of memory";
  if (ofScratch > 0)
    needs += " (" + formatBytes(ofScratch) + " of it scratch memory)";
  std::string has = about.name + " has " + formatBytes(about.memoryBytes);
  if (api.cuMemGetInfo(&free, &total) == CUDA_SUCCESS)
    has += ", " + formatBytes(free + allocatedBytes()) + " of it free";
  return resourceExhausted(needs + ", " + has +
                           "; use a smaller micro batch or more recomputation");
}

Status CudaDevice::doAllocateArena(uint64_t bytes) {
  HOCKET_RETURN_IF_ERROR(enter());
  faultOffset = kernels::arenaTailOffset(bytes);
  uint64_t all = faultOffset + kernels::kArenaTailBytes;
  CUresult result = api.cuMemAlloc(&arena, all);
  if (result == CUDA_ERROR_OUT_OF_MEMORY || result == CUDA_ERROR_INVALID_VALUE)
    return outOfMemory(kernels::gpuBytes(bytes, scratchBytes), scratchBytes);
  HOCKET_RETURN_IF_ERROR(statusOf(api, result, "cuMemAlloc"));
  HOCKET_CUDA_CALL(api, cuMemsetD8Async, arena, 0, all, nullptr);
  HOCKET_CUDA_CALL(api, cuStreamSynchronize, nullptr);
  return okStatus();
}

Status CudaDevice::doCreateQueues(uint32_t streamCount, uint32_t eventCount) {
  HOCKET_RETURN_IF_ERROR(enter());
  queues.resize(streamCount);
  for (Queue &queue : queues) {
    HOCKET_CUDA_CALL(api, cuStreamCreate, &queue.stream,
                     CU_STREAM_NON_BLOCKING);
    queue.staging = std::make_unique<StagingRing>(api, queue.stream);
  }
  events.resize(eventCount);
  capturedEvents.resize(eventCount);
  joins.resize(streamCount);
  for (auto *list : {&events, &capturedEvents, &joins})
    for (CUevent &event : *list)
      HOCKET_CUDA_CALL(api, cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
  return okStatus();
}

/// GEMMs and library ops of stream 0 use it one after another.
Status CudaDevice::doReserveScratch(uint64_t bytes) {
  if (bytes <= scratchBytes)
    return okStatus();
  HOCKET_RETURN_IF_ERROR(enter());
  HOCKET_CUDA_CALL(api, cuCtxSynchronize);
  if (scratch)
    HOCKET_CUDA_CALL(api, cuMemFree, scratch);
  scratch = 0, scratchBytes = 0;
  CUresult result = api.cuMemAlloc(&scratch, bytes);
  if (result == CUDA_ERROR_OUT_OF_MEMORY || result == CUDA_ERROR_INVALID_VALUE)
    return outOfMemory(allocatedBytes() + bytes, bytes);
  HOCKET_RETURN_IF_ERROR(statusOf(api, result, "cuMemAlloc"));
  scratchBytes = bytes;
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

Status CudaDevice::doPrepareGemms(std::span<const GemmCall> calls) {
  HOCKET_RETURN_IF_ERROR(enter());
  HOCKET_ASSIGN_OR_RETURN(bool hasWritten,
                          gemms.prepare(calls, gemmMemory(), at(0)));
  if (!hasWritten)
    return okStatus();
  HOCKET_CUDA_CALL(api, cuMemsetD8Async, arena, 0, arenaBytes(), at(0));
  HOCKET_CUDA_CALL(api, cuStreamSynchronize, at(0));
  return okStatus();
}

Status CudaDevice::doLaunch(StreamId stream, const LaunchCall &call) {
  HOCKET_RETURN_IF_ERROR(enter());
  if (call.tasks == 0)
    return okStatus();
  if (call.threads == 0 || call.tasks > INT32_MAX)
    return invalidArgument("launch: the kernel has no threads of a GPU, or too "
                           "many blocks");
  GpuFunction &function = functions[call.kernel];
  HOCKET_RETURN_IF_ERROR(modules.allowShared(function, call.sharedBytes));
  std::vector<CUdeviceptr> pointers;
  for (const Range &range : call.buffers)
    pointers.push_back(at(range));
  std::vector<void *> arguments;
  for (CUdeviceptr &pointer : pointers)
    arguments.push_back(&pointer);
  // One structure of all numbers, which is only read.
  arguments.push_back(const_cast<int64_t *>(call.scalars.data()));
  CUDA_KERNEL_NODE_PARAMS kernel;
  kernel.func = function.handle;
  kernel.gridDimX = unsigned(call.tasks);
  kernel.blockDimX = call.threads;
  kernel.sharedMemBytes = call.sharedBytes;
  kernel.kernelParams = arguments.data();
  HOCKET_RETURN_IF_ERROR(graphs.launchKernel(kernel, at(stream), call.varies));
  return settle(stream);
}

Status CudaDevice::checkFault(StreamId stream) {
  if (stream != 0 || !mayFault)
    return okStatus();
  mayFault = false;
  uint32_t word = 0;
  StagingRing &staging = *queues[stream].staging;
  HOCKET_RETURN_IF_ERROR(staging.copyToHost(faultWord(), &word, sizeof(word)));
  HOCKET_RETURN_IF_ERROR(staging.finish());
  const char *text = kernels::faultText(word);
  if (!text)
    return okStatus();
  HOCKET_CUDA_CALL(api, cuMemsetD8Async, faultWord(), 0, sizeof(word),
                   at(stream));
  return invalidArgument(text);
}

Status CudaDevice::doSynchronize(StreamId stream) {
  HOCKET_RETURN_IF_ERROR(enter());
  HOCKET_CUDA_CALL(api, cuStreamSynchronize, at(stream));
  HOCKET_RETURN_IF_ERROR(queues[stream].staging->finish());
  return checkFault(stream);
}

//===----------------------------------------------------------------------===//
// CUDA graphs
//===----------------------------------------------------------------------===//

/// Streams are captured as they wait for stream 0, which waits for them again.
Status CudaDevice::fork() {
  HOCKET_CUDA_CALL(api, cuEventRecord, joins[0], at(0));
  for (StreamId stream = 1; stream < streams(); ++stream)
    HOCKET_CUDA_CALL(api, cuStreamWaitEvent, at(stream), joins[0], 0);
  return okStatus();
}

Status CudaDevice::join() {
  for (StreamId stream = 1; stream < streams(); ++stream) {
    HOCKET_CUDA_CALL(api, cuEventRecord, joins[stream], at(stream));
    HOCKET_CUDA_CALL(api, cuStreamWaitEvent, at(0), joins[stream], 0);
  }
  return okStatus();
}

Status CudaDevice::doBeginCapture() {
  HOCKET_RETURN_IF_ERROR(enter());
  HOCKET_RETURN_IF_ERROR(graphs.begin(at(0)));
  Status forked = fork();
  if (!forked.ok())
    (void)graphs.end(at(0));
  return forked;
}

Status CudaDevice::doEndCapture() {
  HOCKET_RETURN_IF_ERROR(enter());
  Status joined = join();
  Status ended = graphs.end(at(0));
  return joined.ok() ? ended : joined;
}

//===----------------------------------------------------------------------===//
// Finding GPUs
//===----------------------------------------------------------------------===//

static StatusOr<int> attributeOf(const DriverApi &api, CUdevice device,
                                 int attribute) {
  int value = 0;
  HOCKET_CUDA_CALL(api, cuDeviceGetAttribute, &value, attribute, device);
  return value;
}

static StatusOr<Architecture> architectureOf(const DriverApi &api,
                                             CUdevice device) {
  Architecture architecture;
  HOCKET_ASSIGN_OR_RETURN(
      architecture.major,
      attributeOf(api, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  HOCKET_ASSIGN_OR_RETURN(
      architecture.minor,
      attributeOf(api, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  return architecture;
}

static StatusOr<GpuInfo> describe(const DriverApi &api, CUdevice device) {
  char name[256] = {};
  size_t bytes = 0;
  HOCKET_CUDA_CALL(api, cuDeviceGetName, name, int(sizeof(name) - 1), device);
  HOCKET_CUDA_CALL(api, cuDeviceTotalMem, &bytes, device);
  HOCKET_ASSIGN_OR_RETURN(Architecture architecture,
                          architectureOf(api, device));
  return GpuInfo{name, architecture.name(), bytes};
}

StatusOr<std::vector<GpuInfo>> hal::listGpus() {
  HOCKET_ASSIGN_OR_RETURN(const DriverApi *api, driverApi());
  int count = 0;
  HOCKET_CUDA_CALL(*api, cuDeviceGetCount, &count);
  std::vector<GpuInfo> gpus;
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    HOCKET_CUDA_CALL(*api, cuDeviceGet, &device, i);
    HOCKET_ASSIGN_OR_RETURN(GpuInfo gpu, describe(*api, device));
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

StatusOr<std::unique_ptr<Device>> hal::createCudaDevice(unsigned index) {
  HOCKET_ASSIGN_OR_RETURN(const DriverApi *api, driverApi());
  int count = 0;
  HOCKET_CUDA_CALL(*api, cuDeviceGetCount, &count);
  if (index >= unsigned(std::max(count, 0)))
    return failedPrecondition(formatText(
        "a rank wants GPU %u of this machine, which has %d; start fewer ranks "
        "on it, or check CUDA_VISIBLE_DEVICES",
        index, count));
  CUdevice device = 0;
  HOCKET_CUDA_CALL(*api, cuDeviceGet, &device, int(index));
  HOCKET_ASSIGN_OR_RETURN(Architecture architecture,
                          architectureOf(*api, device));
  if (architecture.major < 8)
    return failedPrecondition(formatText(
        "GPU %u is of architecture sm_%d%d; Hocket's kernels want sm_80 or "
        "later (Ampere)",
        index, architecture.major, architecture.minor));
  HOCKET_ASSIGN_OR_RETURN(GpuInfo gpu, describe(*api, device));
  HOCKET_ASSIGN_OR_RETURN(
      int processors,
      attributeOf(*api, device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  DeviceProperties about;
  about.driver = "cuda";
  about.name = gpu.name;
  about.isa = gpu.architecture;
  about.workers = unsigned(std::max(processors, 1));
  about.memoryBytes = gpu.memoryBytes;
  about.f8Layouts =
      kernels::f8LayoutsOf(10 * architecture.major + architecture.minor);
  about.hostMemory = false;
  about.moduleFormats = {"cubin", "cuda-c++"};
  auto opened = std::make_unique<CudaDevice>(*api, device, architecture);
  HOCKET_RETURN_IF_ERROR(opened->open(std::move(about)));
  return std::unique_ptr<Device>(std::move(opened));
}
