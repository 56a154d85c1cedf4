//===- Step.h - What several levels say of a step ---------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Kinds, attributes and ops that `pipe`, `kern` and `exec` share. See
/// dialects/step/README.md.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_STEP_IR_STEP_H
#define HOCKET_DIALECTS_STEP_IR_STEP_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"

#include "dialects/step/IR/StepDialect.h.inc"
#include "dialects/step/IR/StepEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/step/IR/StepAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/step/IR/StepOps.h.inc"

#endif // HOCKET_DIALECTS_STEP_IR_STEP_H
