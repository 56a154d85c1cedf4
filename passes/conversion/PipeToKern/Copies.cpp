//===- Copies.cpp - What moves numbers and computes nothing ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Rows of sequences, parts of heads and numbers of choices, by the calls of
/// kernels/library/Library.h that copy.
///
//===----------------------------------------------------------------------===//

#include "passes/conversion/PipeToKern/LibraryCall.h"
#include "passes/conversion/PipeToKern/Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace hocket::kern {

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

/// `sequences` of `rows` each, from row `first` on.
static Values lowerShift(OpBuilder &builder, Operation *op, Value sequences,
                         int64_t first) {
  Type type = op->getResult(0).getType();
  if (first == 0)
    return {builder.create<ViewOp>(op->getLoc(), type, op->getOperand(0))};
  auto whole = cast<RankedTensorType>(sequences.getType());
  int64_t each = elementsOf(sequences) / whole.getDimSize(0);
  return buildCall(builder, op,
                   {"shift_rows",
                    {op->getOperand(0)},
                    {type},
                    {dtypeOf(type), whole.getDimSize(0), each,
                     first * (each / whole.getDimSize(1))}});
}

Values lower(OpBuilder &builder, xf::SplitChunksOp op) {
  return lowerShift(builder, op, op.getInput(), int64_t(op.getShift()));
}

Values lower(OpBuilder &builder, xf::JoinChunksOp op) {
  return lowerShift(builder, op, op.getResult(), -int64_t(op.getShift()));
}

//===----------------------------------------------------------------------===//
// Parts of heads
//===----------------------------------------------------------------------===//

/// Of heads `from`, channels from `first` on; zeros behind the last one.
static Values lowerPart(OpBuilder &builder, Operation *op, Value from,
                        int64_t first) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  int64_t whole = cast<RankedTensorType>(from.getType()).getShape().back();
  int64_t width = type.getShape().back();
  Call call{"slice_shard",
            {from},
            {type},
            {dtypeOf(type), elementsOf(from) / whole, width, whole}};
  call.scalars = {
      builder.create<arith::ConstantIntOp>(op->getLoc(), first, 32)};
  return buildCall(builder, op, call);
}

Values lower(OpBuilder &builder, xf::JoinHeadsOp op) {
  if (!op.getFront())
    return lowerPart(builder, op, op.getInput(), 0);
  auto input = cast<RankedTensorType>(op.getInput().getType());
  auto front = cast<RankedTensorType>(op.getFront().getType());
  return buildCall(builder, op,
                   {"join_heads",
                    {op.getFront(), op.getInput()},
                    {op.getResult().getType()},
                    {dtypeOf(input), input.getDimSize(0) * input.getDimSize(1),
                     input.getDimSize(2), front.getDimSize(2),
                     front.getDimSize(3), input.getDimSize(3)}});
}

Values lower(OpBuilder &builder, xf::PartHeadsOp op) {
  return lowerPart(builder, op, op.getInput(), int64_t(op.getFirst()));
}

Values lower(OpBuilder &builder, xf::SumHeadsOp op) {
  auto input = cast<RankedTensorType>(op.getInput().getType());
  auto result = cast<RankedTensorType>(op.getResult().getType());
  return buildCall(
      builder, op,
      {"sum_heads",
       {op.getInput()},
       {result},
       {dtypeOf(input), input.getDimSize(0) * input.getDimSize(1),
        input.getDimSize(2), input.getDimSize(3), result.getDimSize(3)}});
}

//===----------------------------------------------------------------------===//
// Rows in the place of tokens
//===----------------------------------------------------------------------===//

/// `tokens` are [B, S, h], of which each sequence has `sources` rows for some.
static SmallVector<int64_t> placedIntegers(Value tokens, int64_t sources) {
  auto type = cast<RankedTensorType>(tokens.getType());
  return {dtypeOf(type), type.getDimSize(0), type.getDimSize(1), sources,
          type.getDimSize(2)};
}

/// Of `source`, [B N, T, h].
static int64_t sourcesOf(Value source, Value tokens) {
  auto type = cast<RankedTensorType>(source.getType());
  return type.getDimSize(0) * type.getDimSize(1) /
         cast<RankedTensorType>(tokens.getType()).getDimSize(0);
}

Values lower(OpBuilder &builder, xf::PlaceRowsOp op) {
  Call call{
      "place_rows",
      {op.getRows(), op.getInput(), op.getSource()},
      {op.getResult().getType()},
      placedIntegers(op.getInput(), sourcesOf(op.getSource(), op.getInput()))};
  call.integers.push_back(1);
  call.resultsFirst = true;
  return buildCall(builder, op, call);
}

Values lower(OpBuilder &builder, xf::PlaceRowsGradientOp op) {
  Call call{"place_rows",
            {op.getRows(), op.getGrad()},
            {op.getResult().getType()},
            placedIntegers(op.getGrad(), op.getSources())};
  call.integers.push_back(0);
  call.resultsFirst = true;
  return buildCall(builder, op, call);
}

Values lower(OpBuilder &builder, xf::PlacedRowsGradientOp op) {
  Call call{
      "placed_rows_gradient",
      {op.getRows(), op.getGrad()},
      {op.getResult().getType()},
      placedIntegers(op.getGrad(), sourcesOf(op.getResult(), op.getGrad()))};
  call.resultsFirst = true;
  return buildCall(builder, op, call);
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

namespace {
/// Moves numbers of [B, S, C] and [B, S, 1] by the calls that put shards
/// together and take them apart: with B, or S, or C in the place of devices.
class Choices {
public:
  Choices(OpBuilder &builder, Operation *op, Value wide)
      : builder(builder), op(op), type(cast<RankedTensorType>(wide.getType())),
        rows(type.getDimSize(0)), positions(type.getDimSize(1)),
        choices(type.getDimSize(2)), questions(rows / choices),
        block(positions * choices) {}

  Value gather(Value narrow) {
    Value moved = call("gather_shards", narrow, rows, positions, 1,
                       {positions, questions, choices});
    moved = call("gather_shards", moved, positions, questions, choices,
                 {questions, block});
    // Zeros for the other sequences of each question.
    moved = call("scatter_shards", moved, choices, questions, block,
                 {choices, questions, block}, block);
    return call("gather_shards", moved, choices, questions, block,
                type.getShape());
  }

  Value scatter(Value wide, Type result) {
    // Of the first sequence of each question.
    Call first{"slice_shard",
               {wide},
               {of({questions, block})},
               {dtypeOf(type), questions, block, choices * block}};
    first.scalars = {builder.create<arith::ConstantIntOp>(op->getLoc(), 0, 32)};
    Value moved = buildCall(builder, op, first).front();
    moved = call("scatter_shards", moved, positions, questions, choices,
                 {positions, questions, choices});
    return call("scatter_shards", moved, rows, positions, 1,
                cast<RankedTensorType>(result).getShape());
  }

private:
  RankedTensorType of(ArrayRef<int64_t> shape) const {
    return RankedTensorType::get(shape, type.getElementType());
  }
  /// `all`: numbers of a row, where that is not a shard of each device.
  Value call(StringRef name, Value operand, int64_t devices, int64_t outer,
             int64_t shard, ArrayRef<int64_t> shape, int64_t all = 0) {
    return buildCall(builder, op,
                     {name,
                      {operand},
                      {of(shape)},
                      {dtypeOf(type), devices, outer, shard,
                       all ? all : devices * shard}})
        .front();
  }

  OpBuilder &builder;
  Operation *op;
  RankedTensorType type;
  int64_t rows, positions, choices, questions, block;
};
} // namespace

Values lower(OpBuilder &builder, xf::GatherChoicesOp op) {
  return {Choices(builder, op, op.getResult()).gather(op.getInput())};
}

Values lower(OpBuilder &builder, xf::GatherChoicesGradientOp op) {
  return {Choices(builder, op, op.getGrad())
              .scatter(op.getGrad(), op.getResult().getType())};
}

} // namespace hocket::kern
