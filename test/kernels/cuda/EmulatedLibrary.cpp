//===- EmulatedLibrary.cpp - Library ops on the emulated GPU --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/kernels/cuda/EmulatedLibrary.h"

#include "test/emulator/TensorMap.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace hocket::kernels::test {

std::string nameOf(const LibraryCase &c) {
  std::string name(c.op);
  for (int64_t n : c.integers)
    name += " " + std::to_string(n);
  name += c.accumulate ? " accumulating" : "";
  return name + (c.inPlace.empty() ? "" : " in place");
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static constexpr std::byte kGuard{0xa5};

static std::vector<int64_t> bytesOf(const LibraryCase &c) {
  std::vector<int64_t> bytes(c.fills.size());
  EXPECT_EQ(requiredBytes(*findLibraryOp(c.op), c.integers, c.floats,
                          c.scalars.size(), bytes),
            nullptr)
      << nameOf(c);
  return bytes;
}

/// What `fill` asks for, the same for a buffer of the same number.
static Array filled(const Fill &fill, int64_t count, uint32_t buffer) {
  if (fill.dtype != DType::I32)
    return randomArray(fill.dtype, count, buffer, fill.scale);
  Array result(DType::I32, count);
  if (!fill.values.empty()) {
    EXPECT_EQ(fill.values.size(), size_t(count));
    std::memcpy(result.view().data, fill.values.data(), size_t(4 * count));
    return result;
  }
  uint32_t span = std::max(1, fill.high - fill.low);
  for (int64_t i = 0; i < count; ++i)
    result.set(i, fill.low + int32_t(randomWord({5, buffer, 0}, i) % span));
  return result;
}

CaseMemory::CaseMemory(const LibraryCase &c) : inPlace(c.inPlace) {
  std::vector<int64_t> bytes = bytesOf(c);
  for (size_t i = 0; i < bytes.size(); ++i) {
    DType dtype = c.fills[i].dtype;
    Array values = filled(c.fills[i], bytes[i] / kernels::bytesOf(dtype), i);
    std::vector<std::byte> array(bytes[i] + 2 * guard, kGuard);
    std::memcpy(array.data() + guard, values.view().data, bytes[i]);
    arrays.push_back(std::move(array));
    dtypes.push_back(dtype);
  }
}

std::vector<void *> CaseMemory::buffers() {
  std::vector<void *> pointers;
  for (size_t i = 0; i < arrays.size(); ++i)
    pointers.push_back(arrays[arrayOf(i)].data() + guard);
  return pointers;
}

size_t CaseMemory::arrayOf(size_t i) const {
  size_t own = arrays.size() - inPlace.size();
  return i < own ? i : inPlace[i - own];
}

Array CaseMemory::values(size_t i) const {
  const std::vector<std::byte> &array = arrays[arrayOf(i)];
  size_t bytes = array.size() - 2 * guard;
  Array result(dtypes[i], bytes / kernels::bytesOf(dtypes[i]));
  std::memcpy(result.view().data, array.data() + guard, bytes);
  return result;
}

bool CaseMemory::guardsHold() const {
  auto isGuard = [](std::byte b) { return b == kGuard; };
  return std::ranges::all_of(arrays, [&](const auto &array) {
    return std::all_of(array.begin(), array.begin() + guard, isGuard) &&
           std::all_of(array.end() - guard, array.end(), isGuard);
  });
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

CudaCall callOf(const LibraryCase &c, size_t buffers) {
  CudaCall call;
  CudaRequest request{c.integers, c.floats, buffers, c.scalars.size()};
  EXPECT_EQ(makeCudaCall(*findLibraryOp(c.op), request, call), nullptr)
      << nameOf(c);
  return call;
}

std::string sourceOf(const std::vector<CudaCall> &calls) {
  std::vector<CudaLaunch> launches;
  for (const CudaCall &call : calls)
    for (const auto *list : {&call.launches, &call.hopper})
      launches.insert(launches.end(), list->begin(), list->end());
  return cudaSource(launches);
}

EmulatedLibrary::EmulatedLibrary(const std::vector<CudaCall> &calls) {
  std::string error;
  module = emulator::Module::compile(sourceOf(calls), error);
  EXPECT_TRUE(module) << error;
}

namespace {

/// The values of a launch's arguments, each in a place of its own.
class ArgumentValues {
public:
  ArgumentValues(const LibraryCase &c, const std::vector<void *> &buffers,
                 void *workspace, uint32_t *fault)
      : c(c), buffers(buffers), workspace(workspace), fault(fault) {}

  std::vector<void *> of(const CudaLaunch &launch) {
    words.assign(launch.arguments.size(), 0);
    maps.resize(launch.tensors.size());
    std::vector<void *> pointers;
    for (size_t i = 0; i < words.size(); ++i) {
      const CudaArgument &argument = launch.arguments[i];
      if (argument.kind == CudaArgument::Kind::Tensor) {
        encode(launch.tensors[argument.index], maps[argument.index]);
        pointers.push_back(&maps[argument.index]);
        continue;
      }
      set(words[i], argument);
      pointers.push_back(&words[i]);
    }
    return pointers;
  }

private:
  template <typename T> static void put(uint64_t &word, T value) {
    static_assert(sizeof(T) <= sizeof(word));
    std::memcpy(&word, &value, sizeof(value));
  }

  void set(uint64_t &word, const CudaArgument &argument) {
    using Kind = CudaArgument::Kind;
    switch (argument.kind) {
    case Kind::Buffer:
      return put(word, buffers[argument.index]);
    case Kind::Scalar:
      return put(word, c.scalars[argument.index]);
    case Kind::Accumulate:
      return put(word, int32_t(c.accumulate));
    case Kind::Workspace:
      return put(word, static_cast<char *>(workspace) + argument.integer);
    case Kind::Fault:
      return put(word, fault);
    case Kind::I32:
      return put(word, int32_t(argument.integer));
    case Kind::I64:
      return put(word, argument.integer);
    case Kind::F32:
      return put(word, float(argument.real));
    case Kind::F64:
      return put(word, argument.real);
    case Kind::Tensor:
      break; // No word.
    }
  }

  struct alignas(64) Map {
    std::byte bytes[128];
  };
  void encode(const CudaTensor &tensor, Map &map) {
    std::vector<unsigned long long> sizes, strides;
    std::vector<unsigned> box, ones(tensor.rank, 1);
    for (size_t i = 0; i < tensor.rank; ++i) {
      sizes.push_back(tensor.sizes[i]);
      box.push_back(tensor.box[i]);
      if (i > 0)
        strides.push_back(tensor.strides[i] * kernels::bytesOf(tensor.dtype));
    }
    emulator::TensorMapRequest request;
    request.dataType = tensor.dtype == DType::F16 ? 6 : 9;
    request.rank = tensor.rank, request.address = buffers[tensor.buffer];
    request.sizes = sizes.data(), request.strides = strides.data();
    request.box = box.data(), request.elementStrides = ones.data();
    request.swizzle = 3;
    EXPECT_EQ(emulator::TensorMap::encode(request, &map), "") << nameOf(c);
  }

  const LibraryCase &c;
  const std::vector<void *> &buffers;
  void *workspace;
  uint32_t *fault;
  std::vector<uint64_t> words;
  std::vector<Map> maps;
};

} // namespace

uint32_t EmulatedLibrary::run(const LibraryCase &c, const CudaCall &call,
                              const std::vector<void *> &buffers, uint64_t seed,
                              int major) {
  if (!module)
    return 0;
  uint32_t fault = 0;
  // Of NaNs: what a kernel reads before anything is written shows.
  std::vector<uint64_t> workspace(call.workspaceBytes / 8 + 1, ~uint64_t(0));
  ArgumentValues values(c, buffers, workspace.data(), &fault);
  for (const CudaLaunch &launch : call.launchesOn(major, 0)) {
    emulator::Launch where;
    // So few that blocks of persistent kernels have turns.
    uint32_t most = launch.isPersistent ? 2 : launch.grid[0];
    where.gridSize = {std::min(launch.grid[0], most), launch.grid[1],
                      launch.grid[2]};
    where.blockSize.x = launch.threads;
    where.sharedBytes = launch.sharedBytes;
    where.seed = seed;
    EXPECT_EQ(module->run(launch.symbol, where, values.of(launch)), "")
        << nameOf(c) << "\n"
        << launch.text;
  }
  return fault;
}

} // namespace hocket::kernels::test
