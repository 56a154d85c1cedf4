//===- Registration.h - What the tools know ---------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The dialects and passes that hocket-opt, hocket-reduce, hocket-translate and
/// hocket-lsp-server have in common. A new dialect or a new folder of passes
/// is added in Registration.cpp and nowhere else.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_DRIVER_REGISTRATION_H
#define HOCKET_COMPILER_DRIVER_REGISTRATION_H

#include "mlir/IR/DialectRegistry.h"

namespace hocket {

/// Adds Hocket's dialects and the upstream ones that they are used with.
void registerDialects(mlir::DialectRegistry &registry);

/// Registers Hocket's passes and pipelines, and `canonicalize`, `cse`,
/// `inline` and `symbol-dce` of upstream.
void registerPasses();

} // namespace hocket

#endif // HOCKET_COMPILER_DRIVER_REGISTRATION_H
