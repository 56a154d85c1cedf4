//===- FuseLoss.cpp - A loss and its gradient in one walk -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where a block computes the cross-entropy of logits and its gradient, one
/// call reads each row once for both.
///
//===----------------------------------------------------------------------===//

#include "passes/kern/OpOrder.h"
#include "passes/kern/Passes.h"
#include "passes/kern/RegionFusion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>

namespace hocket {
#define GEN_PASS_DEF_KERNFUSELOSS
#include "passes/kern/Passes.h.inc"
} // namespace hocket

using namespace mlir;
using namespace hocket;
using namespace hocket::kern;

namespace {

/// A gradient of logits, and the call that the rows' sums come from.
struct Loss {
  LibraryOp rows, gradient;
  LibraryOp together; ///< sums of one part each, taken together, or null
  bool isMean;        ///< `rows` is the mean loss too: cross_entropy_forward
};

/// The call of `name` whose result `i` is `value`, through views of all
/// elements.
LibraryOp callOf(Value value, StringRef name, unsigned i = 0) {
  auto result = dyn_cast<OpResult>(sourceOf(value));
  auto library = sourceOf(value).getDefiningOp<LibraryOp>();
  return library && library.getOp() == name && result.getResultNumber() == i
             ? library
             : LibraryOp();
}

/// Whether a shard of the logits, if `library` is of one, starts at column 0.
bool isWhole(LibraryOp library) {
  return llvm::all_of(library.getScalars(), [](Value first) {
    return matchPattern(first, m_Zero());
  });
}

/// The call that `gradient` has the sums of its rows from: one of whole rows of
/// the same logits, in the same block.
std::optional<Loss> lossOf(LibraryOp gradient) {
  bool isShard = gradient.getOp() == "cross_entropy_backward_shard";
  if (!isShard && gradient.getOp() != "cross_entropy_backward")
    return std::nullopt;
  ValueRange inputs = gradient.getInputs();
  Value sums = inputs[2];
  auto together = callOf(sums, "log_sum_exp");
  if (together && together.getIntegers()[1] == 1)
    sums = together.getInputs()[0];
  Loss loss{callOf(sums, "cross_entropy_rows"), gradient, together, false};
  if (!loss.rows)
    loss = {callOf(sums, "cross_entropy_forward", 1), gradient, together, true};
  if (!loss.rows || loss.rows->getBlock() != gradient->getBlock() ||
      !isWhole(loss.rows) || !isWhole(gradient))
    return std::nullopt;
  ArrayRef<int64_t> integers = loss.rows.getIntegers();
  bool isSame = integers.take_front(4) == gradient.getIntegers() &&
                (loss.isMean || integers[4] == 1) &&
                sourceOf(loss.rows.getInputs()[0]) == sourceOf(inputs[0]) &&
                sourceOf(loss.rows.getInputs()[1]) == sourceOf(inputs[1]);
  // A part of more columns than it has would need them.
  return isSame && integers[3] <= integers[2] ? std::optional(loss)
                                              : std::nullopt;
}

/// `value`, or what an earlier exchange of the same gives: the loss and its
/// gradient each ask for the count of labels.
Value firstExchanged(Value value) {
  auto first = value.getDefiningOp<CollectiveOp>();
  if (!first)
    return value;
  for (Operation *user : first.getInput().getUsers()) {
    auto other = dyn_cast<CollectiveOp>(user);
    if (other && other->getBlock() == first->getBlock() &&
        other.getKind() == first.getKind() &&
        other.getAxes() == first.getAxes() &&
        other.getResult().getType() == first.getResult().getType() &&
        other->isBeforeInBlock(first))
      first = other;
  }
  return first.getResult();
}

LibraryOp buildCall(OpBuilder &builder, Location loc, StringRef op,
                    TypeRange results, ValueRange operands,
                    ArrayRef<int64_t> integers,
                    DenseI64ArrayAttr inPlace = {}) {
  return builder.create<LibraryOp>(
      loc, results, op, operands, /*instance=*/Value(),
      /*scalars=*/ValueRange(), integers, /*floats=*/ArrayRef<double>(),
      /*random=*/false,
      /*results_first=*/false, /*stream=*/0, /*elements=*/0, /*workspaces=*/0,
      inPlace, op);
}

struct KernFuseLoss : hocket::impl::KernFuseLossBase<KernFuseLoss> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      for (Block &block : function.getFunctionBody())
        for (auto library :
             llvm::make_early_inc_range(block.getOps<LibraryOp>())) {
          if (library.getOp() == "cross_entropy_backward_shard")
            exchangeOnce(library.getInputsMutable()[4]);
          if (std::optional<Loss> loss = lossOf(library))
            fuse(*loss);
        }
  }

private:
  static void exchangeOnce(OpOperand &count) {
    Operation *own = count.get().getDefiningOp();
    count.set(firstExchanged(count.get()));
    if (own && isOpTriviallyDead(own))
      own->erase();
  }

  void fuse(Loss loss) {
    // The count is there for a shard; else it is of the labels alone.
    ValueRange inputs = loss.gradient.getInputs();
    SmallVector<Value> operands{inputs[0], inputs[1], inputs[3]};
    bool hasCount = inputs.size() > 4;
    if (hasCount)
      operands.push_back(inputs[4]);
    for (Value operand : operands)
      if (operand.getDefiningOp() == loss.rows)
        return; // It needs the loss first.
    Placement placement = placeTogether(loss.rows, loss.gradient, operands);
    if (!placement)
      return;
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfter(placement.after);
    Location loc =
        builder.getFusedLoc({loss.rows.getLoc(), loss.gradient.getLoc()});
    ArrayRef<int64_t> integers = loss.gradient.getIntegers();
    auto f32 = builder.getF32Type();
    auto scalar = RankedTensorType::get({}, f32);
    if (!hasCount)
      operands.push_back(buildCall(builder, loc, "count_labels", scalar,
                                   operands[1], integers[1])
                             .getOutputs()[0]);
    auto labels = cast<RankedTensorType>(operands[1].getType());
    auto rows = RankedTensorType::get(labels.getShape(), f32);
    LibraryOp joint = buildCall(
        builder, loc, "cross_entropy_joint",
        {rows, rows, loss.gradient.getOutputs()[0].getType()}, operands,
        integers, builder.getDenseI64ArrayAttr({-1, -1, 0}));
    Value lse = joint.getOutputs()[0], picked = joint.getOutputs()[1];
    Operation *last = joint;
    if (loss.isMean) {
      auto mean =
          buildCall(builder, loc, "mean_loss", scalar,
                    {lse, picked, operands[1], operands[3]}, integers[1]);
      loss.rows.getOutputs()[0].replaceAllUsesWith(mean.getOutputs()[0]);
      replaceSums(builder, loss.rows.getOutputs()[1], lse);
      last = mean;
    } else {
      replaceSums(builder, loss.rows.getOutputs()[0], lse);
      replaceSums(builder, loss.rows.getOutputs()[1], picked);
    }
    while (last->getNextNode() && isa<ViewOp>(last->getNextNode()) &&
           sourceOf(last->getNextNode()->getOperand(0)).getDefiningOp() ==
               joint)
      last = last->getNextNode();
    moveBehind(last, placement);
    if (loss.together) {
      replaceSums(builder, loss.together.getOutputs()[0], lse);
      loss.together.erase();
    }
    loss.gradient.getOutputs()[0].replaceAllUsesWith(joint.getOutputs()[2]);
    loss.gradient.erase();
    loss.rows.erase();
    ++fused;
  }

  /// Views `sums` as `old` had them.
  static void replaceSums(OpBuilder &builder, Value old, Value sums) {
    if (old.getType() != sums.getType())
      sums = builder.create<ViewOp>(old.getLoc(), old.getType(), sums);
    old.replaceAllUsesWith(sums);
  }
};

} // namespace
