//===- NativeCode.h - Loops over vectors to machine code --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// From the `scf`, `vector`, `arith` and `math` operations of emitKernel to
/// LLVM IR, and from there to an object file. Transcendental functions become
/// polynomials; nothing is left to a library.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TARGETS_CPU_NATIVECODE_H
#define HOCKET_COMPILER_TARGETS_CPU_NATIVECODE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace hocket::cpu {

/// Loads what emitKernel writes and the lowering needs into `context`.
void loadCodegenDialects(mlir::MLIRContext &context);

/// f32 elements of a vector of `isa`, or 0 if it is not known.
unsigned vectorWidthOf(llvm::StringRef isa);

/// The machine to generate code for; an error if `isa` is not known or LLVM
/// was built without x86.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createMachine(llvm::StringRef isa);

/// Rewrites the functions of `module` into the `llvm` dialect.
mlir::LogicalResult lowerToLlvmDialect(mlir::ModuleOp module);

/// Translates to LLVM IR for `machine` and optimises it. Null on failure,
/// with a diagnostic.
std::unique_ptr<llvm::Module> translateToLlvm(mlir::ModuleOp module,
                                              llvm::LLVMContext &context,
                                              llvm::TargetMachine &machine);

/// Generates an object file, or assembly text. `module` is consumed: code
/// generation changes it.
llvm::Expected<std::string>
generateCode(llvm::Module &module, llvm::TargetMachine &machine, bool assembly);

} // namespace hocket::cpu

#endif // HOCKET_COMPILER_TARGETS_CPU_NATIVECODE_H
