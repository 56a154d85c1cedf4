//===- FuseColumns.cpp - Fuses into sums over rows ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Joins producers with the sums over rows that read them, and sums that read
/// the same tensor.
///
//===----------------------------------------------------------------------===//

#include "passes/kern/Passes.h"
#include "passes/kern/RegionFusion.h"
#include "passes/kern/TidyBlock.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace hocket {
#define GEN_PASS_DEF_KERNFUSECOLUMNS
#include "passes/kern/Passes.h.inc"
} // namespace hocket

using namespace mlir;
using namespace hocket;
using namespace hocket::kern;

namespace {

/// Whether a region only changes the element type, to no narrower one: its
/// reader may as well read what it reads.
bool isWideningCast(RegionView region) {
  auto rows = dyn_cast<RowsOp>(region.getOperation());
  if (!rows || rows.getInputs().size() != 1 || rows.getOutputs().size() != 1)
    return false;
  auto width = [](Value tensor) {
    return cast<RankedTensorType>(tensor.getType()).getElementTypeBitWidth();
  };
  return region.body().getOperations().size() == 1 &&
         width(rows.getInputs()[0]) <= width(rows.getOutputs()[0]);
}

/// Lets readers of a widening cast other than `reader` keep it: `reader` gets
/// one of its own.
RegionView ownCast(RegionView cast, RegionView reader) {
  OpBuilder builder(reader.getOperation());
  Operation *copy = builder.clone(*cast.getOperation());
  for (OpOperand &operand : reader.getOperation()->getOpOperands())
    if (sourceOf(operand.get()) == cast.results()[0])
      operand.set(copy->getResult(0));
  return RegionView(copy);
}

struct KernFuseColumns : hocket::impl::KernFuseColumnsBase<KernFuseColumns> {
  using KernFuseColumnsBase::KernFuseColumnsBase;

  void runOnOperation() override {
    limits.buffers = maxBuffers;
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      for (Block &block : function.getFunctionBody()) {
        fuseAll(block, &KernFuseColumns::fuseProducer);
        fuseAll(block, &KernFuseColumns::fuseSibling);
        tidyBlock(block);
      }
  }

private:
  using Step = RegionView (KernFuseColumns::*)(RegionView);

  /// Takes `step` at every sum until it gives none.
  void fuseAll(Block &block, Step step) {
    for (Operation *op = &block.front(); op;) {
      RegionView region(op);
      RegionView fused = region && region.byColumns() ? (this->*step)(region)
                                                      : RegionView(nullptr);
      op = fused ? fused.getOperation() : op->getNextNode();
    }
  }

  RegionView fuseProducer(RegionView consumer) {
    for (Value input : consumer.inputs()) {
      RegionView producer = producerOf(input);
      if (!producer || producer.byColumns())
        continue;
      bool fits = whyNotFuse(producer, consumer, limits).empty();
      if (!fits && isWideningCast(producer) &&
          !producer.results()[0].hasOneUse()) {
        producer = ownCast(producer, consumer);
        fits = whyNotFuse(producer, consumer, limits).empty();
      }
      if (!fits)
        continue;
      ++producers;
      return fuse(producer, consumer, limits);
    }
    return RegionView(nullptr);
  }

  RegionView fuseSibling(RegionView second) {
    for (auto [i, input] : llvm::enumerate(second.inputs()))
      for (Operation *user : sourceOf(input).getUsers()) {
        RegionView first(user);
        if (second.inputAccess(i) != Access::Full || !first ||
            !first.byColumns() || user == second.getOperation() ||
            user->getBlock() != second.getOperation()->getBlock() ||
            !user->isBeforeInBlock(second.getOperation()) ||
            !(first.space() == second.space()) ||
            !whyNotFuse(first, second, limits).empty())
          continue;
        ++siblings;
        return fuse(first, second, limits);
      }
    return RegionView(nullptr);
  }

  FusionLimits limits;
};

} // namespace
