//===- FuseSums.cpp - Sums over rows beside what rows give ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Gives sums over many rows to a region of rows that reads or writes the same
/// tensors, so that these are not read again: the gradients of a norm's weight
/// and bias to that of its input, a bias's gradient to what computes the
/// tensor that it sums.
///
//===----------------------------------------------------------------------===//

#include "passes/kern/Passes.h"
#include "passes/kern/RegionFusion.h"
#include "passes/kern/TidyBlock.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace hocket {
#define GEN_PASS_DEF_KERNFUSESUMS
#include "passes/kern/Passes.h.inc"
} // namespace hocket

using namespace mlir;
using namespace hocket;
using namespace hocket::kern;

namespace {

/// Bits of the whole tensors that `sums` reads.
int64_t bitsRead(RegionView sums, llvm::function_ref<bool(Value)> counts) {
  llvm::SmallSetVector<Value, 4> tensors;
  for (auto [i, input] : llvm::enumerate(sums.inputs()))
    if (sums.inputAccess(i) == Access::Full && counts(sourceOf(input)))
      tensors.insert(sourceOf(input));
  int64_t bits = 0;
  for (Value tensor : tensors) {
    auto type = cast<RankedTensorType>(tensor.getType());
    bits += type.getNumElements() * type.getElementTypeBitWidth();
  }
  return bits;
}

/// Those that `rows` reads or writes anyway.
int64_t bitsShared(RegionView sums, RegionView rows) {
  return bitsRead(sums, [&](Value tensor) {
    if (tensor.getDefiningOp() == rows.getOperation())
      return true;
    for (auto [i, input] : llvm::enumerate(rows.inputs()))
      if (sourceOf(input) == tensor && rows.inputAccess(i) == Access::Full)
        return true;
    return false;
  });
}

/// The regions of rows that may share what `sums` reads, in an order that
/// depends on nothing but the module.
llvm::SmallSetVector<Operation *, 4> regionsBeside(RegionView sums) {
  llvm::SmallSetVector<Operation *, 4> found;
  auto add = [&](Operation *op) {
    RegionView region(op);
    if (region && !region.byColumns() &&
        op->getBlock() == sums.getOperation()->getBlock())
      found.insert(op);
  };
  for (Value input : sums.inputs()) {
    SmallVector<Value> same{sourceOf(input)};
    add(same.front().getDefiningOp());
    for (size_t i = 0; i < same.size(); ++i)
      for (Operation *user : same[i].getUsers()) {
        add(user);
        if (isa<ViewOp>(user) && sourceOf(user->getResult(0)) == same.front())
          same.push_back(user->getResult(0));
      }
  }
  return found;
}

struct KernFuseSums : hocket::impl::KernFuseSumsBase<KernFuseSums> {
  using KernFuseSumsBase::KernFuseSumsBase;

  void runOnOperation() override {
    limits.buffers = maxBuffers;
    limits.sums = maxSums;
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      for (Block &block : function.getFunctionBody()) {
        for (auto columns :
             llvm::make_early_inc_range(block.getOps<ColumnsOp>()))
          if (RegionView sums(columns); sums.space().rows >= leastRows)
            fuseSums(sums);
        tidyBlock(block);
      }
  }

private:
  static bool isFirst(RegionView a, RegionView b) {
    return a.getOperation()->isBeforeInBlock(b.getOperation());
  }

  /// Gives `sums` to the region with which it shares most, if any may have it.
  void fuseSums(RegionView sums) {
    RegionView best(nullptr);
    int64_t most = 0;
    for (Operation *op : regionsBeside(sums)) {
      RegionView rows(op);
      int64_t shared = bitsShared(sums, rows);
      bool before = isFirst(rows, sums);
      if (shared > most &&
          whyNotFuse(before ? rows : sums, before ? sums : rows, limits)
              .empty()) {
        best = rows;
        most = shared;
      }
    }
    if (!best)
      return;
    bool before = isFirst(best, sums);
    fuse(before ? best : sums, before ? sums : best, limits);
    ++fused;
  }

  FusionLimits limits;
};

} // namespace
