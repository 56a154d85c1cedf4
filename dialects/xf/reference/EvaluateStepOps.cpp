//===- EvaluateStepOps.cpp - Reference evaluation of the update -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/XfOps.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace hocket::xf;

using Tensors = ArrayRef<ReferenceTensor>;
using Results = SmallVectorImpl<ReferenceTensor>;

static ReferenceTensor scalar(double value) {
  return ReferenceTensor(ArrayRef<int64_t>{}, value);
}

LogicalResult GlobalNormOp::evaluate(EvaluationContext &, Tensors operands,
                                     Results &results) {
  double sum = 0;
  bool nonfinite = false;
  for (const ReferenceTensor &grad : operands)
    for (double value : grad.values) {
      sum += value * value;
      nonfinite |= !std::isfinite(value);
    }
  results.push_back(scalar(std::sqrt(sum)));
  results.push_back(scalar(nonfinite));
  return success();
}

LogicalResult GradientScaleOp::evaluate(EvaluationContext &, Tensors operands,
                                        Results &results) {
  double lossScale = getLossScale() ? operands[1][0] : 1;
  double microbatches =
      getCount() ? operands.back()[0] : static_cast<double>(*getMicrobatches());
  double scale = 1 / (lossScale * microbatches);
  double norm = operands[0][0] * scale;
  double maximum = getMaxNorm().convertToDouble();
  if (maximum > 0)
    scale *= std::min(1.0, maximum / (norm + 1e-6));
  results.push_back(scalar(scale));
  results.push_back(scalar(norm));
  return success();
}

LogicalResult BiasCorrectionOp::evaluate(EvaluationContext &, Tensors operands,
                                         Results &results) {
  double beta = getBeta().convertToDouble();
  results.push_back(scalar(-std::expm1(operands[0][0] * std::log(beta))));
  return success();
}

LogicalResult AdvanceStepOp::evaluate(EvaluationContext &, Tensors operands,
                                      Results &results) {
  results.push_back(scalar(operands[0][0] + (1 - operands[1][0])));
  return success();
}

LogicalResult AdamWOp::evaluate(EvaluationContext &, Tensors operands,
                                Results &results) {
  ReferenceTensor p = operands[0], m = operands[2], v = operands[3];
  double rate = operands[4][0], c1 = operands[5][0], c2 = operands[6][0];
  double scale = operands[7][0], skip = operands[8][0];
  double beta1 = getBeta1().convertToDouble();
  double beta2 = getBeta2().convertToDouble();
  double epsilon = getEpsilon().convertToDouble();
  double decay = getWeightDecay().convertToDouble();
  for (int64_t i = 0; skip == 0 && i < p.size(); ++i) {
    double g = operands[1][i] * scale;
    m[i] = beta1 * m[i] + (1 - beta1) * g;
    v[i] = beta2 * v[i] + (1 - beta2) * g * g;
    p[i] = p[i] * (1 - rate * decay) -
           rate * (m[i] / c1) / (std::sqrt(v[i] / c2) + epsilon);
  }
  results.append({std::move(p), std::move(m), std::move(v)});
  return success();
}

LogicalResult SgdOp::evaluate(EvaluationContext &, Tensors operands,
                              Results &results) {
  ReferenceTensor p = operands[0];
  ReferenceTensor b = getBuffer() ? operands[5] : ReferenceTensor();
  double rate = operands[2][0], scale = operands[3][0], skip = operands[4][0];
  double momentum = getMomentum().convertToDouble();
  double decay = getWeightDecay().convertToDouble();
  for (int64_t i = 0; skip == 0 && i < p.size(); ++i) {
    double g = operands[1][i] * scale + decay * p[i];
    if (getBuffer())
      g = b[i] = momentum * b[i] + g;
    p[i] -= rate * g;
  }
  results.push_back(std::move(p));
  if (getBuffer())
    results.push_back(std::move(b));
  return success();
}

LogicalResult LossScaleUpdateOp::evaluate(EvaluationContext &, Tensors operands,
                                          Results &results) {
  double scale = operands[0][0], good = operands[1][0];
  LossScaleAttr policy = getPolicy();
  if (operands[2][0] != 0) {
    scale = std::max(scale * policy.getBackoffFactor().getValueAsDouble(),
                     policy.getMinimum().getValueAsDouble());
    good = 0;
  } else if (++good >= policy.getGrowthInterval()) {
    scale *= policy.getGrowthFactor().getValueAsDouble();
    good = 0;
  }
  results.push_back(scalar(scale));
  results.push_back(scalar(good));
  return success();
}
