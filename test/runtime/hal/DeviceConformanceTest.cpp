//===- DeviceConformanceTest.cpp - What every driver must do --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The contract of Device.h, checked for every driver. A new driver joins by
/// its name in `INSTANTIATE_TEST_SUITE_P` below; what its properties say it
/// cannot do is skipped.
///
//===----------------------------------------------------------------------===//

#include "base/File.h"
#include "kernels/cuda/Sources.h"
#include "kernels/cuda/launches/Library.h"
#include "runtime/hal/drivers/Drivers.h"
#include "test/emulator/EmulatedGpus.h"

#include <chrono>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

using namespace hocket;
using namespace hocket::hal;

namespace {
class DeviceConformance : public testing::TestWithParam<const char *> {
protected:
  static constexpr uint64_t arena = 1 << 16;

  void SetUp() override {
    test::useEmulatedGpus({.watch = true});
    auto created = createDevice(GetParam());
    ASSERT_TRUE(created.ok()) << created.status().message();
    device = *std::move(created);
    ASSERT_TRUE(device->allocateArena(arena).ok());
    ASSERT_TRUE(device->createQueues(2, 2).ok());
  }

  bool computes() const { return device->properties().computes; }

  template <typename T>
  void upload(uint64_t offset, const std::vector<T> &values) {
    Status status = device->copyFromHost(0, values.data(),
                                         {offset, values.size() * sizeof(T)});
    EXPECT_TRUE(status.ok()) << status.message();
  }

  template <typename T> std::vector<T> download(uint64_t offset, size_t count) {
    std::vector<T> values(count);
    EXPECT_TRUE(
        device->copyToHost(0, {offset, count * sizeof(T)}, values.data()).ok());
    EXPECT_TRUE(device->synchronize().ok());
    return values;
  }

  bool isGpu() const { return GetParam() == std::string_view("cuda"); }

  /// A module with a kernel addScalar.
  StatusOr<ModuleId> loadTestModule() {
    if (isGpu()) {
      ModuleVariant source{"", "cuda-c++", addScalar};
      return device->loadModule("test", {&source, 1});
    }
    auto image = readFile(HOCKET_TEST_KERNELS, 1 << 26);
    EXPECT_TRUE(image.ok());
    ModuleVariant variant{"x86-64-v3", "elf-so", *image};
    return device->loadModule("test", {&variant, 1});
  }

  /// For the library op `call`, where the device takes it from a module.
  Status loadLibrary(const LibraryCall &call) {
    if (!isGpu())
      return okStatus();
    kernels::CudaCall made;
    EXPECT_EQ(kernels::makeCudaCall(*call.op,
                                    {call.integers, call.floats,
                                     call.buffers.size(), call.scalars.size()},
                                    made),
              nullptr);
    std::string text = kernels::standaloneSource(
        kernels::cudaSource(made.launches), "library.cu");
    ModuleVariant source{"", "cuda-c++", text};
    return device->loadModule("library", {&source, 1}).status();
  }

  /// Writes what stands at the ends of dynamic shared memory and in the middle
  /// of its own: 256 bytes of it.
  static constexpr char useShared[] = R"(
    #include "kernels/cuda/Device.cuh"
    extern "C" __global__ void useShared(
        int *out, const hocket::cuda::Scalars<1> numbers) {
      __shared__ int own[64];
      HOCKET_DYNAMIC_SHARED(given);
      int last = int(numbers.at[0]) - 1;
      own[threadIdx.x] = threadIdx.x;
      if (threadIdx.x == 0)
        given[0] = 5, given[last] = 7;
      __syncthreads();
      out[threadIdx.x] = own[63 - threadIdx.x] + int(given[0] * given[last]);
    })";
  /// What TestKernels.cpp has, for a GPU.
  static constexpr char addScalar[] = R"(
    struct Numbers { long long at[1]; };
    extern "C" __global__ void addScalar(const int *in, int *out,
                                         const Numbers numbers) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < 1000)
        out[i] = in[i] + int(numbers.at[0]);
    })";

  std::unique_ptr<Device> device;
};
} // namespace

#define EXPECT_REFUSED(expression, text)                                       \
  do {                                                                         \
    Status refused = (expression);                                             \
    EXPECT_EQ(refused.code(), StatusCode::InvalidArgument);                    \
    EXPECT_EQ(refused.message(), text);                                        \
  } while (false)

TEST_P(DeviceConformance, SaysWhatItIs) {
  const DeviceProperties &about = device->properties();
  EXPECT_EQ(about.driver, GetParam());
  EXPECT_FALSE(about.name.empty());
  EXPECT_GE(about.workers, 1u);
}

TEST_P(DeviceConformance, TheArenaStartsAsZeros) {
  EXPECT_EQ(device->arenaBytes(), arena);
  EXPECT_EQ(download<uint8_t>(0, arena), std::vector<uint8_t>(arena));
}

TEST_P(DeviceConformance, SetUpHappensOnce) {
  EXPECT_REFUSED(device->allocateArena(64), "the arena is allocated already");
  EXPECT_REFUSED(device->createQueues(1, 0), "the streams are created already");
}

TEST_P(DeviceConformance, RefusesAnArenaBeyondTheMachine) {
  if (!computes())
    GTEST_SKIP() << "allocates nothing";
  auto other = createDevice(GetParam());
  Status status = (*other)->allocateArena(uint64_t(1) << 50);
  EXPECT_EQ(status.code(), StatusCode::ResourceExhausted);
  EXPECT_NE(status.message().find("the program needs 1.00 PiB of memory"),
            std::string::npos);
}

TEST_P(DeviceConformance, CopiesToAndFro) {
  std::vector<int32_t> values(100);
  std::iota(values.begin(), values.end(), -50);
  upload(256, values);
  ASSERT_TRUE(device->copy(0, {256, 400}, {4096, 400}).ok());
  ASSERT_TRUE(device->fill(0, {4096, 8}, 0xff).ok());
  if (!computes())
    GTEST_SKIP() << "does not compute";
  EXPECT_EQ(download<int32_t>(256, 100), values);
  values[0] = values[1] = -1;
  EXPECT_EQ(download<int32_t>(4096, 100), values);
  EXPECT_EQ(download<int32_t>(4096 + 400, 1)[0], 0);
}

TEST_P(DeviceConformance, LargeCopiesAndFillsReachEveryByte) {
  auto other = createDevice(GetParam());
  ASSERT_TRUE(other.ok());
  device = *std::move(other);
  constexpr uint64_t half = (uint64_t(5) << 20) + 3;
  ASSERT_TRUE(device->allocateArena(2 * half).ok());
  ASSERT_TRUE(device->createQueues(1, 0).ok());
  ASSERT_TRUE(device->fill(0, {0, half}, 7).ok());
  ASSERT_TRUE(device->copy(0, {0, half}, {half, half}).ok());
  if (computes())
    EXPECT_EQ(download<uint8_t>(0, 2 * half),
              std::vector<uint8_t>(2 * half, 7));
}

TEST_P(DeviceConformance, RefusesRangesOutsideTheArena) {
  char byte = 0;
  EXPECT_REFUSED(device->copyFromHost(0, &byte, {arena, 1}),
                 "copy from host: bytes [65536, +1) lie outside the arena of "
                 "65536");
  EXPECT_REFUSED(device->copyToHost(0, {~uint64_t(0), 2}, &byte),
                 "copy to host: bytes [18446744073709551615, +2) lie outside "
                 "the arena of 65536");
  EXPECT_REFUSED(device->fill(0, {0, arena + 1}, 0),
                 "fill: bytes [0, +65537) lie outside the arena of 65536");
  EXPECT_REFUSED(device->copy(0, {0, 8}, {64, 16}), "copy of 8 bytes into 16");
  EXPECT_REFUSED(device->copy(0, {0, 8}, {4, 8}),
                 "copy between ranges that overlap");
}

TEST_P(DeviceConformance, RefusesUnknownStreamsAndEvents) {
  EXPECT_REFUSED(device->fill(2, {0, 1}, 0),
                 "stream 2 does not exist, there are 2");
  EXPECT_REFUSED(device->record(0, 2), "event 2 does not exist, there are 2");
  EXPECT_REFUSED(device->wait(0, 9), "event 9 does not exist, there are 2");
  EXPECT_REFUSED(device->synchronize(5),
                 "stream 5 does not exist, there are 2");
}

TEST_P(DeviceConformance, EventsOrderStreams) {
  // Waiting for what was never recorded does not wait.
  ASSERT_TRUE(device->wait(1, 1).ok());
  for (int round = 0; round < 50; ++round) {
    ASSERT_TRUE(device->fill(0, {0, 4096}, uint8_t(round + 1)).ok());
    ASSERT_TRUE(device->record(0, 0).ok());
    ASSERT_TRUE(device->wait(1, 0).ok());
    ASSERT_TRUE(device->copy(1, {0, 4096}, {8192, 4096}).ok());
    ASSERT_TRUE(device->record(1, 1).ok());
    ASSERT_TRUE(device->wait(0, 1).ok());
    if (computes())
      ASSERT_EQ(download<uint8_t>(8192, 4096),
                std::vector<uint8_t>(4096, uint8_t(round + 1)));
  }
}

TEST_P(DeviceConformance, LaunchesKernels) {
  auto module = loadTestModule();
  ASSERT_TRUE(module.ok()) << module.status().message();
  auto kernel = device->findKernel(*module, "addScalar");
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  std::vector<int32_t> values(1000);
  std::iota(values.begin(), values.end(), 0);
  upload(0, values);
  Range buffers[] = {{0, 4000}, {8192, 4000}};
  int64_t scalar = 41;
  for (int64_t grain : {1, 7, 5000}) {
    ASSERT_TRUE(device->fill(0, buffers[1], 0).ok());
    LaunchCall call{*kernel, buffers, {&scalar, 1}, 1000, grain};
    if (isGpu())
      call = {*kernel, buffers, {&scalar, 1}, 8, 1, 128};
    Status status = device->launch(0, call);
    ASSERT_TRUE(status.ok()) << status.message();
    if (!computes())
      continue;
    std::vector<int32_t> sums = download<int32_t>(8192, 1000);
    for (int32_t i = 0; i < 1000; ++i)
      ASSERT_EQ(sums[i], i + 41) << grain;
  }
  Range outside[] = {{0, 4000}, {arena, 4}};
  EXPECT_REFUSED(device->launch(0, {*kernel, outside, {&scalar, 1}, 1000, 1}),
                 "launch: bytes [65536, +4) lie outside the arena of 65536");
  EXPECT_REFUSED(device->launch(0, {*kernel + 1, buffers, {}, 1, 1}),
                 "kernel 1 does not exist, there are 1");
}

/// Below, around and above what a GPU gives unasked, which is less by what a
/// kernel has statically.
TEST_P(DeviceConformance, KernelsHaveTheSharedMemoryTheyAskFor) {
  if (!isGpu())
    GTEST_SKIP() << "only blocks of a GPU share memory";
  std::string text = kernels::standaloneSource(useShared, "shared.cu");
  ModuleVariant source{"", "cuda-c++", text};
  auto module = device->loadModule("shared", {&source, 1});
  ASSERT_TRUE(module.ok()) << module.status().message();
  auto kernel = device->findKernel(*module, "useShared");
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  for (uint32_t bytes : {1u << 10, 48u << 10, 96u << 10, 1u << 10}) {
    Range buffer{0, 256};
    ASSERT_TRUE(device->fill(0, buffer, 0).ok());
    int64_t count = bytes / 4;
    Status status = device->launch(
        0, {*kernel, {&buffer, 1}, {&count, 1}, 1, 1, 64, bytes});
    ASSERT_TRUE(status.ok()) << status.message();
    std::vector<int32_t> sums = download<int32_t>(0, 64);
    for (int32_t i = 0; computes() && i < 64; ++i)
      ASSERT_EQ(sums[size_t(i)], 63 - i + 35) << bytes;
  }
}

TEST_P(DeviceConformance, RefusesModulesItCannotRun) {
  EXPECT_REFUSED(device->loadModule("m", {}).status(),
                 "module 'm' has no variant");
  EXPECT_REFUSED(device->findKernel(3, "f").status(),
                 "module 3 does not exist, there are 0");
  if (!computes())
    return;
  ModuleVariant foreign{"armv9", "elf-so",
                        "\x7f"
                        "ELF"};
  Status status = device->loadModule("m", {&foreign, 1}).status();
  EXPECT_EQ(status.code(), StatusCode::FailedPrecondition);
  EXPECT_EQ(status.message().rfind(
                "module 'm' has code for armv9 (elf-so); "
                "this " +
                    std::string(isGpu() ? "GPU" : "processor") + " runs ",
                0),
            0u)
      << status.message();
  ModuleVariant broken{isGpu() ? "sm_90" : "x86-64-v3",
                       isGpu() ? "cubin" : "elf-so",
                       "\x7f"
                       "ELF"};
  EXPECT_EQ(device->loadModule("m", {&broken, 1}).status().code(),
            StatusCode::DataLoss);
  auto module = loadTestModule();
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(device->findKernel(*module, "absent").status().code(),
            StatusCode::NotFound);
}

// d = 2 a b^T + bias, then d += that; against sums in double.
TEST_P(DeviceConformance, MultipliesMatrices) {
  constexpr uint64_t m = 5, n = 7, k = 33;
  std::vector<float> a(m * k), b(n * k), bias(n);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = float(int(i * 37 % 19) - 9) / 8;
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = float(int(i * 53 % 23) - 11) / 16;
  std::iota(bias.begin(), bias.end(), 1.0f);
  upload(0, a), upload(4096, b), upload(8192, bias);
  GemmCall call;
  call.m = m, call.n = n, call.k = k;
  call.transposeB = true;
  call.alpha = 2;
  call.a = {{0, a.size() * 4}};
  call.b = {{4096, b.size() * 4}};
  call.d = {{12288, m * n * 4}};
  call.bias = {{8192, n * 4}};
  ASSERT_TRUE(device->reserveScratch(1 << 20).ok());
  Status status = device->gemm(0, call);
  ASSERT_TRUE(status.ok()) << status.message();
  call.accumulate = true;
  ASSERT_TRUE(device->gemm(0, call).ok());
  if (!computes())
    GTEST_SKIP() << "does not compute";
  std::vector<float> d = download<float>(12288, m * n);
  for (uint64_t i = 0; i < m; ++i)
    for (uint64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (uint64_t p = 0; p < k; ++p)
        sum += double(a[i * k + p]) * double(b[j * k + p]);
      EXPECT_NEAR(d[i * n + j], 2 * (2 * sum + bias[j]), 1e-4);
    }
}

// d = scaleA scaleB op(a) op(b), with every pair of formats and transposition.
TEST_P(DeviceConformance, MultipliesEightBitOperands) {
  using kernels::F8Layouts;
  F8Layouts layouts = device->properties().f8Layouts;
  if (layouts == F8Layouts::None)
    GTEST_SKIP() << "multiplies no 8-bit operands";
  constexpr uint64_t m = 32, n = 48, k = 64;
  const float scales[] = {0.5f, 0.25f};
  upload(16384, std::vector<float>{scales[0]});
  upload(20480, std::vector<float>{scales[1]});
  ASSERT_TRUE(device->reserveScratch(1 << 20).ok());
  for (auto [typeA, typeB] : {std::pair(DType::F8E4M3, DType::F8E4M3),
                              std::pair(DType::F8E5M2, DType::F8E4M3),
                              std::pair(DType::F8E4M3, DType::F8E5M2)})
    for (int flags = 0; flags < 8; ++flags) {
      std::vector<uint8_t> a(m * k), b(n * k);
      kernels::View viewA{a.data(), typeA}, viewB{b.data(), typeB};
      for (size_t i = 0; i < a.size(); ++i)
        kernels::store(viewA, int64_t(i), double(int(i * 37 % 19) - 9) / 8);
      for (size_t i = 0; i < b.size(); ++i)
        kernels::store(viewB, int64_t(i), double(int(i * 53 % 23) - 11) / 16);
      upload(0, a), upload(4096, b);
      GemmCall call;
      call.m = m, call.n = n, call.k = k;
      call.transposeA = flags & 1, call.transposeB = flags & 2;
      call.a = {{0, a.size()}, typeA};
      call.b = {{4096, b.size()}, typeB};
      call.d = {{8192, m * n * 4}, DType::F32};
      call.scaleA = {{16384, 4}};
      call.scaleB = {{20480, 4}};
      call.accumulate = flags & 4;
      if (call.accumulate)
        upload(8192, std::vector<float>(m * n, 1.5f));
      Status status = device->gemm(0, call);
      if (layouts == F8Layouts::InnerFastest && (flags & 3) != 2) {
        ASSERT_EQ(status.code(), StatusCode::InvalidArgument);
        continue;
      }
      ASSERT_TRUE(status.ok()) << status.message();
      if (!computes())
        continue;
      std::vector<float> d = download<float>(8192, m * n);
      for (uint64_t i = 0; i < m; ++i)
        for (uint64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (uint64_t p = 0; p < k; ++p)
            sum += kernels::load(viewA,
                                 int64_t(flags & 1 ? p * m + i : i * k + p)) *
                   kernels::load(viewB,
                                 int64_t(flags & 2 ? j * k + p : p * n + j));
          double expected =
              (flags & 4 ? 1.5 : 0) + double(scales[0]) * scales[1] * sum;
          ASSERT_NEAR(d[i * n + j], expected, 1e-4);
        }
    }
  if (!computes())
    GTEST_SKIP() << "does not compute";
}

TEST_P(DeviceConformance, RefusesEightBitOperandsThatDoNotMatch) {
  GemmCall call;
  call.m = call.n = call.k = 4;
  call.a = {{0, 16}, DType::F8E5M2};
  call.b = {{64, 16}, DType::F8E5M2};
  call.d = {{128, 64}};
  EXPECT_REFUSED(device->gemm(0, call),
                 "gemm: both operands are f8e5m2, one of "
                 "the two must be f8e4m3");
  call.b = {{64, 64}};
  EXPECT_REFUSED(device->gemm(0, call), "gemm: one factor has 8-bit elements "
                                        "and the other has not");
  call.a = {{0, 64}};
  call.scaleB = {{512, 4}};
  EXPECT_REFUSED(device->gemm(0, call),
                 "gemm: a scale is an f32 for 8-bit elements");
  call.a = {{0, 16}, DType::F8E4M3};
  call.b = {{64, 16}, DType::F8E4M3};
  call.scaleB = {{512, 3}};
  EXPECT_REFUSED(device->gemm(0, call),
                 "gemm scale: has 3 bytes, 4 are needed");
  call.scaleB = {};
  call.d = {{128, 64}, DType::F8E4M3};
  EXPECT_REFUSED(device->gemm(0, call), "gemm d: has no floating type");
}

TEST_P(DeviceConformance, RefusesGemmsThatDoNotFit) {
  GemmCall call;
  call.m = call.n = call.k = 4;
  call.a = {{0, 64}};
  call.b = {{64, 64}};
  call.d = {{128, 60}};
  EXPECT_REFUSED(device->gemm(0, call), "gemm d: has 60 bytes, 64 are needed");
  call.d = {{128, 64}, DType::I32};
  EXPECT_REFUSED(device->gemm(0, call), "gemm d: has no floating type");
  call.d = {{128, 64}};
  call.k = 0;
  EXPECT_REFUSED(device->gemm(0, call),
                 "gemm: m, n and k must be from 1 to 2^31 - 1");
}

TEST_P(DeviceConformance, CallsLibraryOps) {
  const kernels::LibraryOp *op = kernels::findLibraryOp("embedding");
  ASSERT_NE(op, nullptr);
  upload<int32_t>(0, {2, 0, 1});
  upload<float>(64, {1, 2, 3, 4, 5, 6});
  Range buffers[] = {{0, 12}, {64, 24}, {128, 24}};
  int64_t integers[] = {1, 1, 3, 3, 2};
  LibraryCall call{op, buffers, integers, {}, {}, false};
  ASSERT_TRUE(loadLibrary(call).ok());
  Status status = device->library(0, call);
  ASSERT_TRUE(status.ok()) << status.message();
  if (computes())
    EXPECT_EQ(download<float>(128, 6), (std::vector<float>{5, 6, 1, 2, 3, 4}));
  buffers[2].bytes = 20;
  EXPECT_REFUSED(device->library(0, call),
                 "library op 'embedding': operand 2 has 20 bytes, 24 are "
                 "needed");
  integers[2] = -1;
  EXPECT_EQ(device->library(0, call).code(), StatusCode::InvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Drivers, DeviceConformance,
                         testing::Values("null", "cpu", "cuda"),
                         [](const auto &info) { return info.param; });

TEST(Drivers, NamesWhatIsKnown) {
  EXPECT_EQ(createDevice("tpu").status().message(),
            "no driver for target 'tpu', this build has null, cpu, cuda");
}

TEST(CpuDevice, ReadsItsEnvironment) {
  ::setenv("HOCKET_CPU_ISA", "sse2", 1);
  EXPECT_EQ(
      createDevice("cpu").status().message(),
      "HOCKET_CPU_ISA is 'sse2', expected avx2, avx512, avx512_bf16 or amx");
  ::setenv("HOCKET_CPU_ISA", "x86-64-v3", 1);
  auto device = createDevice("cpu");
  ASSERT_TRUE(device.ok()) << device.status().message();
  EXPECT_EQ((*device)->properties().isa, "avx2");
  // A variant above the cap is passed over.
  ModuleVariant above{"x86-64-v4", "elf-so",
                      "\x7f"
                      "ELF"};
  EXPECT_EQ((*device)->loadModule("m", {&above, 1}).status().code(),
            StatusCode::FailedPrecondition);
  ::unsetenv("HOCKET_CPU_ISA");
}

TEST(NullDevice, PlaysTheTimeOfItsSpeed) {
  ::setenv("HOCKET_NULL_GFLOPS", "fast", 1);
  EXPECT_EQ(createDevice("null").status().message(),
            "HOCKET_NULL_GFLOPS is 'fast', expected a positive number");
  ::setenv("HOCKET_NULL_GFLOPS", "0.1", 1);
  auto device = createDevice("null");
  ::unsetenv("HOCKET_NULL_GFLOPS");
  ASSERT_TRUE(device.ok()) << device.status().message();
  ASSERT_TRUE((*device)->allocateArena(1 << 20).ok());
  ASSERT_TRUE((*device)->createQueues(1, 0).ok());
  GemmCall call;
  call.m = call.n = call.k = 100;
  call.a = {{0, 40000}};
  call.b = {{40960, 40000}};
  call.d = {{81920, 40000}};
  EXPECT_TRUE((*device)->playsTime());
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE((*device)->gemm(0, call).ok());
  EXPECT_DOUBLE_EQ((*device)->time(0), 0.06);
}

TEST(NullDevice, PlaysTheTimeOfItsLinks) {
  ::setenv("HOCKET_NULL_GBYTES", "-1", 1);
  EXPECT_EQ(createDevice("null").status().message(),
            "HOCKET_NULL_GBYTES is '-1', expected a positive number");
  ::setenv("HOCKET_NULL_GBYTES", "0.1", 1);
  auto device = createDevice("null");
  ::unsetenv("HOCKET_NULL_GBYTES");
  ASSERT_TRUE(device.ok()) << device.status().message();
  ASSERT_TRUE((*device)->createQueues(2, 0).ok());
  ASSERT_TRUE((*device)->travelled(1, 2000000).ok());
  EXPECT_DOUBLE_EQ((*device)->time(1), 0.02);
  EXPECT_EQ((*device)->time(0), 0); // A clock for each stream,
  (*device)->reachTime(1, 0.01);    // which never goes back.
  EXPECT_DOUBLE_EQ((*device)->time(1), 0.02);
  (*device)->joinTimes();
  EXPECT_DOUBLE_EQ((*device)->time(0), 0.02);
  EXPECT_FALSE((*device)->travelled(2, 1).ok());
}

TEST(NullDevice, PlaysNoTimeUnlessToldTo) {
  auto device = createDevice("null");
  ASSERT_TRUE(device.ok()) << device.status().message();
  EXPECT_FALSE((*device)->playsTime());
  ASSERT_TRUE((*device)->createQueues(1, 0).ok());
  ASSERT_TRUE((*device)->travelled(0, 2000000).ok());
  EXPECT_EQ((*device)->time(0), 0);
}
