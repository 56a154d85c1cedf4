//===- LibraryCall.h - A call of a hand-written kernel ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the lowerings to `kern.library` share.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_CONVERSION_PIPETOKERN_LIBRARYCALL_H
#define HOCKET_PASSES_CONVERSION_PIPETOKERN_LIBRARYCALL_H

#include "passes/conversion/PipeToKern/Lowering.h"

#include <optional>

namespace hocket::kern {

/// A call that is being put together.
struct Call {
  llvm::StringRef op;
  Values operands;
  llvm::SmallVector<mlir::Type> results;
  llvm::SmallVector<int64_t> integers;
  llvm::SmallVector<double> floats = {};
  mlir::Value instance = {};
  Values scalars = {};
  /// That random numbers are drawn for; 0: takes a key and draws none.
  std::optional<int64_t> randomElements = {};
  uint32_t stream = 0;
  int64_t workspaces = 0;
  llvm::SmallVector<int64_t> inPlace = {};
  bool resultsFirst = false;
};

/// Builds the call; returns its results without workspaces.
Values buildCall(mlir::OpBuilder &builder, mlir::Operation *op,
                 const Call &call);

/// Calls with f32 results `call`; results whose op has another type are cast.
Values buildCastCall(mlir::OpBuilder &builder, mlir::Operation *op,
                     const Call &call);

/// The code of an element type in kernels/reference/Element.h.
int64_t dtypeOf(mlir::Type tensor);

int64_t elementsOf(mlir::Value tensor);

/// The type as f32.
mlir::Type f32Of(mlir::Type tensor);

/// `value` as f32 by a fused region, if it is not already.
mlir::Value f32Value(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value value);

} // namespace hocket::kern

#endif // HOCKET_PASSES_CONVERSION_PIPETOKERN_LIBRARYCALL_H
