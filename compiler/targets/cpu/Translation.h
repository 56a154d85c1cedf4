//===- Translation.h - Generated code as text -------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TARGETS_CPU_TRANSLATION_H
#define HOCKET_COMPILER_TARGETS_CPU_TRANSLATION_H

#include "mlir/IR/DialectRegistry.h"

#include <functional>

namespace hocket::cpu {

/// Registers for hocket-translate, over all `kern.kernel` of a module:
///
///   --kern-to-loops   loops over vectors, as MLIR
///   --kern-to-llvmir  LLVM IR, optimised
///   --kern-to-asm     assembly
///
/// Each prints every instruction set, best first, after a line `// isa: NAME`.
/// `addDialects` adds those that such a module may contain beside kernels.
void registerKernelTranslations(
    std::function<void(mlir::DialectRegistry &)> addDialects);

} // namespace hocket::cpu

#endif // HOCKET_COMPILER_TARGETS_CPU_TRANSLATION_H
