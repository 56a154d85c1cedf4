//===- OpOrder.cpp - Bringing two ops of a block together -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/kern/OpOrder.h"

#include "dialects/kern/IR/Kern.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace hocket::kern {

/// The variable that `op` writes or adds to; null where it does neither.
static FlatSymbolRefAttr writtenBy(Operation &op) {
  if (auto write = dyn_cast<WriteOp>(op))
    return write.getVariableAttr();
  if (auto accumulate = dyn_cast<AccumulateOp>(op))
    return accumulate.getVariableAttr();
  return {};
}

/// The variable whose memory `value` is; null where it has its own.
static FlatSymbolRefAttr variableOf(Value value) {
  while (auto view = value.getDefiningOp<ViewOp>())
    value = view.getInput();
  auto read = value.getDefiningOp<ReadOp>();
  return read ? read.getVariableAttr() : FlatSymbolRefAttr();
}

/// Whether `op` may move down past `other`, on which no value makes it depend.
static bool mayPass(Operation *op, Operation &other) {
  if (isMemoryEffectFree(op)) {
    FlatSymbolRefAttr written = writtenBy(other);
    if (!written)
      return isMemoryEffectFree(&other) ||
             isa<ReadOp, InputOp, OutputOp>(other);
    return llvm::none_of(op->getOperands(), [&](Value operand) {
      return variableOf(operand) == written;
    });
  }
  if (isa<OutputOp>(op))
    return isMemoryEffectFree(&other) || isa<ReadOp, InputOp>(other);
  if (!isa<AccumulateOp>(op))
    return false;
  if (isMemoryEffectFree(&other))
    return true;
  FlatSymbolRefAttr variable = writtenBy(*op);
  if (auto read = dyn_cast<ReadOp>(other))
    return read.getVariableAttr() != variable;
  FlatSymbolRefAttr written = writtenBy(other);
  return isa<InputOp, OutputOp>(other) || (written && written != variable);
}

/// The last of `operands`' definitions in the block of `first`, or `first`.
static Operation *lastDefinition(Operation *first, ValueRange operands) {
  Operation *last = first;
  for (Value operand : operands) {
    Operation *definition = operand.getDefiningOp();
    if (definition && definition->getBlock() == first->getBlock() &&
        last->isBeforeInBlock(definition))
      last = definition;
  }
  return last;
}

/// Splits what lies between `first` and `last` into what depends on `first`
/// and what does not. `second` is neither.
static void partition(Operation *first, Operation *last, Operation *second,
                      llvm::SmallSetVector<Operation *, 8> &dependent,
                      SmallVectorImpl<Operation *> &independent) {
  for (Operation *op = first; op != last;) {
    op = op->getNextNode();
    if (op == second)
      continue;
    bool depends = llvm::any_of(op->getOperands(), [&](Value operand) {
      Operation *definition = operand.getDefiningOp();
      return definition &&
             (definition == first || dependent.contains(definition));
    });
    if (depends)
      dependent.insert(op);
    else
      independent.push_back(op);
  }
}

Placement placeTogether(Operation *first, Operation *second,
                        ValueRange operands) {
  Placement placement;
  Operation *last = lastDefinition(first, operands);
  llvm::SmallSetVector<Operation *, 8> moved;
  SmallVector<Operation *> passed;
  partition(first, last, second, moved, passed);
  for (Value operand : operands)
    if (moved.contains(operand.getDefiningOp())) {
      placement.refusal =
          "an op between needs the first and is needed by the second";
      return placement;
    }
  placement.moved.assign(moved.begin(), moved.end());
  moved.insert(first);
  for (Operation *op : moved)
    for (Operation *other : passed)
      if (op->isBeforeInBlock(other) && !mayPass(op, *other)) {
        placement.refusal = "memory is written in between";
        return placement;
      }
  placement.after = last;
  return placement;
}

void moveBehind(Operation *op, const Placement &placement) {
  Operation *last = op;
  for (Operation *moved : placement.moved) {
    moved->moveAfter(last);
    last = moved;
  }
}

} // namespace hocket::kern
