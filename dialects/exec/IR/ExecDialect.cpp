//===- ExecDialect.cpp - The exec dialect -----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/IR/Exec.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hocket::exec;

#include "dialects/exec/IR/ExecDialect.cpp.inc"
#include "dialects/exec/IR/ExecEnums.cpp.inc"
#include "dialects/exec/IR/ExecInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/exec/IR/ExecAttrs.cpp.inc"

void ExecDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/exec/IR/ExecOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/exec/IR/ExecAttrs.cpp.inc"
      >();
}
