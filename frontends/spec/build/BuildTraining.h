//===- BuildTraining.h - The training part as an op -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `xf.training` from a checked spec. Its `runtime` dictionary has every key
/// that the op documents, and `memory_bytes` where cluster.memory_bytes was
/// written. A seed beyond 2^63 - 1 wraps around.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_SPEC_BUILD_BUILDTRAINING_H
#define HOCKET_FRONTENDS_SPEC_BUILD_BUILDTRAINING_H

#include "frontends/spec/spec.pb.h"

#include "mlir/IR/Builders.h"

namespace hocket::spec {

/// Creates the op at the insertion point of `builder`.
void buildTraining(const Spec &spec, mlir::OpBuilder &builder,
                   mlir::Location location);

} // namespace hocket::spec

#endif // HOCKET_FRONTENDS_SPEC_BUILD_BUILDTRAINING_H
