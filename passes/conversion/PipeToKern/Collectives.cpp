//===- Collectives.cpp - What devices exchange ----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Communicators move shards that follow each other in memory. A dim behind
/// others is brought into that order by a kernel, before or after.
///
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Sharding.h"
#include "passes/conversion/PipeToKern/LibraryCall.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace hocket::kern {

namespace {
/// A tensor around one of its dims, in elements: `outer` rows of `width`, the
/// dim's and all later ones'.
struct Rows {
  int64_t outer = 1, width = 1;

  Rows(RankedTensorType type, int64_t dim) {
    for (auto [d, size] : llvm::enumerate(type.getShape()))
      (static_cast<int64_t>(d) < dim ? outer : width) *= size;
  }
};

/// Builds the parts of one collective.
class Exchange {
public:
  Exchange(OpBuilder &builder, Operation *op, ArrayAttr axes, StringAttr why)
      : builder(builder), op(op), loc(op->getLoc()), axes(axes), why(why) {
    auto module = op->getParentOfType<ModuleOp>();
    dist::Mesh mesh(*module.getOps<dist::MeshOp>().begin());
    for (auto axis : axes.getAsRange<StringAttr>())
      devices *= mesh.size(axis.getValue());
  }

  int64_t deviceCount() const { return devices; }

  /// [devices, shape of `shard`].
  RankedTensorType stacked(RankedTensorType shard) const {
    SmallVector<int64_t> shape{devices};
    llvm::append_range(shape, shard.getShape());
    return shard.clone(shape);
  }

  template <typename RowsOp> Value exchangeRows(RowsOp rows, bool returns) {
    return builder.create<ExchangeOp>(
        loc, rows.getResult().getType(), alone(rows.getRows()),
        alone(rows.getRanges()), alone(rows.getSegments()), axes, why, returns);
  }

  Value collective(CollectiveKind kind, Value input, Type result) {
    return builder.create<CollectiveOp>(loc, result, kind, alone(input), axes,
                                        why);
  }

  /// Shards of dim `dim`, one a device, as one tensor.
  Value gather(Value shards, RankedTensorType shard, int64_t dim,
               RankedTensorType whole) {
    Rows from(shard, dim), to(whole, dim);
    // One row of shards is in order already.
    if (from.outer == 1 && devices * from.width == to.width)
      return builder.create<ViewOp>(loc, whole, shards);
    return move("gather_shards", shards, whole, from, to);
  }

  /// The reverse: a shard of dim `dim` for each device.
  Value scatter(Value whole, int64_t dim, RankedTensorType shard) {
    auto type = cast<RankedTensorType>(whole.getType());
    Rows from(type, dim), to(shard, dim);
    if (from.outer == 1 && from.width == devices * to.width)
      return builder.create<ViewOp>(loc, stacked(shard), whole);
    return move("scatter_shards", whole, stacked(shard), to, from);
  }

private:
  /// A collective moves whole buffers, so the first rows of a larger tensor are
  /// copied.
  Value alone(Value input) {
    auto type = cast<RankedTensorType>(input.getType());
    Value base = input;
    while (auto view = base.getDefiningOp<ViewOp>())
      base = view.getInput();
    int64_t size = type.getNumElements();
    if (cast<RankedTensorType>(base.getType()).getNumElements() == size)
      return input;
    Call call{"slice_shard", {input}, {type}, {dtypeOf(type), 1, size, size}};
    call.scalars = {builder.create<arith::ConstantIntOp>(loc, 0, 32)};
    return buildCall(builder, op, call).front();
  }

  Value move(StringRef name, Value input, Type result, Rows shard, Rows whole) {
    return buildCall(builder, op,
                     {name,
                      {input},
                      {result},
                      {dtypeOf(input.getType()), devices, shard.outer,
                       shard.width, whole.width}})
        .front();
  }

  OpBuilder &builder;
  Operation *op;
  Location loc;
  ArrayAttr axes;
  StringAttr why;
  int64_t devices = 1;
};

RankedTensorType tensorOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}
} // namespace

Values lower(OpBuilder &builder, dist::AllReduceOp op) {
  Exchange exchange(builder, op, op.getAxes(), op.getWhyAttr());
  return {exchange.collective(CollectiveKind::AllReduce, op.getInput(),
                              op.getResult().getType())};
}

Values lower(OpBuilder &builder, dist::ShiftOp op) {
  Exchange exchange(builder, op, op.getAxes(), op.getWhyAttr());
  return {exchange.collective(CollectiveKind::Shift, op.getInput(),
                              op.getResult().getType())};
}

Values lower(OpBuilder &builder, dist::ExchangeRowsOp op) {
  Exchange exchange(builder, op, op.getAxes(), op.getWhyAttr());
  return {exchange.exchangeRows(op, /*returns=*/false)};
}

Values lower(OpBuilder &builder, dist::ReturnRowsOp op) {
  Exchange exchange(builder, op, op.getAxes(), op.getWhyAttr());
  return {exchange.exchangeRows(op, /*returns=*/true)};
}

Values lower(OpBuilder &builder, dist::AllGatherOp op) {
  Exchange exchange(builder, op, op.getAxes(), op.getWhyAttr());
  RankedTensorType shard = tensorOf(op.getInput());
  Value shards = exchange.collective(CollectiveKind::AllGather, op.getInput(),
                                     exchange.stacked(shard));
  return {
      exchange.gather(shards, shard, op.getDim(), tensorOf(op.getResult()))};
}

Values lower(OpBuilder &builder, dist::ReduceScatterOp op) {
  Exchange exchange(builder, op, op.getAxes(), op.getWhyAttr());
  RankedTensorType shard = tensorOf(op.getResult());
  Value shards = exchange.scatter(op.getInput(), op.getDim(), shard);
  return {exchange.collective(CollectiveKind::ReduceScatter, shards, shard)};
}

Values lower(OpBuilder &builder, dist::AllToAllOp op) {
  Exchange exchange(builder, op, op.getAxes(), op.getWhyAttr());
  // What one device sends another: split in one dim, not yet joined in the
  // other.
  SmallVector<int64_t> shape(tensorOf(op.getInput()).getShape());
  int64_t &split = shape[op.getSplit()];
  split = (split + exchange.deviceCount() - 1) / exchange.deviceCount();
  RankedTensorType shard = tensorOf(op.getInput()).clone(shape);
  Value shards = exchange.scatter(op.getInput(), op.getSplit(), shard);
  Value received = exchange.collective(CollectiveKind::AllToAll, shards,
                                       exchange.stacked(shard));
  return {exchange.gather(received, shard, op.getConcat(),
                          tensorOf(op.getResult()))};
}

Values lower(OpBuilder &builder, dist::SliceOp op) {
  RankedTensorType whole = tensorOf(op.getInput());
  RankedTensorType shard = tensorOf(op.getResult());
  Rows from(whole, op.getDim()), to(shard, op.getDim());
  Value first = builder.create<PlaceOp>(op.getLoc(), builder.getI32Type(),
                                        op.getAxes(), to.width);
  Call call{"slice_shard",
            {op.getInput()},
            {shard},
            {dtypeOf(whole), from.outer, to.width, from.width}};
  call.scalars = {first};
  return buildCall(builder, op, call);
}

Values lower(OpBuilder &builder, dist::OffsetOp op) {
  return {builder.create<PlaceOp>(op.getLoc(), builder.getI32Type(),
                                  op.getAxes(), op.getStep())};
}

} // namespace hocket::kern
