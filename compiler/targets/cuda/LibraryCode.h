//===- LibraryCode.h - What a program's library ops are on GPUs -*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TARGETS_CUDA_LIBRARYCODE_H
#define HOCKET_COMPILER_TARGETS_CUDA_LIBRARYCODE_H

#include "dialects/exec/IR/Exec.h"
#include "runtime/program/program.pb.h"

#include "mlir/IR/BuiltinOps.h"

namespace hocket::cuda {

/// Adds the module "library" with every kernel of
/// kernels/cuda/launches/Library.h that an instruction of `program` launches,
/// each once, and sets the scratch memory of each role to what its GEMMs and
/// library ops need. An op that does not run on GPUs is a diagnostic at
/// `module` that names its instruction.
mlir::LogicalResult addLibraryCode(mlir::ModuleOp module,
                                   program::Program &program);

/// Those kernels for people, with includes, and above each which calls launch
/// it, with which numbers. Diagnostics as of addLibraryCode().
mlir::LogicalResult writeLibraryText(mlir::ModuleOp module,
                                     program::Program &program,
                                     std::string &text);

/// What a rank of `role` allocates on its GPU beside the arena, to the byte
/// (kernels/cuda/DeviceMemory.h).
int64_t bytesBesideArena(exec::RoleOp role);

} // namespace hocket::cuda

#endif // HOCKET_COMPILER_TARGETS_CUDA_LIBRARYCODE_H
