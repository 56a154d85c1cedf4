//===- KernDialect.cpp - The kernel dialect -------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Registers the operations and attributes of the kernel dialect.
///
//===----------------------------------------------------------------------===//

#include "dialects/kern/IR/Kern.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace hocket::kern;

#include "dialects/kern/IR/KernDialect.cpp.inc"
#include "dialects/kern/IR/KernEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/kern/IR/KernAttrs.cpp.inc"

void KernDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/kern/IR/KernAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/kern/IR/KernOps.cpp.inc"
      >();
}
