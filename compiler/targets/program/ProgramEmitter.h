//===- ProgramEmitter.h - From exec to program.hkx --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes a module of the level exec, and the code of its kernels, as the
/// message that the runtime reads. Nothing is decided here.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TARGETS_PROGRAM_PROGRAMEMITTER_H
#define HOCKET_COMPILER_TARGETS_PROGRAM_PROGRAMEMITTER_H

#include "compiler/targets/cpu/KernelCompiler.h"
#include "dialects/exec/IR/Exec.h"
#include "runtime/program/program.pb.h"

#include "mlir/IR/BuiltinOps.h"

namespace hocket {

/// Fills `program` from `module`, which holds one `exec.role`, `kern.kernel`s
/// whose code is `kernels`, `dist.mesh` and the attribute `kern.training`.
/// Errors are diagnostics.
mlir::LogicalResult emitProgram(mlir::ModuleOp module,
                                const cpu::CompiledKernels &kernels,
                                program::Program &program);

/// The parts of it, each in a file of its own.
mlir::LogicalResult emitTraining(mlir::ModuleOp module,
                                 program::Program &program);
mlir::LogicalResult emitParameters(exec::RoleOp role,
                                   program::Program &program);
mlir::LogicalResult emitRole(exec::RoleOp role,
                             const llvm::StringMap<uint32_t> &kernels,
                             program::Program &program);

/// Of an element type, DTYPE_UNSPECIFIED where the format has none.
program::DType dtypeOf(mlir::Type type);

} // namespace hocket

#endif // HOCKET_COMPILER_TARGETS_PROGRAM_PROGRAMEMITTER_H
