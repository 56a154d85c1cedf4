//===- PipeDialect.cpp - The pipe dialect -----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/pipe/IR/Pipe.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hocket::pipe;

#include "dialects/pipe/IR/PipeDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/pipe/IR/PipeAttrs.cpp.inc"

void PipeDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/pipe/IR/PipeOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/pipe/IR/PipeAttrs.cpp.inc"
      >();
}
