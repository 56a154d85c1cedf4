//===- LibraryCode.h - What a program's library ops are on GPUs -*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TARGETS_CUDA_LIBRARYCODE_H
#define HOCKET_COMPILER_TARGETS_CUDA_LIBRARYCODE_H

#include "runtime/program/program.pb.h"

#include "mlir/IR/BuiltinOps.h"

namespace hocket::cuda {

/// Device memory that cuBLASLt may use in a product: what its makers advise
/// for the GPUs that want most (32 MiB on Hopper).
inline constexpr uint64_t kProductWorkspaceBytes = 32 << 20;

/// Adds the module "library" with every kernel of kernels/cuda/Library.h that
/// an instruction of `program` launches, each once, and sets the scratch memory
/// of each role to what its products and library ops need. An op that does not
/// run on GPUs is a diagnostic at `module` that names its instruction.
mlir::LogicalResult addLibraryCode(mlir::ModuleOp module,
                                   program::Program &program);

} // namespace hocket::cuda

#endif // HOCKET_COMPILER_TARGETS_CUDA_LIBRARYCODE_H
