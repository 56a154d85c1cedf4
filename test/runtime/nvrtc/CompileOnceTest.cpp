//===- CompileOnceTest.cpp - Machine code that is kept --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/nvrtc/CompileOnce.h"

#include "test/emulator/EmulatedGpus.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace hocket;
namespace fs = std::filesystem;

namespace {

class CompileOnce : public testing::Test {
protected:
  void SetUp() override {
    test::useEmulatedGpus();
    folder = testing::TempDir() + "/compile-once-" + std::to_string(::getpid());
    fs::remove_all(folder);
    ::setenv("HOCKET_CACHE", folder.c_str(), 1);
  }
  void TearDown() override { fs::remove_all(folder); }

  nvrtc::Source sourceOf(const std::string &value) const {
    return {"kernels.cu",
            "extern \"C\" __global__ void fill(float *out) { out[0] = " +
                value + "; }\n",
            {}};
  }

  size_t kept() const {
    return size_t(std::count_if(
        fs::directory_iterator(folder), fs::directory_iterator(),
        [](const auto &file) { return file.path().extension() == ".kept"; }));
  }

  std::string folder;
};

TEST_F(CompileOnce, KeepsOneFileForEachSourceAndArchitecture) {
  auto first = nvrtc::compileOnce(sourceOf("1.0f"), "sm_90a");
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(kept(), 1u);
  auto again = nvrtc::compileOnce(sourceOf("1.0f"), "sm_90a");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, *first);
  EXPECT_EQ(kept(), 1u);
  ASSERT_TRUE(nvrtc::compileOnce(sourceOf("2.0f"), "sm_90a").ok());
  ASSERT_TRUE(nvrtc::compileOnce(sourceOf("1.0f"), "sm_80").ok());
  EXPECT_EQ(kept(), 3u);
}

TEST_F(CompileOnce, ThreadsGetTheSameCode) {
  std::vector<StatusOr<std::string>> codes(4, internalError("not compiled"));
  std::vector<std::thread> threads;
  for (StatusOr<std::string> &code : codes)
    threads.emplace_back(
        [&] { code = nvrtc::compileOnce(sourceOf("3.0f"), "sm_90a"); });
  for (std::thread &thread : threads)
    thread.join();
  for (const StatusOr<std::string> &code : codes) {
    ASSERT_TRUE(code.ok()) << code.status().message();
    EXPECT_EQ(*code, *codes.front());
  }
  EXPECT_EQ(kept(), 1u);
}

TEST_F(CompileOnce, CompilesWhereNothingCanBeKept) {
  ::setenv("HOCKET_CACHE", "/proc/nowhere", 1);
  EXPECT_TRUE(nvrtc::compileOnce(sourceOf("4.0f"), "sm_90a").ok());
}

TEST_F(CompileOnce, KeepsNothingOfWhatDoesNotCompile) {
  nvrtc::Source wrong{"kernels.cu", "this is no CUDA\n", {}};
  EXPECT_FALSE(nvrtc::compileOnce(wrong, "sm_90a").ok());
  EXPECT_FALSE(fs::exists(folder) && kept() > 0);
}

} // namespace
