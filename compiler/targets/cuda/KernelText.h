//===- KernelText.h - Fused kernels to CUDA C++ -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Every `kern.kernel` becomes one function
///
///   extern "C" __global__ void symbol(const T *in0, ..., T *out0, ...,
///                                     const Scalars<N> scalars);
///
/// of a source that NVRTC compiles with no header but those of kernels/cuda.
/// A result may be the very buffer of an input that has the same access and
/// element size. kernels/cuda/Device.cuh says what `scalars` holds.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TARGETS_CUDA_KERNELTEXT_H
#define HOCKET_COMPILER_TARGETS_CUDA_KERNELTEXT_H

#include "compiler/targets/loops/CompiledKernel.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hocket::cuda {

/// One kernel.
struct CudaKernel {
  /// Its tasks are blocks; blocks and threads are one-dimensional.
  loops::CompiledKernel about;
  std::string source; ///< The function alone.
};

/// Writes every `kern.kernel` directly inside `module`, in order. The same
/// module gives the same text. What cannot be written is a diagnostic at its
/// operation.
mlir::LogicalResult writeKernels(mlir::ModuleOp module,
                                 std::vector<CudaKernel> &kernels);

/// All of them as one source: the headers' includes, then the functions.
std::string sourceOf(const std::vector<CudaKernel> &kernels);

/// The same in the form that a program holds: the source includes nothing.
loops::CodeVariant codeOf(const std::vector<CudaKernel> &kernels);

} // namespace hocket::cuda

#endif // HOCKET_COMPILER_TARGETS_CUDA_KERNELTEXT_H
