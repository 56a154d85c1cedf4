//===- Passes.h - Analyses over the levels ----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_ANALYSIS_PASSES_H
#define HOCKET_PASSES_ANALYSIS_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace hocket {
#define GEN_PASS_DECL
#include "passes/analysis/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/analysis/Passes.h.inc"
} // namespace hocket

#endif // HOCKET_PASSES_ANALYSIS_PASSES_H
