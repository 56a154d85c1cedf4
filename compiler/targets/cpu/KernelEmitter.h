//===- KernelEmitter.h - A planned kernel as loops --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes a planned kernel as an `llvm.func` whose body is `scf` loops around
/// `arith`, `math` and `vector` operations on vectors of one width.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TARGETS_CPU_KERNELEMITTER_H
#define HOCKET_COMPILER_TARGETS_CPU_KERNELEMITTER_H

#include "compiler/targets/loops/KernelPlan.h"

#include "mlir/IR/BuiltinOps.h"

namespace hocket::cpu {

using loops::KernelPlan;

/// Appends the function of `plan` to `module`, with vectors of `width` f32.
/// The plan's kernel may live in another context; it is only read. The
/// dialects arith, llvm, math, scf and vector must be loaded.
void emitKernel(const KernelPlan &plan, unsigned width, mlir::ModuleOp module);

} // namespace hocket::cpu

#endif // HOCKET_COMPILER_TARGETS_CPU_KERNELEMITTER_H
