//===- EmulatedKernel.h - Generated CUDA C++ in tests -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_COMPILER_TARGETS_CUDA_EMULATEDKERNEL_H
#define HOCKET_TEST_COMPILER_TARGETS_CUDA_EMULATEDKERNEL_H

#include "test/compiler/targets/cpu/KernelHarness.h"

namespace hocket::test {

/// Writes the one kernel of `module` as CUDA C++, runs it on the emulated GPU
/// with threads in several orders, compares the orders' bits with each other
/// and the results with `expected`.
void expectOnEmulatedGpu(const KernelText &text, mlir::ModuleOp module,
                         const std::vector<Values> &inputs,
                         const std::vector<Values> &expected,
                         const Check &check);

} // namespace hocket::test

#endif // HOCKET_TEST_COMPILER_TARGETS_CUDA_EMULATEDKERNEL_H
