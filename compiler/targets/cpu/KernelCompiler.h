//===- KernelCompiler.h - Fused kernels to native code ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Turns every `kern.kernel` of a module into a function of one ELF shared
/// object per instruction set, through the upstream `scf`, `vector`, `arith`
/// and `math` dialects and LLVM. docs/codegen.md explains how.
///
/// A kernel is a C function
///
///   void symbol(void *const *buffers, const int64_t *scalars,
///               int64_t begin, int64_t end);
///
/// which computes the tasks [begin, end) out of [0, CompiledKernel::tasks).
/// Tasks are independent of each other, and any partition into ranges, in any
/// order and on any threads, gives the same bits. A task is a row, a chunk of
/// 4096 elements (no reduction, few long rows) or a block of columns (kernels
/// that sum over rows).
///
/// `buffers` are the inputs, then the results. Elements need no more than
/// their own alignment. A result may be the very buffer of an input that has
/// the same access and element size. `scalars` are:
///
///   [0] seed, [1] step, [2] microbatch: the words of `kern.keep_scale`, whose
///       element index starts at microbatch * rows * cols;
///   [3] for kernels that sum over rows: 0 overwrites the results, else the
///       sums are added to what the result buffers hold;
///   [4 + i] instance i.
///
/// The object has no undefined symbol, needs no relocation beyond its own
/// base, and uses at most 256 KiB of stack.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TARGETS_CPU_KERNELCOMPILER_H
#define HOCKET_COMPILER_TARGETS_CPU_KERNELCOMPILER_H

#include "compiler/targets/cpu/KernelObjects.h"
#include "compiler/targets/loops/CompiledKernel.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hocket::cpu {

using loops::CompiledKernel;

/// What to compile for, and what to keep of the way there.
struct CpuOptions {
  /// Instruction sets, best first: "x86-64-v4" (AVX-512) or "x86-64-v3"
  /// (AVX2, FMA, F16C).
  std::vector<std::string> isas = {"x86-64-v4", "x86-64-v3"};
  /// Threads to compile on; 0: as many as the machine has. Has no effect on
  /// the result.
  unsigned threads = 0;
  /// Whether CompiledVariant::mlir, llvm and assembly are filled.
  bool keepMlir = false;
  bool keepLlvm = false;
  bool keepAssembly = false;
  /// Kernels that were compiled before, and those that now are; null: none.
  KernelObjects *objects = nullptr;
  /// Off: no object is linked (`image` stays empty). For printing only.
  bool link = true;
};

/// All kernels for one instruction set.
struct CompiledVariant {
  std::string isa;
  std::string image;    ///< Bytes of an ELF shared object.
  std::string mlir;     ///< Loops over vectors, before lowering to LLVM.
  std::string llvm;     ///< LLVM IR, optimised.
  std::string assembly; ///< What the object holds, as text.
};

struct CompiledKernels {
  std::vector<CompiledVariant> variants; ///< In the order of CpuOptions::isas.
  std::vector<CompiledKernel> kernels;   ///< In the order of the module.
};

/// Compiles every `kern.kernel` directly inside `module`, which is left as it
/// is. The same module gives the same bytes. What cannot be compiled is a
/// diagnostic at its operation; what cannot be linked is one at the module.
/// Runs in any thread that may read `module`.
mlir::LogicalResult compileKernels(mlir::ModuleOp module,
                                   const CpuOptions &options,
                                   CompiledKernels &out);

} // namespace hocket::cpu

#endif // HOCKET_COMPILER_TARGETS_CPU_KERNELCOMPILER_H
