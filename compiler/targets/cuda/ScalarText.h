//===- ScalarText.h - What a fused region is in CUDA C++ --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The table from an operation inside a `kern.kernel` to an expression of
/// CUDA C++: one row per op. It has the ops of
/// compiler/targets/loops/ScalarOps.h, which says what they cost.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TARGETS_CUDA_SCALARTEXT_H
#define HOCKET_COMPILER_TARGETS_CUDA_SCALARTEXT_H

#include "compiler/targets/loops/KernelPlan.h"

#include "mlir/IR/Operation.h"

#include <string>

namespace hocket::cuda {

/// The C++ type of a value of `type` (f32, bf16, f16, f8E4M3FN, f8E5M2, i1,
/// i32, i64).
llvm::StringRef typeText(mlir::Type type);

/// That of an element in memory.
llvm::StringRef typeText(loops::Element element);

/// A literal of type float that reads back as the very same number.
std::string literalOf(float value);

/// `op` applied to `operands`, each a name or a literal; empty if the table
/// does not have it.
std::string expressionOf(mlir::Operation &op,
                         llvm::ArrayRef<std::string> operands);

} // namespace hocket::cuda

#endif // HOCKET_COMPILER_TARGETS_CUDA_SCALARTEXT_H
