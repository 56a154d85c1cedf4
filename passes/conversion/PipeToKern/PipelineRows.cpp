//===- PipelineRows.cpp - Rows that are computed by themselves ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/conversion/PipeToKern/LibraryCall.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace hocket::kern {

/// Elements before row `first`, where `part` has some rows.
static int64_t elementsBefore(Value part, uint64_t first) {
  int64_t rows = cast<RankedTensorType>(part.getType()).getDimSize(0);
  return elementsOf(part) / rows * static_cast<int64_t>(first);
}

Values lower(OpBuilder &builder, pipe::SliceRowsOp op) {
  Type type = op.getResult().getType();
  Call call{"slice_shard",
            {op.getInput()},
            {type},
            {dtypeOf(type), 1, elementsOf(op.getResult()),
             elementsOf(op.getInput())}};
  int64_t first = elementsBefore(op.getResult(), op.getFirst());
  call.scalars = {builder.create<arith::ConstantIntOp>(op.getLoc(), first, 32)};
  return buildCall(builder, op, call);
}

Values lower(OpBuilder &builder, pipe::InsertRowsOp op) {
  Type type = op.getResult().getType();
  int64_t there = elementsOf(op.getPart()), room = elementsOf(op.getResult());
  if (!op.getWhole())
    return buildCall(
        builder, op,
        {"pad_rows", {op.getPart()}, {type}, {dtypeOf(type), there, room}});
  Call call{"insert_rows",
            {op.getPart(), op.getWhole()},
            {type},
            {dtypeOf(type), there, room,
             elementsBefore(op.getPart(), op.getFirst())}};
  call.inPlace = {1};
  return buildCall(builder, op, call);
}

} // namespace hocket::kern
