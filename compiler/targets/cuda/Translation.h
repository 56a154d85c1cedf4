//===- Translation.h - CUDA C++ as a translation ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TARGETS_CUDA_TRANSLATION_H
#define HOCKET_COMPILER_TARGETS_CUDA_TRANSLATION_H

#include "mlir/IR/DialectRegistry.h"

#include <functional>

namespace hocket::cuda {

/// Registers `--kern-to-cuda` for hocket-translate. `addDialects` adds what
/// kernels are written in.
void registerKernelTranslation(
    std::function<void(mlir::DialectRegistry &)> addDialects);

} // namespace hocket::cuda

#endif // HOCKET_COMPILER_TARGETS_CUDA_TRANSLATION_H
