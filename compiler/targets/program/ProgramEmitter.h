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

#include "compiler/targets/loops/CompiledKernel.h"
#include "dialects/exec/IR/Exec.h"
#include "runtime/program/program.pb.h"

#include "mlir/IR/BuiltinOps.h"

namespace hocket {

/// The groups of ranks that a program needs, made as they are asked for.
class GroupTable {
public:
  /// `program` has its mesh; groups are added to it.
  explicit GroupTable(program::Program &program) : program(program) {}

  /// Index of the group of ranks that differ only along `axes`, row-major over
  /// the list. "pp{0,3}" is the axis pp with these two of its places.
  uint32_t indexOf(mlir::ArrayAttr axes);

  /// How many ranks such a group has.
  uint64_t sizeOf(mlir::ArrayAttr axes) const;

  /// Sets `scalar` to the place along `axes` times `step`; to 0 without axes.
  void setPlace(mlir::ArrayAttr axes, int64_t step, program::Scalar &scalar);

  /// The mesh axes that none of `dims`, lists of axes, has; the pipeline's,
  /// along which ranks hold different tensors, is none of them.
  mlir::ArrayAttr axesBeside(mlir::ArrayAttr dims) const;

  /// The pipeline's axis, with these places only.
  static mlir::ArrayAttr pipelineAxis(mlir::MLIRContext *context,
                                      llvm::ArrayRef<int64_t> places);

private:
  program::Program &program;
  llvm::StringMap<uint32_t> indices;
};

/// The texts of a program, each once.
class TextTable {
public:
  explicit TextTable(program::Explanation &explanation)
      : explanation(explanation) {}

  /// What refers to `text`: its place, counted from 1; 0 for an empty one.
  uint32_t indexOf(llvm::StringRef text);

private:
  program::Explanation &explanation;
  llvm::StringMap<uint32_t> indices;
};

/// By parameter, the pipeline ranks that hold it.
using StageOwners = llvm::StringMap<llvm::SmallVector<int64_t>>;
StageOwners findOwners(mlir::ModuleOp module);

/// The code of a module's kernels.
struct KernelCode {
  std::vector<loops::CodeVariant> variants;   ///< Best first.
  std::vector<loops::CompiledKernel> kernels; ///< In the order of the module.
};

/// A kernel of a program, to whom launches it.
struct EmittedKernel {
  uint32_t index = 0;
  bool usesRandom = false; ///< Else its key is zeros.
};
using EmittedKernels = llvm::StringMap<EmittedKernel>;

/// Fills `program` from `module`, which holds an `exec.role` for each
/// pipeline rank in their order, `kern.kernel`s
/// whose code is `code`, `step.mesh` and `step.training`.
/// Errors are diagnostics.
mlir::LogicalResult emitProgram(mlir::ModuleOp module, const KernelCode &code,
                                program::Program &program);

/// The parts of it, each in a file of its own.
mlir::LogicalResult emitTraining(mlir::ModuleOp module,
                                 program::Program &program);
mlir::LogicalResult emitParameters(exec::RoleOp role, const StageOwners &owners,
                                   GroupTable &groups,
                                   program::Program &program);
mlir::LogicalResult emitRole(exec::RoleOp role, const EmittedKernels &kernels,
                             GroupTable &groups, TextTable &texts,
                             program::Program &program);

/// Why tensors lie where they lie, as the mesh remembers it.
void emitExplanation(mlir::ModuleOp module, TextTable &texts,
                     program::Program &program);

/// Of an element type, DTYPE_UNSPECIFIED where the format has none.
program::DType dtypeOf(mlir::Type type);

} // namespace hocket

#endif // HOCKET_COMPILER_TARGETS_PROGRAM_PROGRAMEMITTER_H
