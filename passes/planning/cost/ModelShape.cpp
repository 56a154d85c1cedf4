//===- ModelShape.cpp - The sizes that a price depends on -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/cost/ModelShape.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::planning;

double ModelShape::attentionParameters() const {
  double h = double(hidden), q = double(heads * headDim);
  double kv = double(kvHeads * headDim);
  return h * (q + 2 * kv) + q * h;
}

double ModelShape::sharedParameters(bool expertLayer) const {
  double h = double(hidden), norms = 2 * h;
  double mlp = expertLayer ? h * double(sharedFfn) * double(matrices()) +
                                 h * double(experts)
                           : h * double(ffn) * double(matrices());
  return attentionParameters() + mlp + norms;
}

double ModelShape::expertParameters() const {
  return double(experts) * double(hidden) * double(expertFfn) *
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
         experts * (sharedParameters(true) + expertParameters()) +
         embeddingParameters() + headParameters();
}

static double flops(const ModelShape &model, const StepShape &step,
                    double square) {
  double h = double(model.hidden), tokens = step.tokens();
  double f = double(model.matrices());
  double expertLayers = double(model.expertLayers());
  double dense = (double(model.layers) - expertLayers) * double(model.ffn);
  double routed = double(model.topK * model.expertFfn + model.sharedFfn);
  double gemms = double(model.layers) * model.attentionParameters() +
                 h * f * (dense + expertLayers * routed) +
                 expertLayers * h * double(model.experts) +
                 h * double(model.vocab);
  double span = model.window ? std::min<double>(double(model.window),
                                                double(step.sequence))
                             : double(step.sequence);
  double scores = tokens * span * double(model.layers) *
                  double(model.heads * model.headDim);
  return 6 * tokens * gemms + square * scores;
}

double planning::modelFlops(const ModelShape &model, const StepShape &step) {
  return flops(model, step, 6);
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
  return okStatus();
}
