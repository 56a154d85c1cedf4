//===- FuseRows.cpp - Fuses regions of one iteration space ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Joins rows with rows: constants into their readers, then producers with
/// consumers, then siblings that read the same tensor. Joining never reads or
/// writes more bytes than before, so that what may be joined is.
///
//===----------------------------------------------------------------------===//

#include "passes/kern/Passes.h"
#include "passes/kern/RegionFusion.h"
#include "passes/kern/TidyBlock.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace hocket {
#define GEN_PASS_DEF_KERNFUSEROWS
#include "passes/kern/Passes.h.inc"
} // namespace hocket

using namespace mlir;
using namespace hocket;
using namespace hocket::kern;

namespace {

/// The constant that result `value` of a region without operands is.
arith::ConstantOp constantOf(Value value) {
  auto result = dyn_cast<OpResult>(sourceOf(value));
  auto rows = result ? dyn_cast<RowsOp>(result.getOwner()) : RowsOp();
  if (!rows)
    return {};
  Value yielded = rows.getYield().getValues()[result.getResultNumber()];
  return yielded.getDefiningOp<arith::ConstantOp>();
}

/// Gives a region that reads constants the constants themselves.
void inlineConstants(RegionView reader) {
  OpBuilder builder = OpBuilder::atBlockBegin(&reader.body());
  for (unsigned i = reader.inputs().size(); i-- > 0;)
    if (arith::ConstantOp constant = constantOf(reader.inputs()[i])) {
      Value here = builder.clone(*constant)->getResult(0);
      reader.body().getArgument(i).replaceAllUsesWith(here);
      dropInput(reader, i);
    }
}

struct KernFuseRows : hocket::impl::KernFuseRowsBase<KernFuseRows> {
  using KernFuseRowsBase::KernFuseRowsBase;

  void runOnOperation() override {
    limits.buffers = maxBuffers;
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      for (Block &block : function.getFunctionBody()) {
        // 1. Constants, which then stop nothing.
        for (auto rows : block.getOps<RowsOp>())
          inlineConstants(RegionView(rows));
        for (auto columns : block.getOps<ColumnsOp>())
          inlineConstants(RegionView(columns));
        tidyBlock(block);
        // 2. Producers into consumers, as often as that makes new ones.
        while (fuseAll(block, &KernFuseRows::fuseProducer))
          ;
        // 3. Siblings, and what they may join.
        while (fuseAll(block, &KernFuseRows::fuseSibling) &&
               fuseAll(block, &KernFuseRows::fuseProducer))
          ;
        tidyBlock(block);
      }
  }

private:
  using Step = RegionView (KernFuseRows::*)(RegionView);

  /// Takes `step` at every region until it gives none; whether it gave any.
  bool fuseAll(Block &block, Step step) {
    bool any = false;
    for (Operation *op = &block.front(); op;) {
      RegionView region(op);
      RegionView fused = region && !region.byColumns() ? (this->*step)(region)
                                                       : RegionView(nullptr);
      any |= static_cast<bool>(fused);
      op = fused ? fused.getOperation() : op->getNextNode();
    }
    return any;
  }

  /// Joins `consumer` with a producer of its operands.
  RegionView fuseProducer(RegionView consumer) {
    for (Value input : consumer.inputs()) {
      RegionView producer = producerOf(input);
      if (!producer || !whyNotFuse(producer, consumer, limits).empty())
        continue;
      ++producers;
      return fuse(producer, consumer, limits);
    }
    return RegionView(nullptr);
  }

  /// Joins `second` with an earlier region that reads the same whole tensor.
  RegionView fuseSibling(RegionView second) {
    for (auto [i, input] : llvm::enumerate(second.inputs())) {
      if (second.inputAccess(i) != Access::Full)
        continue;
      for (Operation *user : sourceOf(input).getUsers()) {
        RegionView first(user);
        if (!isEarlierSibling(first, second, sourceOf(input)) ||
            !whyNotFuse(first, second, limits).empty())
          continue;
        ++siblings;
        return fuse(first, second, limits);
      }
    }
    return RegionView(nullptr);
  }

  static bool isEarlierSibling(RegionView first, RegionView second,
                               Value tensor) {
    if (!first || first.byColumns() || first.space().elements() == 1 ||
        first.getOperation()->getBlock() != second.getOperation()->getBlock() ||
        !first.getOperation()->isBeforeInBlock(second.getOperation()))
      return false;
    for (auto [i, input] : llvm::enumerate(first.inputs()))
      if (input == tensor && first.inputAccess(i) == Access::Full)
        return true;
    return false;
  }

  FusionLimits limits;
};

} // namespace
