//===- Optimizer.cpp - The update of parameters and scalars ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/conversion/PipeToKern/Lowering.h"
#include "passes/kern/RegionBuilder.h"

#include <cmath>

using namespace mlir;

namespace hocket::kern {

/// A region over all elements in a flat space; `elements` are full, `scalars`
/// scalar, and results full.
static Values flat(OpBuilder &builder, Operation *op, StringRef label,
                   ValueRange elements, ValueRange scalars, ScalarFn code) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  RegionShape shape{label, flatSpace(type.getNumElements()), {}, {}, {}};
  bool single = shape.space == Space{1, 1};
  for (Value tensor : elements)
    shape.operands.push_back({tensor, single ? Access::Scalar : Access::Full});
  for (Value tensor : scalars)
    shape.operands.push_back({tensor, Access::Scalar});
  for (Type result : op->getResultTypes())
    shape.results.push_back({result, single ? Access::Scalar : Access::Full});
  auto rows = buildRows(builder, op->getLoc(), shape, code);
  return Values(rows.getOutputs());
}

Values lower(OpBuilder &builder, xf::AdamWOp op) {
  double beta1 = op.getBeta1().convertToDouble();
  double beta2 = op.getBeta2().convertToDouble();
  double epsilon = op.getEpsilon().convertToDouble();
  double decay = op.getWeightDecay().convertToDouble();
  auto code = [&](ArrayRef<Scalar> in) -> SmallVector<Scalar> {
    Scalar p = in[0], m = in[2], v = in[3], rate = in[4], c1 = in[5],
           c2 = in[6], skip = notZero(in[8]);
    Scalar g = in[1] * in[7];
    Scalar m1 = beta1 * m + (1.0 - beta1) * g;
    Scalar v1 = beta2 * v + (1.0 - beta2) * (g * g);
    Scalar change = (rate / c1) * m1 / (sqrt(v1 / c2) + epsilon);
    Scalar kept = decay == 0.0 ? p : p * (1.0 - decay * rate);
    return {select(skip, p, kept - change), select(skip, m, m1),
            select(skip, v, v1)};
  };
  return flat(builder, op, "adamw",
              {op.getParam(), op.getGrad(), op.getExpAvg(), op.getExpAvgSq()},
              {op.getLearningRate(), op.getCorrection1(), op.getCorrection2(),
               op.getScale(), op.getSkip()},
              code);
}

Values lower(OpBuilder &builder, xf::SgdOp op) {
  double momentum = op.getMomentum().convertToDouble();
  double decay = op.getWeightDecay().convertToDouble();
  bool buffered = static_cast<bool>(op.getBuffer());
  Values elements{op.getParam(), op.getGrad()};
  if (buffered)
    elements.push_back(op.getBuffer());
  auto code = [&](ArrayRef<Scalar> in) -> SmallVector<Scalar> {
    ArrayRef<Scalar> scalars = in.take_back(3);
    Scalar p = in[0], rate = scalars[0], skip = notZero(scalars[2]);
    Scalar g = in[1] * scalars[1];
    if (decay != 0.0)
      g = g + decay * p;
    if (!buffered)
      return {select(skip, p, p - rate * g)};
    Scalar b1 = momentum * in[2] + g;
    return {select(skip, p, p - rate * b1), select(skip, in[2], b1)};
  };
  return flat(builder, op, "sgd", elements,
              {op.getLearningRate(), op.getScale(), op.getSkip()}, code);
}

Values lower(OpBuilder &builder, xf::GradientScaleOp op) {
  double maxNorm = op.getMaxNorm().convertToDouble();
  Values operands{op.getNorm()};
  if (op.getLossScale())
    operands.push_back(op.getLossScale());
  if (op.getCount())
    operands.push_back(op.getCount());
  auto code = [&](ArrayRef<Scalar> in) -> SmallVector<Scalar> {
    Scalar scale =
        op.getCount()
            ? 1.0 / in.back()
            : in[0].constant(1.0 / static_cast<double>(*op.getMicrobatches()));
    if (op.getLossScale())
      scale = scale / in[1];
    Scalar norm = in[0] * scale;
    if (maxNorm > 0.0)
      scale = scale * minimum(maxNorm / (norm + 1e-6), 1.0);
    return {scale, norm};
  };
  return flat(builder, op, "gradient_scale", operands, {}, code);
}

Values lower(OpBuilder &builder, xf::BiasCorrectionOp op) {
  double logBeta = std::log(op.getBeta().convertToDouble());
  auto code = [&](ArrayRef<Scalar> in) -> SmallVector<Scalar> {
    return {-expm1(logBeta * in[0])};
  };
  return flat(builder, op, "bias_correction", op.getStep(), {}, code);
}

Values lower(OpBuilder &builder, xf::AdvanceStepOp op) {
  auto code = [](ArrayRef<Scalar> in) -> SmallVector<Scalar> {
    return {in[0] + (1.0 - in[1])};
  };
  return flat(builder, op, "advance_step", {op.getStep(), op.getSkip()}, {},
              code);
}

Values lower(OpBuilder &builder, xf::LossScaleUpdateOp op) {
  xf::LossScaleAttr policy = op.getPolicy();
  double growth = policy.getGrowthFactor().getValueAsDouble();
  double backoff = policy.getBackoffFactor().getValueAsDouble();
  double least = policy.getMinimum().getValueAsDouble();
  double interval = static_cast<double>(policy.getGrowthInterval());
  auto code = [&](ArrayRef<Scalar> in) -> SmallVector<Scalar> {
    Scalar scale = in[0], good = in[1] + 1.0, bad = notZero(in[2]);
    Scalar zero = scale.constant(0.0), grows = atLeast(good, interval);
    Scalar reduced = maximum(backoff * scale, least);
    return {select(bad, reduced, select(grows, growth * scale, scale)),
            select(bad, zero, select(grows, zero, good))};
  };
  return flat(builder, op, "loss_scale_update",
              {op.getScale(), op.getGoodSteps(), op.getNonfinite()}, {}, code);
}

} // namespace hocket::kern
