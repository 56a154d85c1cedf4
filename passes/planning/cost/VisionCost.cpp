//===- VisionCost.cpp - What images cost the first stage ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/cost/VisionCost.h"

#include "passes/planning/cost/ActivationBytes.h"
#include "passes/planning/cost/BlockWork.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::planning;

Tower planning::towerOf(const ModelShape &model, const StepShape &step,
                        const ParallelPlan &plan) {
  const VisionShape &vision = model.vision;
  Tower tower{{}, step, plan};
  ModelShape &shape = tower.model;
  shape.layers = vision.layers;
  shape.hidden = vision.hidden;
  shape.heads = shape.kvHeads = vision.heads;
  shape.headDim = vision.hidden / vision.heads;
  shape.ffn = vision.ffn;
  shape.bidirectional = true;
  shape.dropout = false;
  tower.step.sequence = vision.rows;
  tower.step.elementBits = std::max<int64_t>(step.elementBits, 16);
  tower.step.block = 0;
  tower.step.trainedPerMillion = vision.towerPerMillion;
  tower.plan.microBatch = plan.microBatch * vision.images;
  tower.plan.sequenceParallel = false;
  tower.plan.cp = 1;
  return tower;
}

namespace {

/// What stands before the layers of a tower, and behind them.
class VisionPricer : public BlockWork {
public:
  /// Of the model whose tower it is. The arguments outlive this.
  VisionPricer(const ModelShape &decoder, const StepShape &decoderStep,
               const ParallelPlan &decoderPlan, const Tower &tower,
               const cluster::OpTimes &times, bool compiled)
      : BlockWork(tower.model, tower.step, tower.plan, times, compiled),
        vision(decoder.vision), out(double(decoder.hidden)),
        texts(double(decoderPlan.microBatch) * double(decoderStep.sequence) /
              double(decoderPlan.cp)) {}

  /// The patches' GEMM; the class and the positions added, and the norm.
  void patches() {
    gemm({tokens, hidden, double(vision.patch)});
    double row = element * tokens * hidden;
    moved(4 * tokens * double(vision.patch) + 6 * row, 8 * row, 4);
  }

  /// Two GEMMs and an activation, with biases; and the rows where they stand.
  void projector() {
    double goesBack = vision.towerPerMillion > 0 ? 1 : 0,
           backward = vision.hasBackward() ? 1 : 0;
    product({tokens, out / tp, hidden}, goesBack + vision.projectorTrained());
    product({tokens, out, out / tp}, backward + vision.projectorTrained());
    double inner = element * tokens * out / tp, row = element * tokens * out,
           text = element * texts * out;
    moved(2 * inner + 2 * text + row,
          backward * (3 * inner + 2 * text + 2 * row), 4);
    if (plan.tp == 1)
      return;
    double seconds = times.allReduce(element * tokens * out, {plan.tp, 1});
    work.forward.tensor += seconds;
    work.forward.host += times.software().host_collective_seconds();
    if (goesBack == 0)
      return;
    // The gradient of what the tower made.
    work.backward.tensor +=
        times.allReduce(element * tokens * hidden, {plan.tp, 1});
    work.backward.host += times.software().host_collective_seconds();
  }

private:
  /// One GEMM forward and so many backward.
  void product(const cluster::Gemm &shape, double backward) {
    double seconds = times.gemm16(shape);
    work.forward.gemms += seconds;
    work.backward.gemms += backward * seconds;
    launch(work.forward, 1);
    launch(work.backward, backward);
  }

  const VisionShape &vision;
  double out, texts; ///< The decoder's hidden size, and its tokens.
};

} // namespace

PassWork planning::visionWork(const ModelShape &model, const StepShape &step,
                              const ParallelPlan &plan,
                              const cluster::OpTimes &all, bool compiled) {
  PassWork work;
  if (model.vision.layers == 0)
    return work;
  Tower tower = towerOf(model, step, plan);
  cluster::OpTimes times(all.system(), tower.step.elementBits);
  LayerKind kind = LayerKinds(tower.model)[0];
  VisionPricer before(model, step, plan, tower, times, compiled);
  before.patches();
  work = before.result();
  PassWork layer =
      layerWork(tower.model, tower.step, tower.plan, kind, times, compiled);
  RecomputeModules again = plan.modulesAgain(compiled);
  if (!again.empty())
    layer.again = modulesWork(tower.model, tower.step, tower.plan, kind, times,
                              again, compiled);
  if (compiled && plan.recompute == Recompute::Full)
    layer.again =
        neededAgainWork(tower.model, tower.step, tower.plan, kind, times);
  work += layer * double(model.vision.layers);
  if (model.vision.towerPerMillion == 0)
    work.backward = work.again = {};
  VisionPricer behind(model, step, plan, tower, times, compiled);
  behind.projector();
  work += behind.result();
  return work;
}

VisionBytes planning::visionBytes(const ModelShape &model,
                                  const StepShape &step,
                                  const ParallelPlan &plan, bool fused,
                                  bool compiled) {
  VisionBytes bytes;
  const VisionShape &vision = model.vision;
  if (vision.layers == 0 || !vision.hasBackward())
    return bytes;
  Tower tower = towerOf(model, step, plan);
  double element = step.elementBits == 32 ? 4 : 2, tp = double(plan.tp);
  double tokens = double(tower.plan.microBatch) * double(vision.rows);
  double row = element * tokens * double(vision.hidden),
         inner = element * tokens * double(model.hidden) / tp,
         out = element * tokens * double(model.hidden);
  // What the projector's GEMMs and its activation read.
  double inputs = vision.projectorPerMillion > 0 ? row + inner : 0;
  bytes.projectorKept = std::llround(inputs + inner);
  bytes.kept = bytes.projectorKept;
  bytes.toWeight = std::llround(inputs);
  bytes.gradients =
      vision.projectorPerMillion > 0 ? std::llround(inner + out) : 0;
  bytes.inside = std::llround(out + 2 * inner);
  if (vision.towerPerMillion == 0)
    return bytes;
  ActivationBytes layers(tower.model, tower.step, tower.plan, fused, compiled);
  const int64_t counts[] = {vision.layers};
  // Patches, and what the norm before the first layer reads.
  double patches = element * tokens * double(vision.patch);
  bytes.kept += layers.ofLayers(counts) + std::llround(patches + row);
  bytes.toWeight += layers.ofWeightInputs(counts) + std::llround(patches);
  bytes.gradients += layers.ofWeightGradients(counts) + std::llround(row);
  double rows = plan.tp > 1 ? 4 : 5;
  bytes.inside = std::max(bytes.inside,
                          int64_t(std::llround(rows * layers.ofStream())) +
                              layers.ofLayerAgain(LayerKinds(tower.model)[0]));
  return bytes;
}
