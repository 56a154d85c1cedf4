//===- OpOrder.h - Bringing two ops of a block together ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where one op that replaces two may stand, and what must move for it.
///
/// A value that was read from a variable is that variable's memory until the
/// variable is written, so that nothing which reads it moves past the write.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_KERN_OPORDER_H
#define HOCKET_PASSES_KERN_OPORDER_H

#include "mlir/IR/Operation.h"

#include <string>

namespace hocket::kern {

/// The place of an op that replaces `first` and `second`.
struct Placement {
  mlir::Operation *after = nullptr; ///< the new op stands right after this
  llvm::SmallVector<mlir::Operation *> moved; ///< go behind it, in this order
  std::string refusal;                        ///< why there is no such place

  explicit operator bool() const { return after != nullptr; }
};

/// Finds a place for an op with `operands` that replaces `first` and, further
/// down in the same block, `second`: after all operands, before all users.
Placement placeTogether(mlir::Operation *first, mlir::Operation *second,
                        mlir::ValueRange operands);

/// Moves what `placement` says behind `op`, which stands at its place.
void moveBehind(mlir::Operation *op, const Placement &placement);

} // namespace hocket::kern

#endif // HOCKET_PASSES_KERN_OPORDER_H
