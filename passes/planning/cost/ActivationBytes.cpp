//===- ActivationBytes.cpp - What a layer keeps for its backward ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/cost/ActivationBytes.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::planning;

ActivationBytes::ActivationBytes(const ModelShape &model, const StepShape &step,
                                 const ParallelPlan &plan, bool fused)
    : model(model), step(step), plan(plan), fused(fused),
      tokens(double(plan.microBatch) * double(step.sequence) / double(plan.cp)),
      tp(double(plan.tp)), whole(plan.sequenceParallel ? tokens / tp : tokens),
      element(step.elementBits == 32 ? 4 : 2) {}

/// The norm's input, the products' input, query, key, value, the projection's
/// input and a mask of dropout; scores, their softmax and its mask.
double ActivationBytes::attention(Recompute recompute) const {
  double q = double(model.heads * model.headDim) / tp;
  double kv = std::max(1.0, double(model.kvHeads) / tp) * double(model.headDim);
  double rows = whole * double(model.hidden) * (2 * element + 1);
  double heads = tokens * element * (2 * q + 2 * kv);
  if (fused || recompute != Recompute::None)
    return rows + heads;
  double scores = tokens * double(step.sequence) * double(model.heads) / tp;
  return rows + heads + scores * (2 * element + 1);
}

/// The norm's and the first product's input, a mask; what the activation reads
/// and writes.
double ActivationBytes::mlp(double width) const {
  double rows = whole * double(model.hidden) * (2 * element + 1);
  double wide = model.gated ? 3 : 2;
  return rows + tokens * element * wide * width / tp;
}

/// Of tokens that go to experts: once permuted, once computed.
double ActivationBytes::routed() const {
  double tokensHere = tokens * double(model.topK) / tp;
  double wide = model.gated ? 3 : 2;
  return tokensHere * element *
         (2 * double(model.hidden) + wide * double(model.expertFfn));
}

double ActivationBytes::kept(bool experts, Recompute recompute) const {
  if (recompute == Recompute::Full)
    return whole * double(model.hidden) * element;
  double bytes = attention(recompute);
  if (!experts)
    return bytes + mlp(double(model.ffn));
  return bytes + mlp(double(model.sharedFfn)) + routed();
}

int64_t ActivationBytes::ofLayers(int64_t dense, int64_t experts) const {
  double bytes = double(dense) * kept(false, plan.recompute);
  if (experts > 0)
    bytes += double(experts) * kept(true, plan.recompute);
  return std::llround(bytes);
}

int64_t ActivationBytes::ofOneLayerAgain() const {
  if (plan.recompute == Recompute::None)
    return 0;
  bool experts = model.experts > 0;
  return std::llround(kept(experts, Recompute::None) -
                      kept(experts, plan.recompute));
}

int64_t ActivationBytes::ofLoss() const {
  double rows = whole * double(model.hidden) * 2 * element;
  double logits = tokens * double(model.vocab) / tp;
  return std::llround(rows + logits * (element + 4));
}
