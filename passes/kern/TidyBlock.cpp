//===- TidyBlock.cpp - After fusion ---------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/kern/TidyBlock.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;

namespace hocket::kern {

void dropInput(RegionView region, unsigned i) {
  Builder builder(region.getOperation()->getContext());
  SmallVector<TensorOperand> left;
  for (unsigned j = 0; j < region.inputs().size(); ++j)
    if (j != i)
      left.push_back({region.inputs()[j], region.inputAccess(j)});
  region.body().eraseArgument(i);
  if (auto rows = dyn_cast<RowsOp>(region.getOperation())) {
    rows.getInputsMutable().erase(i);
    rows.setInputAccessesAttr(accessesOf(builder, left));
    return;
  }
  auto columns = cast<ColumnsOp>(region.getOperation());
  columns.getInputsMutable().erase(i);
  columns.setInputAccessesAttr(accessesOf(builder, left));
}

static void tidyRegion(RegionView region, IRRewriter &rewriter) {
  DominanceInfo dominance(region.getOperation());
  eliminateCommonSubExpressions(rewriter, dominance, region.getOperation());
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(region.body())))
    if (isOpTriviallyDead(&op))
      op.erase();
  for (unsigned i = region.inputs().size(); i-- > 0;)
    if (region.body().getArgument(i).use_empty())
      dropInput(region, i);
}

void tidyBlock(Block &block) {
  IRRewriter rewriter(block.getParentOp()->getContext());
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (isOpTriviallyDead(&op))
      op.erase();
    else if (RegionView region(&op); region)
      tidyRegion(region, rewriter);
  }
}

} // namespace hocket::kern
