//===- Passes.h - Passes over roles -----------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// From roles without addresses, as `convert-kern-to-exec` writes them, to what
/// the executable holds. Passes.td says what each pass does, and
/// compiler/pipelines/Pipelines.cpp in which order they run and why.
///
/// Positions count instructions through all sequences of a role in their
/// order, so that a residual's lifetime runs from `forward` into `backward`.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_EXEC_PASSES_H
#define HOCKET_PASSES_EXEC_PASSES_H

#include "dialects/exec/IR/Exec.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace hocket::exec {

#define GEN_PASS_DECL
#include "passes/exec/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/exec/Passes.h.inc"

} // namespace hocket::exec

#endif // HOCKET_PASSES_EXEC_PASSES_H
