//===- Instructions.h - What passes ask of instructions ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_EXEC_INSTRUCTIONS_H
#define HOCKET_PASSES_EXEC_INSTRUCTIONS_H

#include "dialects/exec/IR/Exec.h"

#include <vector>

namespace hocket::exec {

/// Bytes of one copy of a buffer; -1 if that overflows.
int64_t bytesOf(BufferOp buffer);
/// The same rounded up to the alignment; of what overflows, 0.
int64_t alignedBytesOf(BufferOp buffer);

/// The declaration of what an instruction uses.
inline BufferOp bufferOf(mlir::Value value) {
  return value.getDefiningOp<BufferOp>();
}
/// Whether the buffer is a variable that keeps its value between steps.
inline bool isPersistent(mlir::Value value) {
  return bufferOf(value).getPersistent();
}
/// Whether a transfer brings its value to another stage, or from there.
bool isLink(mlir::Value buffer);

/// The instructions of a sequence.
std::vector<mlir::Operation *> instructionsOf(SequenceOp sequence);
/// Puts the instructions of a sequence into the order of `list`.
void reorder(SequenceOp sequence, mlir::ArrayRef<mlir::Operation *> list);

/// Whether `op` reads, or writes, the buffer.
bool reads(mlir::Operation *op, mlir::Value buffer);
bool writes(mlir::Operation *op, mlir::Value buffer);
/// Whether two instructions use one buffer, and one of them changes it.
bool meet(mlir::Operation *a, mlir::Operation *b);

/// Whether `op` is a transfer that stands at the beginning of its sequence, or
/// at its end.
bool isReceive(mlir::Operation *op);
bool isSend(mlir::Operation *op);
/// Whether its buffer is filled from outside.
bool comesFromOutside(mlir::Operation *op);
/// Whether it only brings a value into a variable.
bool isStore(mlir::Operation *op);
/// A launch, a GEMM or a library's op.
bool isComputation(mlir::Operation *op);
/// Whether pipeline ranks meet in a collective: their programs differ but for
/// the order of these.
bool isBetweenStages(CollectiveOp collective);

/// Overwrite for instructions that cannot add.
Accumulation accumulationOf(mlir::Operation *op);
void setAccumulation(mlir::Operation *op, Accumulation accumulation);

} // namespace hocket::exec

#endif // HOCKET_PASSES_EXEC_INSTRUCTIONS_H
