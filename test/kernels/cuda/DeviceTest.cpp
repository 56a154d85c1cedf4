//===- DeviceTest.cpp - The table of kernels/cuda on a device -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The same table as LibraryTest.cpp, through the driver for NVIDIA GPUs: on
/// the machine's own GPU all of it (HOCKET_TEST_GPU=present), on an emulated
/// one a few ops, since that table has been run on the emulator already.
///
//===----------------------------------------------------------------------===//

#include "kernels/cuda/Sources.h"
#include "runtime/hal/drivers/Drivers.h"
#include "runtime/nvrtc/Nvrtc.h"
#include "test/emulator/EmulatedGpus.h"
#include "test/kernels/cuda/LibraryCases.h"
#include "test/kernels/cuda/ReferenceLibrary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace hocket::kernels::test {
namespace {

constexpr uint64_t alignment = 256;
constexpr std::byte untouched{0xa5};

/// Where the buffers of a case lie in an arena.
class Placement {
public:
  explicit Placement(const LibraryCase &c) : memory(c) {
    size_t own = c.fills.size() - c.inPlace.size();
    for (size_t i = 0; i < c.fills.size(); ++i) {
      if (i >= own) {
        ranges.push_back(ranges[c.inPlace[i - own]]);
        continue;
      }
      Array values = memory.values(i);
      uint64_t bytes = values.size() * uint64_t(bytesOf(values.dtype()));
      ranges.push_back({end, bytes});
      end += (bytes / alignment + 2) * alignment; // At least one free gap.
    }
  }

  CaseMemory memory;
  std::vector<hal::Range> ranges;
  uint64_t end = alignment;
};

class CudaLibraryOnDevice : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    hocket::test::useEmulatedGpus();
    if (!nvrtc::findLibrary().ok())
      GTEST_SKIP() << nvrtc::findLibrary().status().message();
    for (const auto &list : {denseCases(), expertCases(), stateCases()})
      for (const LibraryCase &c : list)
        if (c.op == GetParam())
          cases.push_back(c);
    open();
  }

  void open() {
    uint64_t arena = 0, scratch = 0;
    std::vector<CudaCall> calls;
    for (const LibraryCase &c : cases) {
      calls.push_back(callOf(c, c.fills.size()));
      arena = std::max(arena, Placement(c).end);
      scratch = std::max(scratch, uint64_t(calls.back().workspaceBytes));
    }
    auto opened = hal::createDevice("cuda");
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    device = *std::move(opened);
    ASSERT_TRUE(device->allocateArena(arena).ok());
    ASSERT_TRUE(device->createQueues(1, 0).ok());
    ASSERT_TRUE(device->reserveScratch(scratch).ok());
    std::string text = standaloneSource(sourceOf(calls), "library.cu");
    hal::ModuleVariant source{"", "cuda-c++", text};
    auto module = device->loadModule("library", {&source, 1});
    ASSERT_TRUE(module.ok()) << module.status().message();
  }

  /// The whole arena after one call.
  std::vector<std::byte> run(const LibraryCase &c, const Placement &place) {
    hal::Range all{0, device->arenaBytes()};
    EXPECT_TRUE(device->fill(0, all, uint8_t(untouched)).ok());
    for (size_t i = 0; i < c.fills.size() - c.inPlace.size(); ++i) {
      Array values = place.memory.values(i);
      EXPECT_TRUE(
          device->copyFromHost(0, values.view().data, place.ranges[i]).ok());
    }
    hal::LibraryCall call;
    call.op = findLibraryOp(c.op);
    call.buffers = place.ranges;
    call.integers = c.integers;
    call.floats = c.floats;
    call.scalars = c.scalars;
    call.accumulate = c.accumulate != 0;
    Status status = device->library(0, call);
    EXPECT_TRUE(status.ok()) << status.message();
    std::vector<std::byte> bytes(all.bytes);
    EXPECT_TRUE(device->copyToHost(0, all, bytes.data()).ok());
    status = device->synchronize();
    EXPECT_TRUE(status.ok()) << status.message();
    return bytes;
  }

  std::vector<LibraryCase> cases;
  std::unique_ptr<hal::Device> device;
};

Array valuesAt(const std::vector<std::byte> &arena, hal::Range range,
               DType dtype) {
  Array values(dtype, int64_t(range.bytes) / bytesOf(dtype));
  std::memcpy(values.view().data, arena.data() + range.offset, range.bytes);
  return values;
}

/// Whether nothing outside of the buffers was written.
bool guardsHold(std::vector<std::byte> arena, const Placement &place) {
  for (hal::Range range : place.ranges)
    std::fill_n(arena.begin() + int64_t(range.offset), range.bytes, untouched);
  return std::ranges::all_of(arena, [](std::byte b) { return b == untouched; });
}

TEST_P(CudaLibraryOnDevice, GivesTheResultsOfTheReference) {
  ASSERT_FALSE(cases.empty());
  for (const LibraryCase &c : cases) {
    if (HasFatalFailure())
      return;
    SCOPED_TRACE(nameOf(c));
    Placement place(c);
    CaseMemory expected(c);
    ASSERT_EQ(
        runReference(*findLibraryOp(c.op), {expected.buffers(), c.integers,
                                            c.floats, c.scalars, c.accumulate}),
        nullptr);
    std::vector<std::byte> got = run(c, place), again = run(c, place);
    EXPECT_EQ(got, again) << "two runs give different bits";
    EXPECT_TRUE(guardsHold(got, place));
    for (size_t b = 0; b < c.fills.size(); ++b) {
      DType dtype = c.fills[b].dtype;
      Array values = valuesAt(got, place.ranges[b], dtype);
      if (!c.fills[b].isResult)
        continue;
      if (dtype == DType::I32)
        EXPECT_TRUE(values.sameBits(expected.values(b))) << "buffer " << b;
      else
        EXPECT_LT(relativeError(values, expected.values(b)),
                  c.fills[b].slack * tolerance(dtype))
            << "buffer " << b;
    }
  }
}

std::vector<std::string> testedOps() {
  if (!hocket::test::usesPresentGpu())
    return {"rope",
            "accumulate",
            "cross_entropy_backward",
            "global_norm",
            "attention_forward",
            "attention_backward",
            "attention_backward_joint",
            "grouped_linear_weight_gradient"};
  std::set<std::string> ops;
  for (const auto &list : {denseCases(), expertCases(), stateCases()})
    for (const LibraryCase &c : list)
      ops.insert(std::string(c.op));
  return {ops.begin(), ops.end()};
}

INSTANTIATE_TEST_SUITE_P(Ops, CudaLibraryOnDevice,
                         testing::ValuesIn(testedOps()),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace hocket::kernels::test
