//===- StageCosts.cpp - What stages take, before a schedule ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/cost/ActivationBytes.h"
#include "passes/planning/cost/MixerWork.h"
#include "passes/planning/cost/RankParameters.h"
#include "passes/planning/cost/StepCost.h"
#include "passes/planning/cost/VisionCost.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::planning;

/// Seconds that a microbatch's activations take from a stage to the next. Each
/// rank of a tensor group sends its share. Of two stacks it is the mean over
/// the stages.
static double transferSeconds(const CostProblem &problem,
                              const ParallelPlan &plan,
                              const cluster::OpTimes &times) {
  double streams = 0;
  for (double stream : streamsBetweenStages(problem.model, problem.step, plan))
    streams += stream / double(plan.stages() - 1);
  double element = problem.step.elementBits == 32 ? 4 : 2;
  double bytes = element * double(plan.microBatch) *
                 double(problem.step.sequence) * double(problem.model.hidden) /
                 double(plan.cp * plan.tp);
  if (plan.stages() > 1)
    bytes *= streams;
  return times.transfer(bytes, {plan.pp, plan.dp * plan.cp * plan.tp});
}

/// `moved` seconds of offloading run beside each pass.
static ChunkCost chunkCost(const PassWork &work, double blocked, double moved,
                           bool split) {
  double forward = std::max(work.forward.seconds(), moved) + blocked;
  double backward = std::max(work.backwardSeconds(), moved) + blocked;
  double weight = split ? work.backward.gemms / 2 : 0;
  ChunkCost cost;
  cost.forward = std::round(forward * 1e9);
  cost.weight = std::round(weight * 1e9);
  cost.backward = std::round(backward * 1e9) - cost.weight;
  return cost;
}

namespace {

/// What a stage's microbatch keeps. Most stages are alike: those of the one
/// before are found once.
struct StageBytes {
  std::vector<int64_t> layers; ///< Of each kind.
  int64_t kept = 0;
  StageCosts::SplitBytes split;

  void find(const ActivationBytes &bytes, const std::vector<int64_t> &counts,
            bool splitWeight) {
    if (layers == counts)
      return;
    layers = counts;
    kept = bytes.ofLayers(layers);
    if (splitWeight)
      split = {bytes.ofWeightInputs(layers), bytes.ofWeightGradients(layers)};
  }
};

} // namespace

/// As a trace of one device times a layer, the embedding or the head.
static void timeApart(PassWork &part) {
  for (Work *work : {&part.forward, &part.backward, &part.again})
    work->waitForHost();
}

PartWork planning::partWork(const CostProblem &problem,
                            const ParallelPlan &plan) {
  const ModelShape &model = problem.model;
  cluster::System system = problem.system;
  // Programs that Hocket compiles have few of a layer's collectives beside its
  // GEMMs, and are launched as graphs.
  if (problem.compiled) {
    cluster::Software &software = *system.mutable_software();
    software.set_tensor_overlap(0);
    software.clear_weight_overlap();
    software.clear_expert_host_seconds(); // They wait for no sizes.
    software.clear_loss_bytes();
  }
  cluster::OpTimes times(system, problem.step.elementBits);
  PartWork parts;
  RecomputeModules again = plan.modulesAgain(problem.compiled);
  LayerKinds kinds(model);
  for (const LayerKind &kind : kinds.all()) {
    PassWork &layer = parts.layers.emplace_back(
        layerWork(model, problem.step, plan, kind, times, problem.compiled));
    if (!again.empty())
      layer.again = modulesWork(model, problem.step, plan, kind, times, again,
                                problem.compiled);
    if (system.software().latent_again() && !problem.compiled &&
        kind.attention > 0 && plan.recompute != Recompute::Full)
      layer.again += latentAgainWork(model, problem.step, plan, times);
    if (problem.compiled && plan.recompute == Recompute::Full && !kind.experts)
      layer.again = neededAgainWork(model, problem.step, plan, kind, times);
  }
  parts.input = inputWork(model, problem.step, plan, times);
  parts.input += visionWork(model, problem.step, plan, times, problem.compiled);
  if (problem.step.encoderSequence > 0) {
    StepShape ofEncoder = problem.step;
    ofEncoder.sequence = problem.step.encoderSequence;
    parts.encoderInput = inputWork(model, ofEncoder, plan, times);
  }
  parts.output = outputWork(model, problem.step, plan, times);
  PassWork further = predictionWork(model, problem.step, plan, times);
  further += parts.output;
  parts.output += further * double(model.predicted);
  if (times.software().parts_apart() && !problem.compiled) {
    for (PassWork &layer : parts.layers)
      timeApart(layer);
    timeApart(parts.input);
    timeApart(parts.output);
  }
  return parts;
}

StageCosts planning::stageCosts(const CostProblem &problem,
                                const ParallelPlan &plan,
                                const PartWork &parts) {
  const ModelShape &model = problem.model;
  cluster::OpTimes times(problem.system, problem.step.elementBits);
  std::string schedule = plan.scheduleName();

  StageCosts costs;
  PipelineShape &shape = costs.schedule.shape;
  shape = {plan.pp, plan.chunks, microbatchesOf(plan, problem.step),
           stagePlacement(plan)};
  costs.schedule.group = plan.group == plan.pp ? 0 : plan.group;
  costs.schedule.splitWeight = splitsWeight(schedule);
  costs.schedule.caps.assign(size_t(plan.pp), kNoCap);
  costs.schedule.costs.resize(size_t(plan.stages()));
  costs.chunks.resize(size_t(plan.stages()));
  costs.split.resize(size_t(plan.stages()));
  costs.offload.resize(size_t(plan.stages()));
  double seconds = transferSeconds(problem, plan, times);
  bool blocking = times.software().blocking_transfers();
  costs.transferSeconds = blocking ? seconds : 0;
  costs.schedule.transfer = blocking ? 0 : std::round(seconds * 1e9);

  bool fused = times.software().attention() > 0;
  ActivationBytes bytes(model, problem.step, plan, fused, problem.compiled);
  std::vector<int64_t> layers = layersOf(plan, model);
  const VisionBytes seen =
      visionBytes(model, problem.step, plan, fused, problem.compiled);
  StageBytes held;
  LayerKinds kinds(model);
  std::vector<int64_t> counts(kinds.size());
  int64_t layer = 0, inputStage = inputStageOf(model, plan);
  for (int64_t stage = 0; stage < plan.stages(); ++stage) {
    size_t index =
        size_t(shape.rankOf(stage) * plan.chunks + shape.chunkOf(stage));
    PassWork &work = costs.chunks[index];
    int64_t end = layer + layers[size_t(stage)];
    for (size_t kind = 0; kind < counts.size(); ++kind) {
      counts[kind] = kinds.layersOf(kind, layer, end);
      work += parts.layers[kind] * double(counts[kind]);
    }
    if (stage == 0)
      work += parts.encoderInput;
    if (stage == inputStage)
      work += parts.input;
    if (stage == plan.stages() - 1)
      work += parts.output;
    ChunkCost &cost = costs.schedule.costs[index];
    held.find(bytes, counts, costs.schedule.splitWeight);
    int64_t kept = held.kept + (stage == 0 ? seen.kept : 0);
    double moved = plan.offloadsActivations() ? times.toHost(double(kept)) : 0;
    costs.offload[index] = std::max(0.0, moved - work.forward.seconds()) +
                           std::max(0.0, moved - work.backwardSeconds());
    cost = chunkCost(work, costs.transferSeconds, moved,
                     costs.schedule.splitWeight);
    cost.memory = kept;
    cost.kept = cost.memory / 2;
    costs.split[index] = held.split;
    if (stage == 0 && costs.schedule.splitWeight) {
      costs.split[index].toWeight += seen.toWeight;
      costs.split[index].afterBackward += seen.gradients;
    }
    // The gradient of the logits, which the head's weight needs.
    if (stage == plan.stages() - 1 && !problem.step.isFrozen() &&
        plan.lossChunks == 1) {
      costs.logitsToWeight = bytes.ofLoss();
      costs.split[index].afterBackward += costs.logitsToWeight;
    }
    layer = end;
  }
  return costs;
}
