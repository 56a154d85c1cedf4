//===- Lifetimes.h - When buffers hold values -------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Positions and lifetimes, from the instructions of a role. What a collective
/// beside stream 0 uses lives until it must be over: through the first
/// instruction of its sequence that meets it, or to the sequence's end.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_EXEC_LIFETIMES_H
#define HOCKET_PASSES_EXEC_LIFETIMES_H

#include "dialects/exec/IR/Exec.h"

#include "llvm/ADT/DenseMap.h"

#include <functional>

namespace hocket::exec {

/// A range of positions, ends included; -1 where there is none.
struct Span {
  int64_t first = -1, last = -1;

  bool isEmpty() const { return first < 0; }
  void include(int64_t position);
};

/// The stream of its own that a collective may have: the first mesh axis that
/// it runs over; empty where it belongs on stream 0. It has one if anything is
/// computed between it and the first instruction that has to wait for it. Where
/// its result is wanted at once it stays on stream 0, which costs no event and
/// no second thread. Shifts all have their axis's stream: a send meets a
/// receive by the order in which both were issued, which is only known of one
/// stream. Groups of pipeline ranks have none, as these do not all run the same
/// instructions.
mlir::StringRef streamBeside(CollectiveOp collective);

class Lifetimes {
public:
  /// `isBeside` says which collectives do not run on stream 0.
  Lifetimes(RoleOp role, const std::function<bool(CollectiveOp)> &isBeside);
  /// Of a role whose collectives have their streams.
  explicit Lifetimes(RoleOp role)
      : Lifetimes(role, [](CollectiveOp op) { return op.getStream() > 0; }) {}

  /// Empty for a buffer that no instruction uses.
  Span of(mlir::Value buffer) const { return spans.lookup(buffer); }
  Span &of(mlir::Value buffer) { return spans[buffer]; }
  int64_t positionOf(mlir::Operation *op) const { return positions.lookup(op); }

private:
  llvm::DenseMap<mlir::Value, Span> spans;
  llvm::DenseMap<mlir::Operation *, int64_t> positions;
};

} // namespace hocket::exec

#endif // HOCKET_PASSES_EXEC_LIFETIMES_H
