//===- Passes.h - From one level to the next --------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_CONVERSION_PASSES_H
#define HOCKET_PASSES_CONVERSION_PASSES_H

#include "dialects/dist/IR/Dist.h"
#include "dialects/exec/IR/Exec.h"
#include "dialects/kern/IR/Kern.h"
#include "dialects/pipe/IR/Pipe.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace hocket {
#define GEN_PASS_DECL
#include "passes/conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/conversion/Passes.h.inc"
} // namespace hocket

#endif // HOCKET_PASSES_CONVERSION_PASSES_H
