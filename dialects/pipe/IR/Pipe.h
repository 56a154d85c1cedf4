//===- Pipe.h - Fragments and schedules -------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_PIPE_IR_PIPE_H
#define HOCKET_DIALECTS_PIPE_IR_PIPE_H

#include "dialects/step/IR/Step.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace hocket::pipe {

using step::FragmentEnd;
using step::FragmentKind;
using step::HostAttr;
using step::LinkAttr;
using step::SavedAttr;

} // namespace hocket::pipe

#include "dialects/pipe/IR/PipeDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/pipe/IR/PipeAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/pipe/IR/PipeOps.h.inc"

#endif // HOCKET_DIALECTS_PIPE_IR_PIPE_H
