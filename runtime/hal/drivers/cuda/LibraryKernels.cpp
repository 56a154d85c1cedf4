//===- LibraryKernels.cpp - Library ops on a GPU --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/hal/drivers/cuda/LibraryKernels.h"

#include "base/Format.h"

#include <algorithm>
#include <bit>

using namespace hocket;
using namespace hocket::hal;
using namespace hocket::hal::cuda;
using kernels::CudaArgument;

struct LibraryKernels::Launch {
  GpuFunction function;
  kernels::CudaLaunch about;

  /// Whether it takes scalars of the call.
  bool isTold() const {
    return std::ranges::any_of(about.arguments, [](const auto &argument) {
      return argument.kind == CudaArgument::Kind::Scalar;
    });
  }
};

struct LibraryKernels::Prepared {
  const kernels::LibraryOp *op;
  std::vector<int64_t> integers;
  std::vector<double> floats;
  size_t buffers, scalars;
  std::vector<Launch> launches;
  uint64_t workspaceBytes = 0;

  bool isOf(const LibraryCall &call) const {
    auto bits = [](double x) { return std::bit_cast<uint64_t>(x); };
    return op == call.op && buffers == call.buffers.size() &&
           scalars == call.scalars.size() &&
           std::ranges::equal(integers, call.integers) &&
           std::ranges::equal(floats, call.floats, {}, bits, bits);
  }
};

/// Of what isOf() compares, without a copy of it: this is done for every call.
static size_t hashOf(const LibraryCall &call) {
  size_t hash = std::bit_cast<uintptr_t>(call.op);
  auto add = [&](uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  };
  for (int64_t value : call.integers)
    add(uint64_t(value));
  for (double value : call.floats)
    add(std::bit_cast<uint64_t>(value));
  return hash;
}

LibraryKernels::LibraryKernels(const DriverApi &api, Graphs &graphs,
                               const GpuModules &modules)
    : graphs(graphs), modules(modules), tensors(api) {}
LibraryKernels::~LibraryKernels() = default;

static std::string nameOf(const LibraryCall &call) {
  return "library op '" + std::string(call.op->name) + "'";
}

StatusOr<const LibraryKernels::Prepared *>
LibraryKernels::find(const LibraryCall &call) {
  size_t hash = hashOf(call);
  auto [first, last] = known.equal_range(hash);
  for (auto entry = first; entry != last; ++entry)
    if (entry->second->isOf(call))
      return entry->second.get();
  HOCKET_ASSIGN_OR_RETURN(std::unique_ptr<Prepared> prepared, make(call));
  return known.emplace(hash, std::move(prepared))->second.get();
}

StatusOr<std::unique_ptr<LibraryKernels::Prepared>>
LibraryKernels::make(const LibraryCall &call) {
  kernels::CudaCall made;
  kernels::CudaRequest request{call.integers, call.floats, call.buffers.size(),
                               call.scalars.size()};
  if (kernels::KernelError error =
          kernels::makeCudaCall(*call.op, request, made))
    return invalidArgument(nameOf(call) + ": " + error);
  auto prepared = std::make_unique<Prepared>();
  prepared->op = call.op;
  prepared->integers.assign(call.integers.begin(), call.integers.end());
  prepared->floats.assign(call.floats.begin(), call.floats.end());
  prepared->buffers = call.buffers.size();
  prepared->scalars = call.scalars.size();
  prepared->workspaceBytes = uint64_t(made.workspaceBytes);
  Architecture gpu = modules.gpu();
  for (const kernels::CudaLaunch &launch :
       made.launchesOn(gpu.major, gpu.minor)) {
    StatusOr<GpuFunction> function = modules.find(launch.symbol);
    if (!function.ok())
      return function.status().withContext(nameOf(call));
    HOCKET_RETURN_IF_ERROR(modules.allowShared(*function, launch.sharedBytes));
    prepared->launches.push_back({*function, launch});
  }
  return prepared;
}

/// The bits of an argument but a tensor, in the low bytes where it has fewer
/// than eight.
static uint64_t valueOf(const CudaArgument &argument, const LibraryCall &call,
                        const LibraryMemory &memory) {
  using Kind = CudaArgument::Kind;
  switch (argument.kind) {
  case Kind::Buffer:
    return memory.arena + call.buffers[argument.index].offset;
  case Kind::Scalar:
    return uint64_t(call.scalars[argument.index]);
  case Kind::Accumulate:
    return call.accumulate ? 1 : 0;
  case Kind::Workspace:
    return memory.workspace + uint64_t(argument.integer);
  case Kind::Fault:
    return memory.fault;
  case Kind::I32:
    return uint32_t(argument.integer);
  case Kind::I64:
    return uint64_t(argument.integer);
  case Kind::F32:
    return std::bit_cast<uint32_t>(float(argument.real));
  case Kind::F64:
    return std::bit_cast<uint64_t>(argument.real);
  case Kind::Tensor:
    break;
  }
  return 0;
}

/// Arguments that are tensors, for which `arguments` has a place already.
Status LibraryKernels::addTensors(const Launch &launch, const LibraryCall &call,
                                  const LibraryMemory &memory,
                                  std::vector<void *> &arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const CudaArgument &argument = launch.about.arguments[i];
    if (argument.kind != CudaArgument::Kind::Tensor)
      continue;
    const kernels::CudaTensor &tensor = launch.about.tensors[argument.index];
    CUdeviceptr at = memory.arena + call.buffers[tensor.buffer].offset;
    StatusOr<const CUtensorMap *> map = tensors.find(tensor, at);
    if (!map.ok())
      return map.status().withContext(nameOf(call));
    // The driver only reads it.
    arguments[i] = const_cast<CUtensorMap *>(*map);
  }
  return okStatus();
}

Status LibraryKernels::run(const LibraryCall &call, const LibraryMemory &memory,
                           CUstream stream) {
  HOCKET_ASSIGN_OR_RETURN(const Prepared *prepared, find(call));
  if (prepared->workspaceBytes > memory.workspaceBytes)
    return invalidArgument(formatText(
        "%s: takes %llu bytes of scratch memory, the program has "
        "%llu",
        nameOf(call).c_str(), (unsigned long long)prepared->workspaceBytes,
        (unsigned long long)memory.workspaceBytes));
  std::vector<uint64_t> values;
  std::vector<void *> arguments;
  for (const Launch &launch : prepared->launches) {
    bool varies = call.varies && launch.isTold();
    if (!varies && graphs.isUpdating())
      continue; // It stands in the graph as it is.
    values.clear();
    for (const CudaArgument &argument : launch.about.arguments)
      values.push_back(valueOf(argument, call, memory));
    arguments.clear();
    for (uint64_t &value : values)
      arguments.push_back(&value);
    HOCKET_RETURN_IF_ERROR(addTensors(launch, call, memory, arguments));
    const auto &grid = launch.about.grid;
    CUDA_KERNEL_NODE_PARAMS kernel;
    kernel.func = launch.function.handle;
    kernel.gridDimX = launch.about.isPersistent
                          ? std::min(grid[0], multiprocessors)
                          : grid[0];
    kernel.gridDimY = grid[1];
    kernel.gridDimZ = grid[2];
    kernel.blockDimX = launch.about.threads;
    kernel.sharedMemBytes = launch.about.sharedBytes;
    kernel.kernelParams = arguments.data();
    HOCKET_RETURN_IF_ERROR(graphs.launchKernel(kernel, stream, varies));
  }
  return okStatus();
}
