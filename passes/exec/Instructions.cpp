//===- Instructions.cpp - What passes ask of instructions -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/exec/Instructions.h"

#include "base/AxisKind.h"
#include "passes/planning/memory/BufferAlignment.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::exec;

int64_t exec::bytesOf(BufferOp buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  int64_t bytes = (type.getElementTypeBitWidth() + 7) / 8;
  for (int64_t dim : type.getShape())
    if (dim < 0 || __builtin_mul_overflow(bytes, dim, &bytes))
      return -1;
  return bytes;
}

int64_t exec::alignedBytesOf(BufferOp buffer) {
  return planning::alignedBufferBytes(std::max<int64_t>(bytesOf(buffer), 0));
}

bool exec::isLink(Value buffer) {
  return llvm::any_of(buffer.getUsers(),
                      [](Operation *user) { return isa<TransferOp>(user); });
}

std::vector<Operation *> exec::instructionsOf(SequenceOp sequence) {
  std::vector<Operation *> list;
  for (Operation &op : sequence.getBody().front())
    list.push_back(&op);
  return list;
}

void exec::reorder(SequenceOp sequence, ArrayRef<Operation *> list) {
  Block &block = sequence.getBody().front();
  for (Operation *op : list)
    op->moveBefore(&block, block.end());
}

static bool uses(Operation *op, Value buffer, bool written) {
  auto instruction = cast<InstructionOpInterface>(op);
  return llvm::any_of(op->getOpOperands(), [&](OpOperand &operand) {
    return operand.get() == buffer &&
           instruction.writesOperand(operand.getOperandNumber()) == written;
  });
}

bool exec::reads(Operation *op, Value buffer) {
  return uses(op, buffer, /*written=*/false);
}

bool exec::writes(Operation *op, Value buffer) {
  return uses(op, buffer, /*written=*/true);
}

bool exec::meet(Operation *a, Operation *b) {
  auto first = cast<InstructionOpInterface>(a);
  auto second = cast<InstructionOpInterface>(b);
  for (OpOperand &mine : a->getOpOperands())
    for (OpOperand &theirs : b->getOpOperands())
      if (mine.get() == theirs.get() &&
          (first.writesOperand(mine.getOperandNumber()) ||
           second.writesOperand(theirs.getOperandNumber())))
        return true;
  return false;
}

bool exec::isReceive(Operation *op) {
  auto transfer = dyn_cast<TransferOp>(op);
  return transfer && transfer.receives();
}

bool exec::isSend(Operation *op) {
  auto transfer = dyn_cast<TransferOp>(op);
  return transfer && !transfer.receives();
}

bool exec::comesFromOutside(Operation *op) {
  auto host = dyn_cast<HostOp>(op);
  return (host && host.getDirection() == HostDirection::Input) || isReceive(op);
}

bool exec::isStore(Operation *op) { return isa<AccumulateOp, CopyOp>(op); }

bool exec::isComputation(Operation *op) {
  return isa<LaunchOp, GemmOp, LibraryOp>(op);
}

bool exec::isBetweenStages(CollectiveOp collective) {
  return llvm::any_of(collective.getAxes().getAsRange<StringAttr>(),
                      [](StringAttr axis) {
                        return axisKind(axis.getValue()) == AxisKind::Pipeline;
                      });
}

Accumulation exec::accumulationOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Accumulation>(op)
      .Case<LaunchOp, GemmOp, LibraryOp, AccumulateOp>(
          [](auto adds) { return adds.getAccumulate(); })
      .Default([](Operation *) { return Accumulation::Overwrite; });
}

void exec::setAccumulation(Operation *op, Accumulation accumulation) {
  llvm::TypeSwitch<Operation *>(op)
      .Case<LaunchOp, GemmOp, LibraryOp, AccumulateOp>(
          [&](auto adds) { adds.setAccumulate(accumulation); });
}
