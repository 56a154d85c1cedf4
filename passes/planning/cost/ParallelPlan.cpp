//===- ParallelPlan.cpp - Plans of a model's sizes ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/cost/ParallelPlan.h"

#include "dialects/plan/PlanRules.h"
#include "passes/planning/ScheduleGenerators.h"

#include <algorithm>
#include <numeric>

using namespace hocket;
using namespace hocket::planning;

int64_t planning::microbatchesOf(const ParallelPlan &plan,
                                 const StepShape &step) {
  return step.globalBatch / (plan.dp * plan.microBatch);
}

int64_t planning::batchUnit(const StepShape &step) {
  int64_t unit = step.globalBatch;
  for (int64_t batch : step.smallerBatches)
    unit = std::gcd(unit, batch);
  return unit;
}

std::vector<int64_t> planning::divisors(int64_t number, int64_t most) {
  std::vector<int64_t> found;
  for (int64_t divisor = 1; divisor <= std::min(number, most); ++divisor)
    if (number % divisor == 0)
      found.push_back(divisor);
  return found;
}

std::vector<int64_t> planning::evenLayers(int64_t layers, int64_t stages) {
  std::vector<int64_t> split(static_cast<size_t>(stages), layers / stages);
  int64_t left = layers % stages, first = (stages - left) / 2;
  // One stage more at the front than at the back where they do not pair up.
  for (int64_t stage = 0; stage < left; ++stage)
    ++split[static_cast<size_t>(first + stage)];
  return split;
}

std::vector<int64_t> planning::layersOf(const ParallelPlan &plan,
                                        const ModelShape &model) {
  if (!plan.layers.empty())
    return plan.layers;
  int64_t first = plan.countEmbedding, last = plan.countHead;
  std::vector<int64_t> layers =
      evenLayers(model.layers + first + last, plan.stages());
  layers.front() -= first;
  layers.back() -= last;
  return layers;
}

std::vector<double> planning::streamsBetweenStages(const ModelShape &model,
                                                   const StepShape &step,
                                                   const ParallelPlan &plan) {
  std::vector<double> streams;
  LayerKinds kinds(model);
  int64_t encoder = kinds.encoderLayers(), end = 0;
  // What is encoded goes from where it is made, or from the beginning, to the
  // last layer that attends to it.
  int64_t made = encoder > 0 ? 0 : model.layers, last = -1;
  for (int64_t layer = 0; layer < model.layers; ++layer) {
    const LayerKind &kind = kinds[kinds.kindOf(layer)];
    made = kind.encodes > 0 ? std::min(made, layer) : made;
    last = kind.crosses ? layer : last;
  }
  std::vector<int64_t> layers = layersOf(plan, model);
  for (int64_t stage = 0; stage + 1 < plan.stages(); ++stage) {
    end += layers[size_t(stage)];
    double own = encoder == 0 || end > encoder ? 1 : 0;
    bool crosses = made < end && end <= last;
    streams.push_back(own + (crosses ? step.crossShare() : 0));
  }
  return streams;
}

int64_t planning::inputStageOf(const ModelShape &model,
                               const ParallelPlan &plan) {
  int64_t encoder = LayerKinds(model).encoderLayers(), stage = 0;
  std::vector<int64_t> layers = layersOf(plan, model);
  for (int64_t end = layers[0]; encoder > 0 && end <= encoder;)
    end += layers[size_t(++stage)];
  return stage;
}

bool planning::splitsWeight(std::string_view schedule) {
  const ScheduleTraits *traits = scheduleTraits(schedule);
  return traits && traits->splitsWeights;
}

static Status checkOffload(const ParallelPlan &plan) {
  if (!plan.offloadsActivations() || !splitsWeight(plan.scheduleName()))
    return okStatus();
  return invalidArgument("plan: offload=" + std::string(spelled(plan.offload)) +
                         ": schedule=" + plan.scheduleName() +
                         " splits the backward, and what it keeps for weight "
                         "gradients is not offloaded");
}

/// What programs can have and prices do not know.
static Status checkPriced(const ParallelPlan &plan) {
  std::string what, instead;
  if (plan.recompute == Recompute::Auto)
    what = "recompute=auto", instead = "none, selective or full";
  else if (plan.recomputeBlock || plan.recomputeLayers != 1)
    what = "recomputing some layers in full", instead = "recompute_layers=1";
  else if (plan.balanceCost && plan.layers.empty() && plan.stages() > 1)
    what = "balance_cost", instead = "layers=";
  else if (!plan.shardings.empty())
    what = "shardings", instead = "a plan without it";
  if (what.empty())
    return okStatus();
  return invalidArgument("plan: " + what + " is not priced; write " + instead);
}

PlanSizes planning::planSizes(const ModelShape &model, const StepShape &step) {
  PlanSizes sizes;
  sizes.layers = model.layers;
  sizes.experts = model.experts;
  sizes.classifies = model.classes > 0;
  sizes.encoderLayers = LayerKinds(model).encoderLayers();
  sizes.sequence = step.sequence;
  sizes.encoderSequence = step.encoderSequence;
  sizes.globalBatch = step.globalBatch;
  sizes.smallerBatches = step.smallerBatches;
  sizes.block = step.block;
  sizes.visionHeads = model.vision.heads;
  sizes.headDim = model.headDim;
  LayerKinds kinds(model);
  for (size_t i = 0; i < kinds.size(); ++i) {
    const LayerKind &kind = kinds[i];
    if (kinds.layersOf(i) == 0)
      continue;
    if (kind.attention > 0) {
      sizes.heads = model.heads;
      sizes.kvHeads = model.kvHeads;
    }
    if (kind.ffn > 0 && !std::ranges::count(sizes.ffn, kind.ffn))
      sizes.ffn.push_back(kind.ffn);
    // Published systems exchange heads of state-space blocks over the context
    // axis, and say no kinds.
    if (kind.stateSpace > 0 && !model.kinds.empty()) {
      sizes.stateHeads = model.stateSpace.heads;
      sizes.stateGroups = model.stateSpace.groups;
    }
  }
  sizes.expertFfn = model.expertFfn;
  sizes.sharedFfn = model.sharedFfn;
  return sizes;
}

Status planning::checkPlan(const ParallelPlan &plan, const ModelShape &model,
                           const StepShape &step) {
  std::vector<BrokenRule> broken = brokenRules(plan, planSizes(model, step));
  if (!broken.empty())
    return invalidArgument("S" + std::to_string(broken.front().number) + ": " +
                           broken.front().text);
  HOCKET_RETURN_IF_ERROR(checkScheduleName(plan.scheduleName()));
  HOCKET_RETURN_IF_ERROR(checkPriced(plan));
  return checkOffload(plan);
}
