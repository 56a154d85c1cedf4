//===- Exec.h - Buffers and instructions ------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_EXEC_IR_EXEC_H
#define HOCKET_DIALECTS_EXEC_IR_EXEC_H

#include "dialects/step/IR/Step.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <string>

namespace hocket::exec {

using step::CollectiveKind;
using step::Epilogue;
using step::FragmentKind;

} // namespace hocket::exec

#include "dialects/exec/IR/ExecDialect.h.inc"
#include "dialects/exec/IR/ExecEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/exec/IR/ExecAttrs.h.inc"

#include "dialects/exec/IR/ExecInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/exec/IR/ExecOps.h.inc"

namespace hocket::exec {

/// A kind as the executable and reports call it: "working copies".
std::string memoryKindName(MemoryKind kind);

} // namespace hocket::exec

#endif // HOCKET_DIALECTS_EXEC_IR_EXEC_H
