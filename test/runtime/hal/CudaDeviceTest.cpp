//===- CudaDeviceTest.cpp - The CUDA driver on emulated GPUs --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What DeviceConformanceTest.cpp does not ask of every driver: messages where
/// something is missing or breaks, and that nothing is in order by chance.
///
//===----------------------------------------------------------------------===//

#include "runtime/hal/drivers/cuda/CudaDevice.h"
#include "kernels/cuda/Sources.h"
#include "kernels/cuda/launches/Library.h"
#include "runtime/cuda/ToolkitLibraries.h"
#include "runtime/hal/drivers/cuda/GpuModules.h"
#include "test/emulator/EmulatedGpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::hal;
using testing::AllOf;
using testing::HasSubstr;

namespace {

/// A device with an arena, streams and one module of `source`.
std::unique_ptr<Device> open(const test::EmulatedGpus &gpus,
                             const std::string &source = "") {
  test::useEmulatedGpus(gpus);
  auto device = createCudaDevice();
  EXPECT_TRUE(device.ok()) << device.status().message();
  EXPECT_TRUE((*device)->allocateArena(1 << 16).ok());
  EXPECT_TRUE((*device)->createQueues(2, 2).ok());
  if (!source.empty()) {
    ModuleVariant variant{"", "cuda-c++", source};
    auto module = (*device)->loadModule("test", {&variant, 1});
    EXPECT_TRUE(module.ok()) << module.status().message();
  }
  return *std::move(device);
}

/// Runs the kernel `symbol` of module 0 on one buffer, with one block.
Status runKernel(Device &device, const std::string &symbol, unsigned threads) {
  auto kernel = device.findKernel(0, symbol);
  EXPECT_TRUE(kernel.ok()) << kernel.status().message();
  Range buffer{0, 4096};
  int64_t scalar = 0;
  HOCKET_RETURN_IF_ERROR(
      device.launch(0, {*kernel, {&buffer, 1}, {&scalar, 1}, 1, 1, threads}));
  return device.synchronize();
}

//===----------------------------------------------------------------------===//
// What is missing
//===----------------------------------------------------------------------===//

TEST(CudaDevice, SaysWhatTheMachineLacks) {
  test::useEmulatedGpus({.count = 2, .architecture = 75});
  EXPECT_EQ(createCudaDevice(2).status().message(),
            "a rank wants GPU 2 of this machine, which has 2; start fewer "
            "ranks on it, or check CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(createCudaDevice(1).status().message(),
            "GPU 1 is of architecture sm_75; Hocket's kernels want sm_80 or "
            "later (Ampere)");
  auto device = open({.memoryBytes = 1 << 20});
  Status status = (*createCudaDevice())->allocateArena(1 << 20);
  EXPECT_EQ(status.code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(status.message(),
            "the program needs 1.00 MiB of memory, Emulated GPU has 1.00 MiB, "
            "959.8 KiB of it free; use a smaller micro batch or more "
            "recomputation");
}

TEST(CudaDeviceDeathTest, SaysThatThereIsNoDriver) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        ::setenv("HOCKET_LIBCUDA", "/nowhere/libcuda.so", 1);
        Status status = createCudaDevice().status();
        fprintf(stderr, "%s", status.message().c_str());
        _exit(status.code() == StatusCode::FailedPrecondition ? 0 : 1);
      },
      testing::ExitedWithCode(0),
      "there is no CUDA driver on this machine .*; install NVIDIA's driver "
      "for this machine's GPU, or set HOCKET_LIBCUDA to the path");
}

TEST(CudaDeviceDeathTest, SaysThatThereIsNoGpu) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        test::useEmulatedGpus({.count = 0});
        Status status = createCudaDevice().status();
        fprintf(stderr, "%s", status.message().c_str());
        _exit(status.code() == StatusCode::FailedPrecondition ? 0 : 1);
      },
      testing::ExitedWithCode(0), "finds no GPU on this machine");
}

TEST(CudaDevice, LooksFirstForLibrariesThatTheDriverCanUse) {
  using Names = std::vector<std::string>;
  test::useEmulatedGpus({.driver = 12080});
  EXPECT_EQ(cuda::toolkitLibraries("libx"),
            (Names{"libx.so.12", "libx.so.13"}));
  test::useEmulatedGpus({.driver = 13000});
  EXPECT_EQ(cuda::toolkitLibraries("libx"),
            (Names{"libx.so.13", "libx.so.12"}));
  ::setenv("HOCKET_LIBCUDA", "/nowhere/libcuda.so", 1);
  EXPECT_EQ(cuda::toolkitLibraries("libx"),
            (Names{"libx.so.13", "libx.so.12"}));
  test::useEmulatedGpus();
}

TEST(CudaDevice, ChoosesTheCodeThatRuns) {
  cuda::Architecture hopper{9, 0}, ada{8, 9};
  for (const char *isa : {"sm_90", "sm_90a", "sm_90f"})
    EXPECT_TRUE(hopper.runs(isa)) << isa;
  for (const char *isa : {"sm_80", "sm_100a", "sm_91", "x86-64-v3", "sm_", ""})
    EXPECT_FALSE(hopper.runs(isa)) << isa;
  EXPECT_TRUE(ada.runs("sm_80"));
  EXPECT_TRUE(ada.runs("sm_89"));
  EXPECT_FALSE(ada.runs("sm_80a"));
  EXPECT_EQ(hopper.name(), "sm_90a");
  EXPECT_EQ(ada.name(), "sm_89");
}

TEST(CudaDevice, SaysWhatDoesNotCompileOrLoad) {
  auto device = open({});
  ModuleVariant broken{"", "cuda-c++", "this is no C++"};
  Status status = device->loadModule("m", {&broken, 1}).status();
  EXPECT_THAT(status.message(),
              HasSubstr("module 'm' has no machine code for sm_90a: m.cu does "
                        "not compile for sm_90a: NVRTC_ERROR_COMPILATION"));
  // Headers of a file with nothing in it.
  std::string empty = "\x7f"
                      "ELF" +
                      std::string(60, '\0');
  ModuleVariant refused{"sm_90a", "cubin", empty};
  status = device->loadModule("m", {&refused, 1}).status();
  EXPECT_EQ(status.code(), StatusCode::DataLoss);
  EXPECT_EQ(status.message(),
            "module 'm' cannot be loaded: cuModuleLoadData: "
            "CUDA_ERROR_INVALID_IMAGE (emulated); the driver is of CUDA 13.0, "
            "and code that a newer toolkit made takes a newer driver");
  ModuleVariant both[] = {refused, broken};
  status = device->loadModule("m", both).status();
  EXPECT_EQ(status.code(), StatusCode::FailedPrecondition);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("CUDA_ERROR_INVALID_IMAGE (emulated); the driver "
                              "is of CUDA 13.0"),
                    HasSubstr("; and from its source, module 'm' has no "
                              "machine code for sm_90a: m.cu does not")));
}

TEST(CudaDevice, CompilesTheSourceOfCodeThatTheDriverRefuses) {
  auto device = open({});
  std::string empty = "\x7f"
                      "ELF" +
                      std::string(60, '\0');
  ModuleVariant variants[] = {
      {"sm_90a", "cubin", empty},
      {"", "cuda-c++",
       "extern \"C\" __global__ void kernel(float *x) { *x = 1; }\n"}};
  auto module = device->loadModule("m", variants);
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_TRUE(device->findKernel(*module, "kernel").ok());
  // Code that is cut off was damaged, not refused.
  std::string half = empty.substr(0, 40);
  variants[0].image = half;
  EXPECT_THAT(device->loadModule("m", variants).status().message(),
              HasSubstr("its machine code is cut off"));
}

//===----------------------------------------------------------------------===//
// What breaks
//===----------------------------------------------------------------------===//

const char *const faultyKernels = R"(
  struct Numbers { long long at[1]; };
  extern "C" __global__ void farAway(float *x, const Numbers n) {
    if (threadIdx.x == 7)
      x[100000] = 1;
  }
  extern "C" __global__ void stuck(float *x, const Numbers n) {
    if (threadIdx.x == 0)
      __syncthreads();
    else
      __shfl_xor_sync(0xffffffffu, x[0], 1);
  }
  extern "C" __global__ void fine(float *x, const Numbers n) {
    x[threadIdx.x] += 1;
  })";

TEST(CudaDevice, AKernelThatLeavesItsMemoryIsNamed) {
  auto device = open({.watch = true}, faultyKernels);
  ASSERT_TRUE(runKernel(*device, "fine", 32).ok());
  Status status = runKernel(*device, "farAway", 32);
  EXPECT_EQ(status.code(), StatusCode::Internal);
  EXPECT_THAT(status.message(),
              HasSubstr("a kernel failed on the GPU: CUDA_ERROR_LAUNCH_FAILED "
                        "(kernel farAway writes 4 bytes at 400000 of an "
                        "allocation of 65792), found by "));
  EXPECT_THAT(status.message(), HasSubstr("HOCKET_CUDA_BLOCKING=1"));
  EXPECT_FALSE(device->fill(0, {0, 4}, 0).ok()) << "an error stays";
}

TEST(CudaDevice, AKernelWhoseThreadsWaitForEachOtherIsTold) {
  auto device = open({}, faultyKernels);
  Status status = runKernel(*device, "stuck", 32);
  EXPECT_THAT(status.message(), HasSubstr("kernel stuck: thread "));
}

TEST(CudaDevice, BlockingTellsAnErrorWhereItIs) {
  ::setenv("HOCKET_CUDA_BLOCKING", "1", 1);
  auto device = open({}, faultyKernels);
  ::unsetenv("HOCKET_CUDA_BLOCKING");
  auto kernel = device->findKernel(0, "stuck");
  Range buffer{0, 4096};
  int64_t scalar = 0;
  EXPECT_FALSE(
      device->launch(0, {*kernel, {&buffer, 1}, {&scalar, 1}, 1, 1, 32}).ok());
}

TEST(CudaDevice, ErrorsOfTheDataAreToldWhenItIsSynchronised) {
  kernels::CudaCall made;
  const kernels::LibraryOp *op = kernels::findLibraryOp("embedding");
  int64_t integers[] = {1, 1, 3, 3, 2};
  ASSERT_EQ(kernels::makeCudaCall(*op, {integers, {}, 3, 0}, made), nullptr);
  auto device = open(
      {.watch = true},
      kernels::standaloneSource(kernels::cudaSource(made.launches), "l.cu"));
  int32_t ids[] = {2, 3, 1}; // Three rows: 3 is outside.
  Range buffers[] = {{0, 12}, {64, 24}, {128, 24}};
  LibraryCall call{op, buffers, integers, {}, {}, false};
  ASSERT_TRUE(device->copyFromHost(0, ids, buffers[0]).ok());
  ASSERT_TRUE(device->library(0, call).ok());
  Status status = device->synchronize();
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_EQ(status.message(),
            "embedding: a token id is outside the vocabulary");
  ids[1] = 0;
  ASSERT_TRUE(device->copyFromHost(0, ids, buffers[0]).ok());
  ASSERT_TRUE(device->library(0, call).ok());
  EXPECT_TRUE(device->synchronize().ok());
}

/// The emulated driver loads no code in a capture: as loading waits for the
/// GPU, what was prepared must need none any more.
TEST(CudaDevice, LoadsTheCodeOfWhatIsPrepared) {
  kernels::CudaCall made;
  const kernels::LibraryOp *op = kernels::findLibraryOp("embedding");
  int64_t integers[] = {1, 1, 3, 3, 2};
  ASSERT_EQ(kernels::makeCudaCall(*op, {integers, {}, 3, 0}, made), nullptr);
  Range buffers[] = {{0, 12}, {64, 24}, {128, 24}};
  LibraryCall embedding{op, buffers, integers, {}, {}, false};
  GemmCall gemm;
  gemm.m = gemm.n = gemm.k = 16;
  gemm.a = {{1024, 1024}};
  gemm.b = {{2048, 1024}};
  gemm.d = {{3072, 1024}};
  for (bool prepares : {true, false}) {
    auto device = open({}, kernels::standaloneSource(
                               kernels::cudaSource(made.launches), "l.cu"));
    ASSERT_TRUE(device->reserveScratch(1 << 20).ok());
    if (prepares) {
      ASSERT_TRUE(device->prepareLibrary({&embedding, 1}).ok());
      ASSERT_TRUE(device->prepareGemms({&gemm, 1}).ok());
    }
    for (bool multiplies : {false, true}) {
      ASSERT_TRUE(device->beginCapture().ok());
      Status status =
          multiplies ? device->gemm(0, gemm) : device->library(0, embedding);
      EXPECT_EQ(status.ok(), prepares) << status.message();
      EXPECT_EQ(device->endCapture().ok(), prepares);
    }
  }
}

TEST(CudaDevice, AProgramWithoutTheKernelOfAnOpIsRefused) {
  auto device = open({});
  const kernels::LibraryOp *op = kernels::findLibraryOp("embedding");
  int64_t integers[] = {1, 1, 3, 3, 2};
  Range buffers[] = {{0, 12}, {64, 24}, {128, 24}};
  Status status = device->library(0, {op, buffers, integers, {}, {}, false});
  EXPECT_EQ(status.code(), StatusCode::NotFound);
  EXPECT_THAT(status.message(),
              HasSubstr("library op 'embedding': no module of the program has "
                        "the function '"));
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// Attention of 32 queries of 64 numbers, which TMA fetches.
class SmallAttention {
public:
  SmallAttention() {
    kernels::CudaCall made;
    EXPECT_EQ(kernels::makeCudaCall(*op, {integers, floats, 5, 3}, made),
              nullptr);
    device = open({}, kernels::standaloneSource(
                          kernels::cudaSource(made.hopper), "a.cu"));
    for (size_t i = 0; i < ones.size(); ++i)
      ones[i] = uint16_t(0x3f80 + i % 64); // From 1 to 1.5 in bf16.
  }
  static constexpr uint64_t bytes = 32 * 64 * 2;
  static constexpr Range rangeOfResult(uint64_t at) {
    return {at + 3 * bytes, bytes};
  }

  /// With queries, keys, values and results one behind the other from `at` on.
  Status run(uint64_t at) const {
    Range buffers[] = {{at, bytes},
                       {at + bytes, bytes},
                       {at + 2 * bytes, bytes},
                       rangeOfResult(at),
                       {at + 4 * bytes, 32 * 4}};
    return device->library(0, {op, buffers, integers, floats, scalars});
  }
  /// The same with these values, all of one row.
  std::vector<uint16_t> resultsAt(uint64_t at) const {
    std::vector<uint16_t> results(ones.size());
    EXPECT_TRUE(device->copyToHost(0, rangeOfResult(at), results.data()).ok());
    Status status = device->synchronize();
    EXPECT_TRUE(status.ok()) << status.message();
    return results;
  }
  Status fill(uint64_t at) const {
    for (int i = 0; i < 3; ++i)
      HOCKET_RETURN_IF_ERROR(
          device->copyFromHost(0, ones.data(), {at + i * bytes, bytes}));
    return okStatus();
  }

  std::unique_ptr<Device> device;
  std::vector<uint16_t> ones = std::vector<uint16_t>(32 * 64);

private:
  const kernels::LibraryOp *op = kernels::findLibraryOp("attention_forward");
  int64_t integers[9] = {2, 1, 32, 1, 1, 64, 1, 0, 9};
  double floats[2] = {0.125, 0};
  int64_t scalars[3] = {77, 3, 5};
};

/// Rows of values are the same, so results are, whatever the probabilities.
TEST(CudaDevice, FetchesTensorsWhereTheyAre) {
  SmallAttention attention;
  for (uint64_t at : {0, 32768}) {
    ASSERT_TRUE(attention.fill(at).ok());
    ASSERT_TRUE(attention.run(at).ok());
    EXPECT_EQ(attention.resultsAt(at), attention.ones) << "at " << at;
  }
  Device &device = *attention.device;
  ASSERT_TRUE(device.beginCapture().ok());
  ASSERT_TRUE(attention.run(32768).ok());
  auto graph = device.endCapture();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  ASSERT_TRUE(device.fill(0, attention.rangeOfResult(32768), 0).ok());
  ASSERT_TRUE(device.replay(*graph).ok());
  EXPECT_EQ(attention.resultsAt(32768), attention.ones) << "in a capture";
}

TEST(CudaDevice, SaysWhichTensorCannotBeFetched) {
  SmallAttention attention;
  Status status = attention.run(8);
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_THAT(status.message(),
              HasSubstr("library op 'attention_forward': the driver makes no "
                        "tensor map of a tensor at 0x"));
  EXPECT_THAT(status.message(),
              HasSubstr(" of 64 (every 1, box 64) x 1 (every 64, box 1) x 32 "
                        "(every 64, box 192) x 1 (every 2048, box 1)"));
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// What stream 1 copies of what stream 0 fills, with events between them or
/// without.
uint8_t handOver(uint64_t seed, bool ready, bool taken) {
  auto device = open({.seed = seed});
  uint8_t result = 0;
  for (uint8_t round = 1; round <= 2; ++round) {
    EXPECT_TRUE(device->fill(0, {0, 4096}, round).ok());
    EXPECT_TRUE(device->record(0, 0).ok());
    if (ready)
      EXPECT_TRUE(device->wait(1, 0).ok());
    EXPECT_TRUE(device->copy(1, {0, 4096}, {8192, 4096}).ok());
    EXPECT_TRUE(device->record(1, 1).ok());
    if (taken)
      EXPECT_TRUE(device->wait(0, 1).ok());
    if (round == 1)
      EXPECT_TRUE(device->copyToHost(1, {8192, 1}, &result).ok());
  }
  EXPECT_TRUE(device->synchronize(1).ok());
  return result;
}

TEST(CudaDevice, AMissingEventIsAWrongNumber) {
  int early = 0, late = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_EQ(handOver(seed, true, true), 1) << seed;
    early += handOver(seed, false, true) != 1;
    late += handOver(seed, true, false) != 1;
  }
  EXPECT_GT(early, 0) << "copied before it was filled";
  EXPECT_GT(late, 0) << "filled again before it was copied";
}

/// Host memory is the caller's again at once, however late the copy is.
TEST(CudaDevice, HostMemoryIsFreeOnReturn) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    auto device = open({.seed = seed});
    std::vector<uint8_t> bytes(3000), back(3000);
    for (int round = 0; round < 5; ++round) {
      std::fill(bytes.begin(), bytes.end(), uint8_t(round));
      ASSERT_TRUE(
          device->copyFromHost(0, bytes.data(), {uint64_t(round) * 4096, 3000})
              .ok());
    }
    for (int round = 0; round < 5; ++round) {
      ASSERT_TRUE(
          device->copyToHost(0, {uint64_t(round) * 4096, 3000}, back.data())
              .ok());
      ASSERT_TRUE(device->synchronize(0).ok());
      EXPECT_EQ(back, std::vector<uint8_t>(3000, uint8_t(round)));
    }
  }
}

//===----------------------------------------------------------------------===//
// CUDA graphs
//===----------------------------------------------------------------------===//

/// Has stream 1 copy what stream 0 has brought, between events, and one of them
/// give it back.
Status recordBranches(Device &device, const void *from, void *to, bool joins) {
  HOCKET_RETURN_IF_ERROR(device.beginCapture());
  HOCKET_RETURN_IF_ERROR(device.copyFromHost(0, from, {0, 4}));
  HOCKET_RETURN_IF_ERROR(device.record(0, 0));
  HOCKET_RETURN_IF_ERROR(device.wait(1, 0));
  HOCKET_RETURN_IF_ERROR(device.copy(1, {0, 4}, {256, 4}));
  HOCKET_RETURN_IF_ERROR(device.record(1, 1));
  if (joins)
    HOCKET_RETURN_IF_ERROR(device.wait(0, 1));
  return device.copyToHost(joins ? 0 : 1, {256, 4}, to);
}

TEST(CudaDevice, ReplaysWhatItHasRecorded) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    auto device = open({.seed = seed});
    ASSERT_TRUE(device->canCapture());
    auto memory = device->allocateHostMemory(8);
    ASSERT_TRUE(memory.ok()) << memory.status().message();
    auto *words = static_cast<int32_t *>(*memory);
    words[1] = -1;
    bool joins = seed % 2 == 0; // Else the end of the capture does.
    Status recorded = recordBranches(*device, words, words + 1, joins);
    ASSERT_TRUE(recorded.ok()) << recorded.message();
    auto id = device->endCapture();
    ASSERT_TRUE(id.ok()) << id.status().message();
    ASSERT_TRUE(device->synchronize().ok());
    EXPECT_EQ(words[1], -1) << "capture does nothing";
    for (int32_t value : {7, 9}) {
      words[0] = value;
      ASSERT_TRUE(device->replay(*id).ok());
      ASSERT_TRUE(device->synchronize(0).ok());
      EXPECT_EQ(words[1], value);
    }
  }
}

const char *const appendingKernel = R"(
  struct Numbers { long long at[1]; };
  extern "C" __global__ void append(long long *x, const Numbers n) {
    *x = *x * 10 + n.at[0];
  }
)";

/// Appends a digit to the number at the arena's beginning.
Status append(Device &device, KernelId kernel, int64_t digit, bool varies) {
  Range buffer{0, 8};
  LaunchCall call{kernel, {&buffer, 1}, {&digit, 1}, 1, 1, 1};
  call.varies = varies;
  return device.launch(0, call);
}

/// Records two digits that vary, and one between them that does not.
StatusOr<GraphId> recordDigits(Device &device, KernelId kernel) {
  HOCKET_RETURN_IF_ERROR(device.beginCapture());
  HOCKET_RETURN_IF_ERROR(append(device, kernel, 1, true));
  HOCKET_RETURN_IF_ERROR(append(device, kernel, 5, false));
  HOCKET_RETURN_IF_ERROR(append(device, kernel, 2, true));
  return device.endCapture();
}

TEST(CudaDevice, UpdatesWhatVariesInAGraph) {
  auto device = open({.seed = 3}, appendingKernel);
  auto kernel = device->findKernel(0, "append");
  ASSERT_TRUE(kernel.ok());
  auto first = recordDigits(*device, *kernel);
  auto second = recordDigits(*device, *kernel);
  ASSERT_TRUE(second.ok()) << second.status().message();
  // Nobody waits in between: what was asked for keeps its numbers.
  ASSERT_TRUE(device->replay(*first).ok());
  for (int64_t digit : {3, 6}) {
    ASSERT_TRUE(device->beginUpdate(*first).ok());
    ASSERT_TRUE(append(*device, *kernel, digit, true).ok());
    ASSERT_TRUE(append(*device, *kernel, digit + 1, true).ok());
    Status status = device->replay(*first);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  ASSERT_TRUE(device->replay(*second).ok());
  int64_t digits = 0;
  ASSERT_TRUE(device->copyToHost(0, {0, 8}, &digits).ok());
  ASSERT_TRUE(device->synchronize().ok());
  EXPECT_EQ(digits, 152'354'657'152);
}

TEST(CudaDevice, RefusesAnUpdateThatDoesNotFit) {
  auto device = open({}, appendingKernel);
  auto kernel = device->findKernel(0, "append");
  EXPECT_EQ(device->beginUpdate(0).code(), StatusCode::InvalidArgument);
  auto id = recordDigits(*device, *kernel);
  auto other = recordDigits(*device, *kernel);
  ASSERT_TRUE(other.ok()) << other.status().message();
  ASSERT_TRUE(device->beginUpdate(*id).ok());
  EXPECT_EQ(append(*device, *kernel, 5, false).message(),
            "a kernel takes the place of one that varies");
  ASSERT_TRUE(append(*device, *kernel, 3, true).ok());
  EXPECT_EQ(device->replay(*id).message(),
            "a graph lacks arguments of kernels that vary");
  ASSERT_TRUE(append(*device, *kernel, 4, true).ok());
  EXPECT_EQ(append(*device, *kernel, 5, true).message(),
            "a kernel takes the place of one that varies");
  EXPECT_EQ(device->replay(*other).message(),
            "a graph lacks arguments of kernels that vary");
  EXPECT_TRUE(device->replay(*id).ok());
}

TEST(CudaDevice, RefusesWhatCannotBeRecorded) {
  auto device = open({});
  EXPECT_EQ(device->endCapture().status().message(),
            "no work is being captured");
  EXPECT_EQ(device->replay(0).code(), StatusCode::InvalidArgument);
  auto memory = device->allocateHostMemory(8);
  ASSERT_TRUE(memory.ok());
  auto *words = static_cast<int32_t *>(*memory);
  ASSERT_TRUE(recordBranches(*device, words, words + 1, false).ok());
  EXPECT_EQ(device->beginCapture().code(), StatusCode::FailedPrecondition);
  EXPECT_EQ(device->synchronize(0).code(), StatusCode::FailedPrecondition);
  EXPECT_EQ(device->allocateHostMemory(8).status().code(),
            StatusCode::FailedPrecondition);
  EXPECT_TRUE(device->endCapture().ok());
  // A thread that captures may not allocate, either.
  ASSERT_TRUE(device->beginCapture().ok());
  EXPECT_THAT(device->reserveScratch(1 << 10).message(),
              HasSubstr("CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"));
  EXPECT_THAT(device->endCapture().status().message(),
              HasSubstr("CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"));
  // An event from before is not part of what is recorded.
  ASSERT_TRUE(device->record(1, 1).ok());
  ASSERT_TRUE(device->beginCapture().ok());
  EXPECT_THAT(device->wait(0, 1).message(),
              HasSubstr("CUDA_ERROR_STREAM_CAPTURE_ISOLATION"));
  (void)device->endCapture();
  EXPECT_TRUE(device->fill(0, {0, 4}, 1).ok());
  EXPECT_TRUE(device->synchronize().ok());
}

} // namespace
