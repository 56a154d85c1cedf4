//===- RegionBuilder.cpp - Builds fused regions ---------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/kern/RegionBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace hocket::kern {

Space spaceOf(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  if (type.getRank() == 0)
    return {1, 1};
  int64_t cols = type.getShape().back();
  return {cols == 0 ? 0 : type.getNumElements() / cols, cols};
}

Space flatSpace(int64_t elements) {
  for (int64_t cols = 4096; cols >= 64; cols -= 64)
    if (elements % cols == 0)
      return {elements / cols, cols};
  return {1, elements};
}

Access broadcastAccess(Type tensor, Space space) {
  int64_t elements = cast<RankedTensorType>(tensor).getNumElements();
  if (elements == space.elements())
    return Access::Full;
  if (elements == 1)
    return Access::Scalar;
  return elements == space.cols ? Access::Col : Access::Tiled;
}

template <typename T>
static ArrayAttr accessArray(Builder &builder, ArrayRef<T> tensors) {
  SmallVector<Attribute> accesses;
  for (const T &tensor : tensors)
    accesses.push_back(AccessAttr::get(builder.getContext(), tensor.access));
  return builder.getArrayAttr(accesses);
}

ArrayAttr accessesOf(Builder &builder, ArrayRef<TensorOperand> operands) {
  return accessArray(builder, operands);
}

ArrayAttr accessesOf(Builder &builder, ArrayRef<TensorResult> results) {
  return accessArray(builder, results);
}

static SmallVector<Value> tensorsOf(const RegionShape &shape) {
  SmallVector<Value> tensors;
  for (const TensorOperand &operand : shape.operands)
    tensors.push_back(operand.tensor);
  return tensors;
}

static SmallVector<Type> typesOf(const RegionShape &shape) {
  SmallVector<Type> types;
  for (const TensorResult &result : shape.results)
    types.push_back(result.type);
  return types;
}

static void buildBody(OpBuilder &builder, Location loc, Region &region,
                      const RegionShape &shape, ScalarFn code) {
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&region);
  block->addArguments(
      SmallVector<Type>(shape.operands.size(), builder.getF32Type()),
      SmallVector<Location>(shape.operands.size(), loc));
  block->addArguments(
      SmallVector<Type>(shape.instances.size(), builder.getI32Type()),
      SmallVector<Location>(shape.instances.size(), loc));
  ImplicitLocOpBuilder body(loc, builder);
  SmallVector<Scalar> operands;
  for (Value argument : block->getArguments())
    operands.push_back({&body, argument});
  // A region without operands has nothing to take a builder from.
  if (operands.empty())
    operands.push_back({&body, Value()});
  SmallVector<Value> values;
  for (Scalar result : code(operands))
    values.push_back(result.value);
  body.create<YieldOp>(values);
}

RowsOp buildRows(OpBuilder &builder, Location loc, const RegionShape &shape,
                 ScalarFn code) {
  auto op = builder.create<RowsOp>(
      loc, typesOf(shape), tensorsOf(shape), shape.instances, shape.space.rows,
      shape.space.cols, accessesOf(builder, shape.operands),
      accessesOf(builder, shape.results), shape.label);
  buildBody(builder, loc, op.getBody(), shape, code);
  return op;
}

ColumnsOp buildColumns(OpBuilder &builder, Location loc,
                       const RegionShape &shape, ScalarFn code) {
  auto op = builder.create<ColumnsOp>(
      loc, typesOf(shape), tensorsOf(shape), shape.space.rows, shape.space.cols,
      accessesOf(builder, shape.operands), shape.label);
  buildBody(builder, loc, op.getBody(), shape, code);
  return op;
}

} // namespace hocket::kern
