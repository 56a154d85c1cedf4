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

/// K37.
LogicalResult
VariableInfoAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                         ArrayAttr axes, UnitAttr, UnitAttr, StringAttr init,
                         IntegerAttr, DenseI64ArrayAttr shape,
                         FloatAttr value) {
  if (value && !init)
    return emitError() << "K37: has a number to begin with and no `init`";
  if (shape &&
      llvm::any_of(shape.asArrayRef(), [](int64_t size) { return size < 1; }))
    return emitError() << "K37: no variable has the shape " << shape;
  auto areNames = [](Attribute dim) {
    auto names = llvm::dyn_cast<ArrayAttr>(dim);
    return names && llvm::all_of(names, llvm::IsaPred<StringAttr>);
  };
  if (axes && (!shape || static_cast<int64_t>(axes.size()) != shape.size() ||
               !llvm::all_of(axes, areNames)))
    return emitError() << "K37: has no names of axes for each dim: " << axes;
  return success();
}

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
