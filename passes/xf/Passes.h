//===- Passes.h - Passes over the transformer dialect -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// From forward functions to the whole training step. Passes.td says what each
/// does; they run in the order xf-precision, xf-build-evaluate, xf-autodiff,
/// xf-build-step.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_XF_PASSES_H
#define HOCKET_PASSES_XF_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace hocket::xf {

#define GEN_PASS_DECL
#include "passes/xf/Passes.h.inc"

/// Makes every pass of the folder known to command lines.
#define GEN_PASS_REGISTRATION
#include "passes/xf/Passes.h.inc"

} // namespace hocket::xf

#endif // HOCKET_PASSES_XF_PASSES_H
