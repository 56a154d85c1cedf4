//===- EmulatedGpus.h - GPUs for tests --------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_EMULATOR_EMULATEDGPUS_H
#define HOCKET_TEST_EMULATOR_EMULATEDGPUS_H

#include <cstdint>

namespace hocket::test {

struct EmulatedGpus {
  unsigned count = 1;
  uint64_t seed = 1; ///< Of the orders in which streams advance.
  unsigned architecture = 90;
  uint64_t memoryBytes = uint64_t(1) << 31;
  unsigned multiprocessors = 4;
  /// Of these, what an operation of NCCL takes unless it is told to take fewer.
  unsigned ncclBlocks = 0;
  int nccl = 22700;   ///< The version of NCCL.
  int driver = 13000; ///< The CUDA version that the driver is of.
  /// Whether cuBLASLt sums in other orders where there are other numbers of
  /// rows.
  bool gemmsByRows = false;
  bool watch = false; ///< Kernels that are compiled from now on tell of every
                      ///< access to memory.
};

/// From now on this process finds these GPUs when it opens one, through the
/// libraries of test/emulator/libraries. To be called before the first use of
/// the CUDA driver; compiled kernels are kept as long as the process runs.
/// With HOCKET_TEST_GPU=present nothing happens: tests of what every GPU keeps
/// run on the machine's own (test/gpu_check).
void useEmulatedGpus(const EmulatedGpus &gpus = {});

/// Whether HOCKET_TEST_GPU=present.
bool usesPresentGpu();

} // namespace hocket::test

#endif // HOCKET_TEST_EMULATOR_EMULATEDGPUS_H
