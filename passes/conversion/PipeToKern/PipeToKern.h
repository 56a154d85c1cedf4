//===- PipeToKern.h - From ops of the model to kernels ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The conversion of scheduled fragments of a model to fused regions, matrix
/// GEMMs and library calls.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_CONVERSION_PIPETOKERN_PIPETOKERN_H
#define HOCKET_PASSES_CONVERSION_PIPETOKERN_PIPETOKERN_H

#include "mlir/Pass/Pass.h"

namespace hocket {

#define GEN_PASS_DECL
#include "passes/conversion/PipeToKern/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/conversion/PipeToKern/Passes.h.inc"

} // namespace hocket

#endif // HOCKET_PASSES_CONVERSION_PIPETOKERN_PIPETOKERN_H
