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

/// True for a splat of `value`, and of that under every plan.
static bool isSplat(Value tensor, double value) {
  auto constant = tensor.getDefiningOp<ConstantOp>();
  return constant && constant.getPerSequences() == 0 &&
         constant.getValue().convertToDouble() == value;
}

/// `value` if it has the type of the result, else nothing.
static OpFoldResult ifSame(Value value, Type type) {
  return value.getType() == type ? OpFoldResult(value) : OpFoldResult();
}

/// `x + 0` is `x`.
OpFoldResult AddOp::fold(FoldAdaptor) {
  if (isSplat(getRhs(), 0))
    return getLhs();
  return isSplat(getLhs(), 0) ? ifSame(getRhs(), getType()) : OpFoldResult();
}

/// `x * 1` is `x`.
OpFoldResult MultiplyOp::fold(FoldAdaptor) {
  if (isSplat(getRhs(), 1))
    return getLhs();
  return isSplat(getLhs(), 1) ? ifSame(getRhs(), getType()) : OpFoldResult();
}

void DropoutOp::build(OpBuilder &builder, OperationState &state, Value input,
                      Value instance, FloatAttr rate, IntegerAttr stream,
                      bool jitter) {
  build(builder, state, input.getType(), input, instance, ValueRange(), rate,
        stream, jitter ? builder.getUnitAttr() : UnitAttr(),
        DenseI64ArrayAttr(), builder.getDenseI64ArrayAttr({}),
        builder.getDenseI64ArrayAttr({}), builder.getI64IntegerAttr(1));
}

/// A rate of 0 changes nothing.
OpFoldResult DropoutOp::fold(FoldAdaptor) {
  return getRate().isZero() ? OpFoldResult(getInput()) : OpFoldResult();
}

bool hocket::xf::isView(Operation *op) {
  if (auto split = dyn_cast<SplitChunksOp>(op))
    return split.getShift() == 0;
  if (auto join = dyn_cast<JoinChunksOp>(op))
    return join.getShift() == 0;
  return isa<ReshapeOp, PrefixOp>(op);
}

OpFoldResult PrefixOp::fold(FoldAdaptor) {
  return ifSame(getInput(), getType());
}
OpFoldResult PadRowsOp::fold(FoldAdaptor) {
  return ifSame(getInput(), getType());
}
OpFoldResult SumLeadingOp::fold(FoldAdaptor) {
  return ifSame(getInput(), getType());
}

/// Of two reshapes the first does not matter.
OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  auto source = getInput().getDefiningOp<ReshapeOp>();
  if (!source)
    return {};
  getInputMutable().assign(source.getInput());
  return getResult();
}

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
