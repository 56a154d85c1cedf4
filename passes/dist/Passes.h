//===- Passes.h - Passes over the dist dialect ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// From seeds to local programs with explicit collectives; they run in the
/// order dist-propagate-shardings, dist-partition.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_DIST_PASSES_H
#define HOCKET_PASSES_DIST_PASSES_H

#include "dialects/dist/IR/Dist.h"
#include "dialects/xf/IR/Xf.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace hocket::dist {

#define GEN_PASS_DECL
#include "passes/dist/Passes.h.inc"

/// Makes every pass of the folder known to command lines.
#define GEN_PASS_REGISTRATION
#include "passes/dist/Passes.h.inc"

} // namespace hocket::dist

#endif // HOCKET_PASSES_DIST_PASSES_H
