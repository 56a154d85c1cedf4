//===- Passes.h - Passes over stages and schedules --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// From the fragments of one rank to those of a pipeline. Passes.td says what
/// each does; they run in the order pipe-split-stages,
/// pipe-split-weight-gradient, pipe-write-schedule.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PIPE_PASSES_H
#define HOCKET_PASSES_PIPE_PASSES_H

#include "dialects/pipe/IR/Pipe.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace hocket::pipe {

#define GEN_PASS_DECL
#include "passes/pipe/Passes.h.inc"

/// Makes every pass of the folder known to command lines.
#define GEN_PASS_REGISTRATION
#include "passes/pipe/Passes.h.inc"

} // namespace hocket::pipe

#endif // HOCKET_PASSES_PIPE_PASSES_H
