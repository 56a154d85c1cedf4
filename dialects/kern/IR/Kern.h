//===- Kern.h - The kernel dialect ------------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The one header of the `kern` dialect: how one kernel computes. See
/// dialects/kern/README.md for why it is as it is, and docs/spec.md (K1, ...)
/// for what its verifiers check.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_KERN_IR_KERN_H
#define HOCKET_DIALECTS_KERN_IR_KERN_H

#include "dialects/step/IR/Step.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace hocket::kern {

using step::CollectiveKind;
using step::Epilogue;
using step::FragmentEnd;
using step::FragmentKind;
using step::HostAttr;
using step::LinkAttr;
using step::SavedAttr;
using step::VariableInfoAttr;
using step::VariableKind;

} // namespace hocket::kern

#include "dialects/kern/IR/KernDialect.h.inc"
#include "dialects/kern/IR/KernEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/kern/IR/KernAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/kern/IR/KernOps.h.inc"

namespace hocket::kern {

/// How many elements a tensor of this access must have in an iteration space
/// of `rows x cols`. `tiled` has any divisor of `rows` as its rows, so that
/// its count is not given by the space: the result is then -1.
int64_t elementsOf(Access access, int64_t rows, int64_t cols);

} // namespace hocket::kern

#endif // HOCKET_DIALECTS_KERN_IR_KERN_H
