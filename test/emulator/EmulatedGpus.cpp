//===- EmulatedGpus.cpp - GPUs for tests ----------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/emulator/EmulatedGpus.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

using namespace hocket;

namespace {
/// Where compiled kernels lie: the folder that all programs of a test run share
/// (HOCKET_CACHE of test/run_tests.py), or one that goes with the process.
class KernelFolder {
public:
  KernelFolder() {
    if (const char *shared = std::getenv("HOCKET_CACHE")) {
      path = shared;
      return;
    }
    std::string pattern =
        std::filesystem::temp_directory_path() / "emulated-kernels-XXXXXX";
    if (mkdtemp(pattern.data()))
      path = own = pattern;
  }
  ~KernelFolder() {
    std::error_code ignored;
    if (!own.empty())
      std::filesystem::remove_all(own, ignored);
  }
  std::string path;

private:
  std::string own;
};
} // namespace

bool test::usesPresentGpu() {
  const char *gpu = std::getenv("HOCKET_TEST_GPU");
  return gpu && std::string_view(gpu) == "present";
}

void test::useEmulatedGpus(const EmulatedGpus &gpus) {
  if (usesPresentGpu())
    return;
  static const KernelFolder kernels;
  auto set = [](const char *variable, const std::string &value) {
    ::setenv(variable, value.c_str(), 1);
  };
  set("HOCKET_LIBCUDA", HOCKET_EMULATED_CUDA);
  set("HOCKET_NVRTC", HOCKET_EMULATED_NVRTC);
  set("HOCKET_CUBLASLT", HOCKET_EMULATED_CUBLASLT);
  set("HOCKET_NCCL", HOCKET_EMULATED_NCCL);
  // Kernels that watch their memory are compiled from the same source.
  set("HOCKET_CACHE", kernels.path + (gpus.watch ? "/watched" : "/plain"));
  set("HOCKET_EMULATED_GPUS", std::to_string(gpus.count));
  set("HOCKET_EMULATED_SEED", std::to_string(gpus.seed));
  set("HOCKET_EMULATED_ARCH", std::to_string(gpus.architecture));
  set("HOCKET_EMULATED_MULTIPROCESSORS", std::to_string(gpus.multiprocessors));
  set("HOCKET_EMULATED_NCCL_BLOCKS", std::to_string(gpus.ncclBlocks));
  set("HOCKET_EMULATED_NCCL_VERSION", std::to_string(gpus.nccl));
  set("HOCKET_EMULATED_DRIVER", std::to_string(gpus.driver));
  set("HOCKET_EMULATED_MEMORY", std::to_string(gpus.memoryBytes));
  set("HOCKET_EMULATED_GEMMS_BY_ROWS", gpus.gemmsByRows ? "1" : "0");
  set("HOCKET_EMULATED_WATCH", gpus.watch ? "1" : "0");
}
