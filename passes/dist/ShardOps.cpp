//===- ShardOps.cpp - What an op must know of its shard -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/dist/ShardOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <map>
#include <utility>

using namespace mlir;
using namespace hocket;
using namespace hocket::dist;

/// Where the device's shard of a dim of `size` elements starts; null where it
/// holds all of them.
static Value offsetOf(OpBuilder &builder, Location loc, const Mesh &mesh,
                      int64_t size, const Axes &axes) {
  if (axes.empty())
    return {};
  int64_t devices = mesh.product(axes);
  return builder.create<OffsetOp>(loc, builder.getI32Type(),
                                  builder.getStrArrayAttr(axes),
                                  (size + devices - 1) / devices);
}

namespace {

/// The norms of gradients that are split over the same axes.
using NormGroups = std::map<std::string, std::pair<Axes, SmallVector<Value>>>;

class ShardCompleter {
public:
  ShardCompleter(Operation *op, const ShardContext &context)
      : op(op), context(context), builder(op) {}

  LogicalResult complete() {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case([&](xf::EmbeddingOp embedding) {
          if (Value first = offset(1, 0))
            embedding.getFirstRowMutable().assign(first);
          return success();
        })
        .Case([&](xf::EmbeddingGradientOp gradient) {
          if (Value first = resultOffset(0, 0))
            gradient.getFirstRowMutable().assign(first);
          return success();
        })
        .Case([&](xf::CrossEntropyRowsOp rows) {
          if (Value first = offset(0, context.types.operands[0].getRank() - 1))
            rows.getFirstColumnMutable().assign(first);
          return success();
        })
        .Case([&](xf::CrossEntropyGradientOp gradient) {
          if (Value first = offset(1, context.types.operands[1].getRank() - 1))
            gradient.getFirstColumnMutable().assign(first);
          return success();
        })
        .Case([&](xf::AttentionOp attention) {
          completeAttention(attention, 0, 1);
          return success();
        })
        .Case([&](xf::AttentionGradientOp gradient) {
          completeAttention(gradient, 1, 2);
          return success();
        })
        .Case([&](xf::CachedAttentionOp attention) {
          completeCachedAttention(attention);
          return success();
        })
        .Case([&](xf::DropoutOp dropout) {
          completeDropout(dropout);
          return success();
        })
        .Case([&](xf::ExpertOrderOp order) {
          keepOwnRuns(order, 0);
          return success();
        })
        .Case<xf::DispatchOp, xf::CombineOp>([&](auto rows) {
          keepOwnRuns(rows, 1);
          return success();
        })
        .Case([&](xf::CombineWeightGradientOp gradient) {
          keepOwnRuns(gradient, 2);
          return success();
        })
        .Case<xf::PositionsOp, xf::RopeTableOp>([&](auto rows) {
          completeRows(rows);
          return success();
        })
        .Case([&](xf::GlobalNormOp norm) { return splitNorm(norm); })
        .Case([&](xf::AmaxOp amax) {
          splitAmax(amax);
          return success();
        })
        .Default([](Operation *) { return success(); });
  }

private:
  Value offset(unsigned operand, unsigned dim) {
    return offsetOf(builder, op->getLoc(), context.mesh,
                    context.types.operands[operand].getDimSize(dim),
                    context.operands[operand].dims[dim]);
  }
  Value resultOffset(unsigned result, unsigned dim) {
    return offsetOf(builder, op->getLoc(), context.mesh,
                    context.types.results[result].getDimSize(dim),
                    context.results[result].dims[dim]);
  }

  Value zero() {
    return builder.create<arith::ConstantIntOp>(op->getLoc(), 0, 32);
  }

  /// Masks go by position, random numbers by element and slopes by head, in the
  /// whole;
  /// `query` and `key` are operands.
  template <typename OpT>
  void completeAttention(OpT attention, unsigned query, unsigned key) {
    const Sharding &split = context.operands[query];
    bool draws = !attention.getDropout().isZero() &&
                 llvm::any_of(split.dims,
                              [](const Axes &axes) { return !axes.empty(); });
    bool hasSlopes = attention.getAlibi() && !split.dims[2].empty();
    if (split.dims[1].empty() && !draws && !hasSlopes)
      return;
    auto orZero = [&](Value first) { return first ? first : zero(); };
    attention.getPlaceMutable().assign(
        {orZero(offset(query, 1)), orZero(offset(key, 1)),
         orZero(offset(query, 0)), orZero(offset(query, 2))});
    RankedTensorType whole = context.types.operands[query];
    int64_t keys = context.types.operands[key].getDimSize(1);
    attention.setWhole(
        SmallVector<int64_t>{whole.getDimSize(0), whole.getDimSize(2),
                             std::max(whole.getDimSize(1), keys)});
  }

  /// Slopes go by head in the whole.
  void completeCachedAttention(xf::CachedAttentionOp attention) {
    Value first = attention.getAlibi() ? offset(0, 2) : Value();
    if (!first)
      return;
    attention.getFirstHeadMutable().assign(first);
    attention.setWholeHeads(context.types.operands[0].getDimSize(2));
  }

  /// Random numbers are counted over the whole tensor. Positions, the second
  /// dim, may be stored out of order.
  void completeDropout(xf::DropoutOp dropout) {
    RankedTensorType whole = context.types.results[0];
    SmallVector<Value> at;
    SmallVector<int64_t> dims, parts;
    for (int64_t dim = 0; dim < whole.getRank(); ++dim) {
      Value start = resultOffset(0, dim);
      int64_t part = dim == 1 ? context.mesh.partRows() : 0;
      if (!start && part == 0)
        continue;
      at.push_back(start ? start : zero());
      dims.push_back(dim);
      parts.push_back(part);
    }
    if (at.empty())
      return;
    dropout.getAtMutable().assign(at);
    dropout.setDims(dims);
    dropout.setParts(parts);
    if (context.mesh.rounds() > 1 &&
        llvm::any_of(parts, [](int64_t part) { return part > 0; }))
      dropout.setRounds(context.mesh.rounds());
    dropout.setWhole(whole.getShape());
  }

  /// Of the runs along positions those that the device has; `slots` is an
  /// operand, and positions its second dim.
  template <typename OpT> void keepOwnRuns(OpT rows, unsigned slots) {
    int64_t devices = context.mesh.product(context.operands[slots].dims[1]);
    rows.setPositionRuns(std::max<uint64_t>(
        1, rows.getPositionRuns() / static_cast<uint64_t>(devices)));
  }

  template <typename OpT> void completeRows(OpT rows) {
    if (Value first = resultOffset(0, 0)) {
      rows.getFirstMutable().assign(first);
      rows.setWhole(context.types.results[0].getDimSize(0));
    }
  }

  /// sqrt(sum of squares) over all devices: gradients that are split over the
  /// same axes have one norm a device; the norms are gathered, and the norm of
  /// those and of the gradients that are whole is the result. (A norm of
  /// something that is not finite is not finite.)
  LogicalResult splitNorm(xf::GlobalNormOp norm) {
    NormGroups groups;
    SmallVector<Value> all;
    for (auto [i, grad] : llvm::enumerate(norm.getGrads())) {
      Axes axes;
      for (const Axes &dim : context.operands[i].dims)
        llvm::append_range(axes, dim);
      if (axes.empty()) {
        all.push_back(grad);
        continue;
      }
      llvm::sort(axes);
      auto &group = groups[llvm::join(axes, ".")];
      group.first = axes;
      group.second.push_back(grad);
    }
    if (groups.empty())
      return success();
    for (const auto &[key, group] : groups)
      all.push_back(gatherNorm(norm, group.first, group.second));
    norm.getGradsMutable().assign(all);
    return success();
  }

  /// Of a tensor in shards the greatest of all shards' own: every device
  /// gathers them. (A reduction would do, but of a collective one cannot say
  /// what it makes of a number that is none.)
  void splitAmax(xf::AmaxOp amax) {
    Axes axes;
    for (const Axes &dim : context.operands[0].dims)
      llvm::append_range(axes, dim);
    if (axes.empty())
      return;
    Location loc = amax.getLoc();
    auto scalar = cast<RankedTensorType>(amax.getResult().getType());
    Value own = builder.create<xf::AmaxOp>(loc, scalar, amax.getInput());
    amax.getInputMutable().assign(gatherScalars(
        loc, own, axes, "the largest of a tensor in shards is wanted"));
  }

  /// The scalar `own` of all devices along `axes`, as one tensor.
  Value gatherScalars(Location loc, Value own, const Axes &axes,
                      StringRef why) {
    auto scalar = cast<RankedTensorType>(own.getType());
    Value one = builder.create<xf::ReshapeOp>(loc, scalar.clone({1}), own);
    int64_t devices = context.mesh.product(axes);
    return builder.create<AllGatherOp>(
        loc, scalar.clone({devices}), one, builder.getI64IntegerAttr(0),
        builder.getStrArrayAttr(axes), builder.getStringAttr(why));
  }

  /// The norms of all devices along `axes`, as one tensor.
  Value gatherNorm(xf::GlobalNormOp norm, const Axes &axes, ValueRange grads) {
    Location loc = norm.getLoc();
    auto scalar = cast<RankedTensorType>(norm.getNorm().getType());
    auto local = builder.create<xf::GlobalNormOp>(loc, scalar, scalar, grads);
    return gatherScalars(loc, local.getNorm(), axes,
                         "a norm over shards is wanted on all devices");
  }

  Operation *op;
  const ShardContext &context;
  OpBuilder builder;
};

} // namespace

LogicalResult hocket::dist::completeShard(Operation *op,
                                          const ShardContext &context) {
  return ShardCompleter(op, context).complete();
}
