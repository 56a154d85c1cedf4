//===- ModelShape.cpp - The sizes that a price depends on -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/cost/ModelShape.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::planning;

double StateSpace::parameters(int64_t hidden) const {
  double in = double(2 * inner() + 2 * groups * state + heads);
  // The convolution with its bias, three numbers a head, the gated norm.
  double small = double((convolution + 1) * channels() + 3 * heads + inner());
  return double(hidden) * (in + double(inner())) + small;
}

double StateSpace::scanFlops() const {
  double square = double(chunk) * double(groups * state + inner());
  return 2 * square + 4 * double(inner() * state);
}

double ModelShape::windowShare() const {
  if (window == 0)
    return 0;
  int64_t blocks = attentionBlocks ? attentionBlocks : layers;
  return windowBlocks ? double(windowBlocks) / double(blocks) : 1;
}

double ModelShape::scoreWidth() const {
  if (latent.keyValueRank == 0)
    return double(heads * headDim);
  return double(heads *
                (latent.plainDim + latent.rotaryDim + latent.valueDim)) /
         2;
}

double ModelShape::attentionParameters() const {
  double h = double(hidden), n = double(heads);
  if (latent.keyValueRank > 0) {
    double q = double(latent.queryRank), kv = double(latent.keyValueRank);
    double plain = double(latent.plainDim), rotary = double(latent.rotaryDim),
           value = double(latent.valueDim);
    return h * q + q * n * (plain + rotary) + h * (kv + rotary) +
           kv * n * (plain + value) + n * value * h;
  }
  double q = double(heads * headDim), kv = double(kvHeads * headDim);
  return h * (q + 2 * kv) + q * h;
}

double ModelShape::mixerParameters() const {
  return attentionPerLayer() * attentionParameters() +
         stateSpacePerLayer() * stateSpace.parameters(hidden);
}

/// Matrices to and from the width that experts work on.
static double latentParameters(const ModelShape &model) {
  return 2 * double(model.hidden) * double(model.expertLatent);
}

double ModelShape::sharedParameters(bool expertLayer) const {
  double h = double(hidden);
  double norms = h * (1 + attentionPerLayer() + stateSpacePerLayer());
  double mlp = expertLayer ? h * double(sharedFfn) * double(matrices()) +
                                 h * double(experts) + latentParameters(*this)
                           : h * double(ffn) * double(matrices());
  return mixerParameters() + mlp + norms;
}

double ModelShape::expertParameters() const {
  return double(experts) * double(expertWidth()) * double(expertFfn) *
         double(matrices());
}

double ModelShape::embeddingParameters() const {
  return double(hidden) * double(vocab + positions);
}

double ModelShape::headParameters() const {
  return double(hidden) * (tied ? 1 : double(vocab) + 1);
}

double ModelShape::parameters() const {
  double experts = double(expertLayers());
  double dense = double(layers) - experts;
  return dense * sharedParameters(false) +
         double(predicted * 2 * hidden * hidden) +
         experts * (sharedParameters(true) + expertParameters()) +
         embeddingParameters() + headParameters();
}

/// The mean over attention blocks of the tokens that one sees, before the half
/// that is not causal is left out.
static double meanSpan(const ModelShape &model, const StepShape &step) {
  double all = double(step.sequence), share = model.windowShare();
  return (1 - share) * all + share * std::min(double(model.window), all);
}

static double flops(const ModelShape &model, const StepShape &step,
                    double square) {
  double h = double(model.hidden), tokens = step.tokens();
  double f = double(model.matrices()), predicted = double(model.predicted);
  double layers = double(model.layers);
  double expertLayers = double(model.expertLayers());
  double dense = layers - expertLayers;
  double each = double(model.expertWidth() * model.topK * model.expertFfn) +
                h * double(model.sharedFfn);
  double experts =
      f * each + h * double(model.experts) + latentParameters(model);
  const StateSpace &scans = model.stateSpace;
  double attentions = layers * model.attentionPerLayer();
  double blocks = layers * model.stateSpacePerLayer();
  double gemms = attentions * model.attentionParameters() +
                 blocks * h *
                     double(3 * scans.inner() + 2 * scans.groups * scans.state +
                            scans.heads) +
                 dense * f * h * double(model.ffn) + expertLayers * experts +
                 predicted * 2 * h * h +
                 (1 + predicted) * h * double(model.vocab);
  double scores =
      tokens * meanSpan(model, step) * attentions * model.scoreWidth();
  double scan = 21 * tokens * blocks * double(scans.inner() * scans.state);
  return (4 + 2 * step.trained()) * tokens * gemms + square * scores + scan;
}

double planning::modelFlops(const ModelShape &model, const StepShape &step) {
  return flops(model, step, model.bidirectional ? 12 : 6);
}

double planning::modelFlopsFullSquare(const ModelShape &model,
                                      const StepShape &step) {
  return flops(model, step, 12);
}

Status planning::checkShapes(const ModelShape &model, const StepShape &step) {
  constexpr int64_t most = int64_t(1) << 31;
  for (int64_t size :
       {model.layers, model.hidden, model.heads, model.kvHeads, model.headDim,
        model.ffn, model.vocab, step.sequence, step.globalBatch})
    if (size < 1 || size > most)
      return invalidArgument(
          "the model's layers, hidden size, heads, ffn and vocabulary, the "
          "sequence and the batch are numbers from 1 to 2^31");
  if (model.experts < 0 || model.experts > most ||
      (model.experts > 0 && (model.topK < 1 || model.topK > model.experts ||
                             model.expertFfn < 1 || model.expertFfn > most)))
    return invalidArgument("a token goes through at least one expert and at "
                           "most all of them");
  if (model.heads % model.kvHeads != 0)
    return invalidArgument("key/value heads divide the query heads");
  const StateSpace &scans = model.stateSpace;
  if (scans.blocks > 0 && (std::min({scans.heads, scans.headDim, scans.state,
                                     scans.groups, scans.chunk}) < 1 ||
                           scans.heads % scans.groups != 0))
    return invalidArgument("a state-space block has heads, a state and groups "
                           "that divide the heads");
  return okStatus();
}
