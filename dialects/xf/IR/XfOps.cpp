//===- XfOps.cpp - Operations of the transformer dialect ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/Xf.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace hocket::xf;

#define GET_OP_CLASSES
#include "dialects/xf/IR/XfOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Folders
//===----------------------------------------------------------------------===//

/// A cast to the same type is no cast; narrowing what was just widened gives
/// back the narrow value exactly.
OpFoldResult CastOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  auto source = getInput().getDefiningOp<CastOp>();
  if (!source || source.getInput().getType() != getType())
    return {};
  unsigned narrow =
      getElementTypeOrSelf(source.getInput()).getIntOrFloatBitWidth();
  unsigned wide = getElementTypeOrSelf(source).getIntOrFloatBitWidth();
  return narrow < wide ? OpFoldResult(source.getInput()) : OpFoldResult();
}
