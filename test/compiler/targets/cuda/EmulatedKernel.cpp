//===- EmulatedKernel.cpp - Generated CUDA C++ in tests -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/compiler/targets/cuda/EmulatedKernel.h"

#include "compiler/targets/cuda/KernelText.h"
#include "test/emulator/Module.h"

#include <gtest/gtest.h>

namespace hocket::test {
namespace {

using Bytes = std::vector<std::vector<char>>;

/// What the kernel leaves in the results, with threads in the order of `seed`.
Bytes runOnce(emulator::Module &code, const cuda::CudaKernel &kernel,
              LaunchMemory &memory, const LaunchScalars &scalars,
              uint64_t seed) {
  std::vector<int64_t> numbers = scalars.numbers();
  EXPECT_EQ(numbers.size(), kernel.about.scalars);
  std::vector<void *> arguments;
  for (void *&pointer : memory.pointers)
    arguments.push_back(&pointer);
  arguments.push_back(numbers.data());
  emulator::Launch launch;
  launch.gridSize.x = static_cast<unsigned>(kernel.about.tasks);
  launch.blockSize.x = kernel.about.threads;
  launch.sharedBytes = kernel.about.sharedBytes;
  launch.seed = seed;
  EXPECT_EQ(code.run(kernel.about.symbol, launch, arguments), "")
      << kernel.source;
  EXPECT_TRUE(memory.guardsHold()) << kernel.source;
  return memory.results();
}

} // namespace

void expectOnEmulatedGpu(const KernelText &text, mlir::ModuleOp module,
                         const std::vector<Values> &inputs,
                         const std::vector<Values> &expected,
                         const Check &check) {
  std::vector<cuda::CudaKernel> kernels;
  ASSERT_TRUE(succeeded(cuda::writeKernels(module, kernels))) << text.str();
  ASSERT_EQ(kernels.size(), 1u);
  std::string error;
  auto code = emulator::Module::compile(cuda::sourceOf(kernels), error);
  ASSERT_TRUE(code) << error << kernels[0].source;
  LaunchMemory first(text, inputs, check);
  LaunchMemory second(text, inputs, check, /*aligned=*/true);
  Bytes bytes = runOnce(*code, kernels[0], first, check.scalars, 1);
  expectResults(text, check, bytes, expected,
                "the emulated GPU\n" + kernels[0].source);
  EXPECT_EQ(runOnce(*code, kernels[0], second, check.scalars, 2), bytes)
      << "depends on the order of threads, or on where buffers are\n"
      << kernels[0].source;
}

} // namespace hocket::test
