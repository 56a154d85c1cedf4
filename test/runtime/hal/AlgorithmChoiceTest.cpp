//===- AlgorithmChoiceTest.cpp - Measured once and kept -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The emulated cuBLASLt proposes four algorithms, of which the third is the
/// fastest by the emulated GPU's clock, and counts what it is asked for.
///
//===----------------------------------------------------------------------===//

#include "base/File.h"
#include "base/ResultCache.h"
#include "runtime/hal/drivers/cuda/CublasLtApi.h"
#include "runtime/hal/drivers/cuda/CudaDevice.h"
#include "test/emulator/EmulatedGpus.h"

#include <array>
#include <dlfcn.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/stat.h>

using namespace hocket;
using namespace hocket::hal;

namespace {

constexpr size_t algorithms = 4, best = 2;
using Counts = std::array<uint64_t, algorithms>;

class AlgorithmChoice : public testing::Test {
protected:
  void SetUp() override {
    test::useEmulatedGpus();
    folder = testing::TempDir() + "/choices-" + std::to_string(::getpid());
    std::filesystem::remove_all(folder);
    ::setenv("HOCKET_CACHE", folder.c_str(), 1);
  }
  void TearDown() override {
    fail(0);
    ::unsetenv("HOCKET_MEASURE_PRODUCTS");
    std::filesystem::remove_all(folder);
  }

  static GemmCall gemm() {
    GemmCall call;
    call.m = call.n = call.k = 16;
    call.a = {{0, 1024}};
    call.b = {{1024, 1024}};
    call.d = {{2048, 1024}};
    return call;
  }

  /// What a new device asks of each algorithm for one GEMM, which it may
  /// prepare for.
  static Counts multiply(bool prepares) {
    auto device = *createCudaDevice();
    EXPECT_TRUE(device->reserveScratch(1 << 20).ok());
    EXPECT_TRUE(device->allocateArena(1 << 16).ok());
    EXPECT_TRUE(device->createQueues(1, 0).ok());
    Counts before = counts();
    GemmCall call = gemm();
    if (prepares) {
      Status status = device->prepareGemms({&call, 1});
      EXPECT_TRUE(status.ok()) << status.message();
    }
    std::vector<uint8_t> bytes(1 << 16, 1);
    EXPECT_TRUE(device->copyToHost(0, {0, 1 << 16}, bytes.data()).ok());
    EXPECT_TRUE(device->synchronize().ok());
    EXPECT_EQ(bytes, std::vector<uint8_t>(1 << 16)) << "the arena is not zero";
    EXPECT_TRUE(device->gemm(0, call).ok());
    EXPECT_TRUE(device->synchronize().ok());
    Counts after = counts();
    for (size_t i = 0; i < algorithms; ++i)
      after[i] -= before[i];
    return after;
  }

  /// A function of the emulated library that real ones do not have.
  template <typename T> static T *function(const char *name) {
    void *library =
        ::dlopen((*cuda::cublasLtApi())->path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    T *found =
        library ? reinterpret_cast<T *>(::dlsym(library, name)) : nullptr;
    EXPECT_NE(found, nullptr) << name;
    return found;
  }

  /// From now on these algorithms, a bit each, are proposed and do not run.
  static void fail(unsigned algorithms) {
    if (auto *set = function<void(unsigned)>("emulatedFailingGemms"))
      set(algorithms);
  }

  static Counts counts() {
    auto *count = function<uint64_t(size_t)>("emulatedGemmsBy");
    Counts now = {};
    for (size_t i = 0; count && i < algorithms; ++i)
      now[i] = count(i);
    return now;
  }

  /// The one choice in the folder.
  std::string file() const {
    std::string found;
    for (const auto &entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".kept") {
        EXPECT_EQ(found, "");
        found = entry.path();
      }
    return found;
  }

  static void expectMeasured(const Counts &counts) {
    for (size_t i = 0; i < algorithms; ++i)
      EXPECT_GE(counts[i], 3u) << i;
    EXPECT_EQ(counts[best], counts[0] + 1) << "is not what gemm() runs";
  }

  static constexpr Counts onlyBest = {0, 0, 1, 0}, onlyFirst = {1, 0, 0, 0};
  /// What is prepared without measuring runs once, so that code is loaded.
  static constexpr Counts bestTwice = {0, 0, 2, 0}, firstTwice = {2, 0, 0, 0};
  std::string folder;
};

TEST_F(AlgorithmChoice, IsMeasuredOnceAndFoundAgain) {
  expectMeasured(multiply(true));
  EXPECT_EQ(multiply(true), bestTwice);
  EXPECT_EQ(multiply(false), onlyBest) << "not prepared, but known";
}

TEST_F(AlgorithmChoice, OfWhatIsNotPreparedIsTheFirst) {
  EXPECT_EQ(multiply(false), onlyFirst);
  EXPECT_FALSE(std::filesystem::exists(folder + "/gemms.lock"));
}

TEST_F(AlgorithmChoice, CanBeSwitchedOff) {
  expectMeasured(multiply(true));
  ::setenv("HOCKET_MEASURE_PRODUCTS", "0", 1);
  EXPECT_EQ(multiply(true), firstTwice);
}

TEST_F(AlgorithmChoice, IsNotMadeWhereItCannotBeKept) {
  ASSERT_TRUE(ResultCache::open(folder).ok());
  ASSERT_EQ(::chmod(folder.c_str(), 0770), 0);
  EXPECT_EQ(multiply(true), firstTwice);
}

TEST_F(AlgorithmChoice, DoesNotBelieveAHostileFile) {
  expectMeasured(multiply(true));
  std::string path = file(), good = *readFile(path, 1 << 20);
  std::string name = std::filesystem::path(path).stem();
  auto cache = ResultCache::open(folder);
  ASSERT_TRUE(cache.ok());
  // Damaged; of another size, or no proposal, with a digest that is right.
  std::string algorithm = *cache->find(name), foreign = algorithm;
  ASSERT_EQ(algorithm.size(), sizeof(cuda::cublasLtMatmulAlgo_t));
  foreign[8 * 6] = 77;
  good.back() ^= 1;
  ASSERT_TRUE(writeFileAtomically(path, good).ok());
  expectMeasured(multiply(true));
  for (const std::string &bytes :
       {foreign, algorithm.substr(1), std::string(), algorithm + "x"}) {
    ASSERT_TRUE(cache->store(name, bytes).ok());
    EXPECT_EQ(multiply(false), onlyFirst);
    expectMeasured(multiply(true));
    EXPECT_EQ(*cache->find(name), algorithm);
  }
}

TEST_F(AlgorithmChoice, PassesOverWhatDoesNotRun) {
  fail(1 << 2 | 1 << 0);
  Counts counts = multiply(true);
  EXPECT_EQ(counts[0], 0u);
  EXPECT_EQ(counts[2], 0u);
  EXPECT_EQ(counts[3], counts[1] + 1) << "is not the fastest of the others";
  EXPECT_EQ(multiply(true), (Counts{0, 0, 0, 2}));
  // What ran when it was kept, and what is taken without being measured.
  fail(1 << 3);
  EXPECT_EQ(multiply(false), onlyFirst);
  ::setenv("HOCKET_MEASURE_PRODUCTS", "0", 1);
  fail(1 << 0 | 1 << 1);
  EXPECT_EQ(multiply(true), (Counts{0, 0, 2, 0}));
}

TEST_F(AlgorithmChoice, IsAnErrorWhereNothingRuns) {
  fail(~0U);
  for (const char *measures : {"1", "0"}) {
    ::setenv("HOCKET_MEASURE_PRODUCTS", measures, 1);
    auto device = *createCudaDevice();
    ASSERT_TRUE(device->reserveScratch(1 << 20).ok());
    ASSERT_TRUE(device->allocateArena(1 << 16).ok());
    ASSERT_TRUE(device->createQueues(1, 0).ok());
    GemmCall call = gemm();
    Status status = device->prepareGemms({&call, 1});
    EXPECT_EQ(status.message(), "gemm 16 x 16 x 16: cublasLtMatmul: "
                                "CUBLAS_STATUS_NOT_SUPPORTED");
  }
}

TEST_F(AlgorithmChoice, OfAnotherProposalIsTaken) {
  expectMeasured(multiply(true));
  auto cache = ResultCache::open(folder);
  std::string name = std::filesystem::path(file()).stem();
  std::string algorithm = *cache->find(name);
  algorithm[8 * 6] = 3;
  ASSERT_TRUE(cache->store(name, algorithm).ok());
  EXPECT_EQ(multiply(true), (Counts{0, 0, 0, 2}));
}

} // namespace
