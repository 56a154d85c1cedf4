//===- Passes.h - Passes over kernels ---------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_KERN_PASSES_H
#define HOCKET_PASSES_KERN_PASSES_H

#include "dialects/kern/IR/Kern.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace hocket {

#define GEN_PASS_DECL
#include "passes/kern/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/kern/Passes.h.inc"

} // namespace hocket

#endif // HOCKET_PASSES_KERN_PASSES_H
