//===- StepDialect.cpp - The step dialect ---------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/step/IR/Step.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hocket::step;

#include "dialects/step/IR/StepDialect.cpp.inc"
#include "dialects/step/IR/StepEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/step/IR/StepAttrs.cpp.inc"

void StepDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/step/IR/StepAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/step/IR/StepOps.cpp.inc"
      >();
}
