//===- XfSymbolUses.cpp - What the names in ops must name -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/Xf.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace hocket::xf;

/// X40: `name` is a variable of the module, and of type `type`.
static LogicalResult verifyVariable(Operation *op, FlatSymbolRefAttr name,
                                    Type type, SymbolTableCollection &tables) {
  auto variable =
      tables.lookupNearestSymbolFrom<VariableOp>(op, name.getAttr());
  if (!variable)
    return op->emitOpError("[X40] names no variable: ") << name;
  if (variable.getType() != type)
    return op->emitOpError("[X40] has type ")
           << type << ", but " << name << " has " << variable.getType();
  return success();
}

LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyVariable(*this, getVariableAttr(), getResult().getType(),
                        tables);
}

LogicalResult WriteOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyVariable(*this, getVariableAttr(), getValue().getType(), tables);
}

LogicalResult AccumulateOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyVariable(*this, getVariableAttr(), getValue().getType(), tables);
}

/// X47: every name of a step is a function.
LogicalResult StepOp::verifySymbolUses(SymbolTableCollection &tables) {
  SmallVector<FlatSymbolRefAttr> names{getForwardAttr(), getBackwardAttr(),
                                       getUpdateAttr(), getEvaluateAttr()};
  if (getPrepareAttr())
    names.push_back(getPrepareAttr());
  for (FlatSymbolRefAttr name : names)
    if (!tables.lookupNearestSymbolFrom<func::FuncOp>(*this, name.getAttr()))
      return emitOpError("[X47] names no function: ") << name;
  return success();
}
