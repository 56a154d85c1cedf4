//===- CpuDevice.cpp - All cores of this machine --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/hal/drivers/cpu/CpuDevice.h"

#include "base/Format.h"
#include "kernels/cpu/Gemm.h"
#include "kernels/cpu/Library.h"
#include "runtime/hal/drivers/cpu/CpuFeatures.h"
#include "runtime/hal/drivers/cpu/CpuWorkers.h"
#include "runtime/hal/drivers/cpu/SharedObject.h"

#include <cstring>
#include <sys/mman.h>

using namespace hocket;
using namespace hocket::hal;

namespace {

using KernelFunction = void (*)(void *const *buffers, const int64_t *scalars,
                                int64_t begin, int64_t end);

class CpuDevice : public Device {
public:
  CpuDevice(unsigned threads, kernels::Isa isa)
      : pool(threads), workers(pool, isa) {
    about.driver = "cpu";
    about.name = cpuModelName();
    about.isa = kernels::nameOf(isa);
    about.workers = pool.count();
    about.memoryBytes = physicalMemoryBytes();
    about.moduleFormats = {"elf-so"};
  }

  ~CpuDevice() override {
    if (arena)
      ::munmap(arena, mappedBytes);
  }

  const DeviceProperties &properties() const override { return about; }
  void *arenaAddress() const override { return arena; }

protected:
  Status doAllocateArena(uint64_t bytes) override;
  Status doCreateQueues(uint32_t, uint32_t) override { return okStatus(); }
  Status doReserveScratch(uint64_t bytes) override {
    return pool.reserveScratch(bytes);
  }
  Status doLoadModule(const std::string &name,
                      std::span<const ModuleVariant> variants) override;
  Status doFindKernel(ModuleId module, const std::string &symbol) override;

  Status doLaunch(StreamId, const LaunchCall &call) override;
  Status doGemm(StreamId, const GemmCall &call) override;
  Status doLibrary(StreamId, const LibraryCall &call) override;

  Status doCopy(StreamId, Range from, Range to) override;
  Status doFill(StreamId, Range range, uint8_t value) override;
  Status doCopyFromHost(StreamId, const void *from, Range to) override {
    std::memcpy(at(to), from, to.bytes);
    return okStatus();
  }
  Status doCopyToHost(StreamId, Range from, void *to) override {
    std::memcpy(to, at(from), from.bytes);
    return okStatus();
  }

  // Everything is over when its call returns.
  Status doRecord(StreamId, EventId) override { return okStatus(); }
  Status doWait(StreamId, EventId) override { return okStatus(); }
  Status doSynchronize(StreamId) override { return okStatus(); }

private:
  char *at(Range range) const { return arena + range.offset; }
  kernels::View view(const Operand &operand) const {
    if (operand.range.bytes == 0)
      return {};
    return {at(operand.range), operand.dtype};
  }

  DeviceProperties about;
  WorkerPool pool;
  CpuWorkers workers;
  char *arena = nullptr;
  size_t mappedBytes = 0;
  std::vector<SharedObject> modules;
  std::vector<KernelFunction> kernelFunctions;
  std::vector<void *> pointers; ///< Of the call that is being made.
};

} // namespace

Status CpuDevice::doAllocateArena(uint64_t bytes) {
  HOCKET_RETURN_IF_ERROR(pool.reserveScratch(kernels::kScratchBytesPerWorker));
  if (bytes == 0)
    return okStatus();
  void *address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED || bytes > about.memoryBytes) {
    if (address != MAP_FAILED)
      ::munmap(address, bytes);
    return resourceExhausted(
        "the program needs " + formatBytes(bytes) +
        " of memory, this machine has " + formatBytes(about.memoryBytes) +
        "; use a smaller micro batch or more recomputation");
  }
  (void)::madvise(address, bytes, MADV_HUGEPAGE);
  arena = static_cast<char *>(address);
  mappedBytes = bytes;
  return okStatus();
}

Status CpuDevice::doLoadModule(const std::string &name,
                               std::span<const ModuleVariant> variants) {
  std::string offered;
  for (const ModuleVariant &variant : variants) {
    if (variant.format == "elf-so" && isaRuns(workers.isa(), variant.isa)) {
      HOCKET_ASSIGN_OR_RETURN(SharedObject object,
                              SharedObject::load(name, variant.image));
      modules.push_back(std::move(object));
      return okStatus();
    }
    offered += (offered.empty() ? "" : ", ") + std::string(variant.isa) + " (" +
               std::string(variant.format) + ")";
  }
  return failedPrecondition("module '" + name + "' has code for " + offered +
                            "; this processor runs " + about.isa + " (elf-so)");
}

Status CpuDevice::doFindKernel(ModuleId module, const std::string &symbol) {
  void *address = modules[module].find(symbol);
  if (!address)
    return notFound("the module has no symbol '" + symbol + "'");
  kernelFunctions.push_back(reinterpret_cast<KernelFunction>(address));
  return okStatus();
}

Status CpuDevice::doLaunch(StreamId, const LaunchCall &call) {
  pointers.clear();
  for (const Range &range : call.buffers)
    pointers.push_back(at(range));
  KernelFunction function = kernelFunctions[call.kernel];
  pool.parallelFor(call.tasks, call.grain,
                   [&](int64_t begin, int64_t end, unsigned) {
                     function(pointers.data(), call.scalars.data(), begin, end);
                   });
  return okStatus();
}

Status CpuDevice::doGemm(StreamId, const GemmCall &call) {
  kernels::GemmArguments args;
  args.m = int64_t(call.m);
  args.n = int64_t(call.n);
  args.k = int64_t(call.k);
  args.transposeA = call.transposeA;
  args.transposeB = call.transposeB;
  args.packedB = call.packedB;
  args.accumulate = call.accumulate;
  args.alpha = call.alpha;
  args.epilogue = call.epilogue;
  args.a = view(call.a);
  args.b = view(call.b);
  args.d = view(call.d);
  args.bias = view(call.bias);
  args.auxiliary = view(call.auxiliary);
  args.residual = view(call.residual);
  args.preactivation = view(call.preactivation);
  args.biasGradient = view(call.biasGradient);
  args.scaleA = static_cast<const float *>(view(call.scaleA).data);
  args.scaleB = static_cast<const float *>(view(call.scaleB).data);
  if (kernels::KernelError error = kernels::gemm(args, workers))
    return internalError(std::string("gemm: ") + error);
  return okStatus();
}

Status CpuDevice::doLibrary(StreamId, const LibraryCall &call) {
  pointers.clear();
  for (const Range &range : call.buffers)
    pointers.push_back(at(range));
  kernels::LibraryCall inner{pointers, call.integers, call.floats, call.scalars,
                             call.accumulate ? 1 : 0};
  if (kernels::KernelError error =
          kernels::runLibraryOp(*call.op, inner, workers))
    return invalidArgument(std::string(call.op->name) + ": " + error);
  return okStatus();
}

/// Bytes that are worth a thread of their own.
static constexpr int64_t copyGrain = int64_t(1) << 18;

Status CpuDevice::doCopy(StreamId, Range from, Range to) {
  char *target = at(to);
  const char *source = at(from);
  pool.parallelFor(
      int64_t(to.bytes), copyGrain, [&](int64_t begin, int64_t end, unsigned) {
        std::memcpy(target + begin, source + begin, size_t(end - begin));
      });
  return okStatus();
}

Status CpuDevice::doFill(StreamId, Range range, uint8_t value) {
  char *target = at(range);
  pool.parallelFor(int64_t(range.bytes), copyGrain,
                   [&](int64_t begin, int64_t end, unsigned) {
                     std::memset(target + begin, value, size_t(end - begin));
                   });
  return okStatus();
}

StatusOr<std::unique_ptr<Device>> hal::createCpuDevice(unsigned threads) {
  if (threads == 0) {
    HOCKET_ASSIGN_OR_RETURN(threads, WorkerPool::defaultCount());
  }
  HOCKET_ASSIGN_OR_RETURN(kernels::Isa isa, chooseIsa());
  return std::unique_ptr<Device>(new CpuDevice(threads, isa));
}
