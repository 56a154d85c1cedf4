//===- RingAttention.cpp - Attention whose keys travel --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Replaces attention of a device's queries and a device's keys by as many of
// them as there are devices along `cp`, between which keys and values go to the
// next device (Liu et al., arXiv 2310.01889). A shift stands before the
// attention that does not need what it brings, so that it may run beside it.
//
//===----------------------------------------------------------------------===//

#include "passes/dist/Passes.h"

#include "dialects/dist/IR/Sharding.h"

#include "mlir/IR/IRMapping.h"

namespace hocket::dist {
#define GEN_PASS_DEF_DISTRINGATTENTION
#include "passes/dist/Passes.h.inc"
} // namespace hocket::dist

using namespace mlir;
using namespace hocket;
using namespace hocket::dist;

namespace {

/// Builds one ring in the place of `op`.
template <typename OpT> class Ring {
public:
  Ring(OpT op, const Mesh &mesh)
      : op(op), builder(op), loc(op.getLoc()),
        axes(mesh.parts(AxisKind::Context)), devices(mesh.product(axes)) {}

  void replaceForward() {
    Value result, lse;
    for (int64_t step = 0; step < devices; ++step) {
      Block here = takeBlock(step);
      OpT part = attend(here, step);
      Value output = wide(part->getResult(0)), partLse = part->getResult(1);
      if (step > 0) {
        auto merged = builder.create<xf::MergeAttentionOp>(
            loc, output.getType(), partLse.getType(), result, lse, output,
            partLse);
        output = merged.getResult();
        partLse = merged.getResultLse();
      }
      result = output, lse = partLse;
    }
    replace({result, lse});
  }

  /// The sums of the gradients by keys and values travel with these, and one
  /// device further: home.
  void replaceBackward() {
    SmallVector<Value, 4> sums(op->getNumResults());
    for (int64_t step = 0; step < devices; ++step) {
      Block here = takeBlock(step);
      if (step > 0)
        sums[1] = shift(sums[1], "dk"), sums[2] = shift(sums[2], "dv");
      OpT part = attend(here, step);
      for (auto [sum, gradient] : llvm::zip(sums, part->getResults()))
        sum = add(sum, wide(gradient));
    }
    sums[1] = shift(sums[1], "dk"), sums[2] = shift(sums[2], "dv");
    replace(sums);
  }

private:
  /// Keys and values of one device.
  struct Block {
    Value key, value;
  };

  /// What is here in this step; sends it on for the next.
  Block takeBlock(int64_t step) {
    if (step == 0)
      next = {op.getKey(), op.getValue()};
    Block here = next;
    if (step + 1 < devices)
      next = {shift(here.key, "k"), shift(here.value, "v")};
    return here;
  }

  /// `op` for keys that came from `step` devices before this one.
  OpT attend(const Block &block, int64_t step) {
    auto part = cast<OpT>(builder.clone(*op));
    int64_t rows = cast<RankedTensorType>(block.key.getType()).getDimSize(1);
    part.getKeyMutable().assign(block.key);
    part.getValueMutable().assign(block.value);
    part.setBehind(step * rows);
    return part;
  }

  Value shift(Value value, StringRef what) {
    return builder.create<ShiftOp>(
        loc, value.getType(), value, builder.getStrArrayAttr(axes),
        builder.getStringAttr(what + " goes around the ring of attention"));
  }

  /// Sums are kept in f32 at least.
  Value wide(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getElementType().getIntOrFloatBitWidth() >= 32)
      return value;
    return builder.create<xf::CastOp>(loc, type.clone(builder.getF32Type()),
                                      value);
  }

  Value add(Value sum, Value value) {
    if (!sum)
      return value;
    return builder.create<xf::AddOp>(loc, sum.getType(), sum, value);
  }

  void replace(ArrayRef<Value> values) {
    for (auto [result, value] : llvm::zip(op->getResults(), values)) {
      Value narrow = value;
      if (value.getType() != result.getType())
        narrow = builder.create<xf::CastOp>(loc, result.getType(), value);
      result.replaceAllUsesWith(narrow);
    }
    op->erase();
  }

  OpT op;
  OpBuilder builder;
  Location loc;
  Axes axes;
  int64_t devices;
  Block next;
};

/// Whether `op` has the keys of one device where it needs all: there they begin
/// at a place of the device's own.
template <typename OpT> bool isRing(OpT op) {
  return op.getWhole() && op.getPlace()[1].template getDefiningOp<OffsetOp>();
}

struct RingAttention : dist::impl::DistRingAttentionBase<RingAttention> {
  void runOnOperation() override {
    auto meshes = getOperation().getOps<MeshOp>();
    if (meshes.empty())
      return;
    Mesh mesh(*meshes.begin());
    if (mesh.parts(AxisKind::Context).empty())
      return;
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (auto forward = dyn_cast<xf::AttentionOp>(op);
          forward && isRing(forward))
        ops.push_back(op);
      if (auto backward = dyn_cast<xf::AttentionGradientOp>(op);
          backward && isRing(backward))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      if (auto forward = dyn_cast<xf::AttentionOp>(op))
        Ring<xf::AttentionOp>(forward, mesh).replaceForward();
      else
        Ring<xf::AttentionGradientOp>(cast<xf::AttentionGradientOp>(op), mesh)
            .replaceBackward();
      ++numRings;
    }
  }
};

} // namespace
