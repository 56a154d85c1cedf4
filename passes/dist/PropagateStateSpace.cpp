//===- PropagateStateSpace.cpp - States over shared sequences -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/dist/Propagation.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::dist;

/// Takes `axes` off all factors, with their reasons.
static void drop(OpSharding &choice, const Axes &axes) {
  for (auto [split, reasons] :
       llvm::zip_equal(choice.factors, choice.reasons)) {
    Axes kept;
    SmallVector<ReasonAttr, 2> why;
    for (auto [axis, reason] : llvm::zip_equal(split, reasons)) {
      if (llvm::is_contained(axes, axis))
        continue;
      kept.push_back(axis);
      why.push_back(reason);
    }
    split = kept;
    reasons = why;
  }
}

/// Splits a dim of `factors` over `axis` too: the first factor with room, and a
/// later one only where those before it are split to single elements.
static bool deal(const xf::FactorRule &rule, ArrayRef<int64_t> factors,
                 StringRef axis, const Mesh &mesh, OpSharding &choice) {
  for (int64_t factor : factors) {
    int64_t left =
        rule.factors[factor].size / mesh.product(choice.factors[factor]);
    if (left % mesh.size(axis) == 0) {
      MLIRContext *context = mesh.symbol().getContext();
      choice.factors[factor].push_back(axis);
      choice.reasons[factor].push_back(
          ReasonAttr::of(ReasonKind::Heads, StringAttr::get(context, axis)));
      return true;
    }
    if (left > 1)
      return false;
  }
  return false;
}

LogicalResult Propagation::visitStateSpace(Operation *op,
                                           const xf::FactorRule &rule,
                                           OpSharding choice) {
  // 1. In the place of positions, channels or heads.
  const Axes shared = mesh.parts(AxisKind::Context);
  drop(choice, shared);
  Sharding rows = choice.of(rule.operands[0]);
  rows.dims[1] = shared;
  const xf::DimFactors &dealt = rule.operands[0][2];
  for (StringRef axis : shared)
    // Channels that are too few for all devices are whole on each.
    if (!deal(rule, dealt, axis, mesh, choice) &&
        isa<xf::StateScanOp, xf::StateScanGradientOp>(op))
      return op->emitError("D31: ")
             << "axis " << axis << " of " << mesh.size(axis)
             << " devices splits no heads of " << tensorOf(op->getOperand(0));
  // 2. What comes from positions stays as it is wanted, for the gradient.
  if (isa<xf::CausalConvOp>(op))
    keepMoved(op, 0, choice.of(rule.operands[0]));
  if (isa<xf::StateScanOp>(op))
    keepMoved(op, 1, choice.of(rule.operands[1]));
  split(op, rule, choice);
  // 3. What leaves goes back to positions: the scan's result, and gradients by
  // the inputs of convolutions and by the steps.
  if (isa<xf::StateScanOp, xf::CausalConvGradientOp>(op))
    return constrain(op->getResult(0), rows);
  if (isa<xf::StateScanGradientOp>(op)) {
    Sharding steps = rows;
    steps.dims.pop_back();
    return constrain(op->getResult(1), steps);
  }
  return success();
}
