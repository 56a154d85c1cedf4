//===- XfOps.h - Operations of the transformer dialect ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_XF_IR_XFOPS_H
#define HOCKET_DIALECTS_XF_IR_XFOPS_H

#include "dialects/xf/IR/XfDialect.h"
#include "dialects/xf/IR/XfInterfaces.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "dialects/xf/IR/XfOps.h.inc"

namespace hocket::xf {

/// Whether the result of `op` is its operand, or the beginning of that, seen
/// otherwise: nothing is computed, and nothing moves.
bool isView(mlir::Operation *op);

} // namespace hocket::xf

#endif // HOCKET_DIALECTS_XF_IR_XFOPS_H
