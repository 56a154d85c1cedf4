//===- StepMemory.cpp - Bytes of every pipeline rank ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/cost/ActivationBytes.h"
#include "passes/planning/cost/CompiledWorkspace.h"
#include "passes/planning/cost/RankParameters.h"
#include "passes/planning/cost/StepCost.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::planning;

std::string_view planning::spelled(MemoryItem item) {
  constexpr std::string_view names[kMemoryItems] = {"parameters", "gradients",
                                                    "optimizer",  "activations",
                                                    "logits",     "workspace"};
  return names[size_t(item)];
}

int64_t RankMemory::total() const {
  int64_t sum = 0;
  for (int64_t bytes : items)
    sum += bytes;
  return sum;
}

int64_t RankMemory::hostTotal() const {
  int64_t sum = 0;
  for (int64_t bytes : host)
    sum += bytes;
  return sum;
}

std::vector<RankParameters> planning::rankParameters(const ModelShape &model,
                                                     const ParallelPlan &plan,
                                                     Placement placement) {
  PipelineShape shape{plan.pp, plan.chunks, 1, placement};
  std::vector<RankParameters> ranks(size_t(plan.pp));
  std::vector<double> ends(size_t(plan.pp));
  std::vector<int64_t> layers = layersOf(plan, model);
  double tp = double(plan.tp);
  double expertShards = double(plan.ep * plan.expertTensor());
  LayerKinds kinds(model);
  std::vector<double> shared(kinds.size());
  for (size_t kind = 0; kind < kinds.size(); ++kind)
    shared[kind] = model.sharedParameters(kinds[kind]) / tp +
                   kinds[kind].stateSpace * model.stateSpace.sharedParameters(
                                                model.hidden, plan.tp) +
                   kinds[kind].attention * (1 - 1 / tp) *
                       model.latent.wholeParameters(model.hidden);
  int64_t layer = 0, last = plan.stages() - 1;
  int64_t inputStage = inputStageOf(model, plan);
  for (int64_t stage = 0; stage <= last; ++stage) {
    RankParameters &rank = ranks[size_t(shape.rankOf(stage))];
    for (int64_t end = layer + layers[size_t(stage)]; layer < end; ++layer) {
      size_t kind = kinds.kindOf(layer);
      rank.dense += shared[kind];
      if (kinds[kind].experts)
        rank.experts += model.expertParameters() / expertShards;
    }
    rank.layers = rank.all();
    double rows = double(model.hidden * model.vocab);
    if (stage == 0) // Positions are whole on every tensor rank.
      ends[size_t(shape.rankOf(0))] +=
          rows / tp + (model.embeddingParameters() - rows);
    // Where the decoder's layers begin elsewhere than the encoder's, a copy.
    bool isCopied =
        shape.rankOf(inputStage) != 0 &&
        !(model.tied && shape.rankOf(inputStage) == shape.rankOf(last));
    if (stage == inputStage && isCopied)
      ends[size_t(shape.rankOf(stage))] += rows / tp;
    if (stage == last) {
      double hidden = double(model.hidden); // Of further predictions.
      ends[size_t(shape.rankOf(last))] +=
          2 * hidden * hidden * double(model.predicted) / tp;
      // A tied head on another rank than the embedding is a copy of its rows.
      bool isClasses = model.classes > 0; // Whole on every tensor rank.
      bool copy = model.tied && shape.rankOf(0) != shape.rankOf(last);
      ends[size_t(shape.rankOf(last))] +=
          (model.headParameters() + (copy ? rows : 0)) / (isClasses ? 1 : tp);
    }
  }
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    ranks[rank].dense += ends[rank];
  RankParameters &first = ranks[size_t(shape.rankOf(0))];
  const VisionShape &vision = model.vision;
  first.vision = vision.towerParameters(plan.tp) +
                 vision.projectorParameters(model.hidden, plan.tp);
  first.visionTrained = vision.trainedParameters(model.hidden, plan.tp);
  return ranks;
}

std::array<double, 3> planning::bytesOfParameter(const StepShape &step) {
  if (step.elementBits == 32)
    return {4, 4, 8};
  return {2, 4, 12};
}

/// Takes to the host what the plan offloads; `ofLayer`: what a layer keeps.
static void offload(const CostProblem &problem, const ParallelPlan &plan,
                    int64_t ofLayer, RankMemory &memory) {
  auto take = [&](MemoryItem item, int64_t inFlight) {
    int64_t all = memory[item];
    memory.host[size_t(item)] = all;
    memory[item] = 0;
    memory[MemoryItem::Workspace] += std::min(all, inFlight);
  };
  int64_t held = memory[MemoryItem::Optimizer];
  // A layer's is updated while the next one's comes and the last one's goes.
  if (plan.offloadsOptimizer())
    take(MemoryItem::Optimizer, 3 * held * plan.pp / problem.model.layers);
  if (plan.offloadsActivations())
    take(MemoryItem::Activations, 3 * ofLayer);
}

/// Parameters, gradients and the optimizer's state, sharded as ZeRO has it.
static void fillState(const CostProblem &problem, const ParallelPlan &plan,
                      const RankParameters &held, RankMemory &memory) {
  std::array<double, 3> each = bytesOfParameter(problem.step);
  double dense = double(plan.dp * plan.cp);
  double expert = double(plan.dp * plan.cp * plan.tp) /
                  double(plan.ep * plan.expertTensor());
  double sharded = held.dense / dense + held.experts / expert;
  for (int part = 0; part < 3; ++part) {
    bool shards = plan.zero >= 3 - part;
    double share = part == 0 ? 1 : problem.step.trained();
    double vision = part == 0 ? held.vision : held.visionTrained;
    double numbers =
        share * (shards ? sharded : held.all()) + vision / (shards ? dense : 1);
    memory.items[size_t(part)] = std::llround(each[size_t(part)] * numbers);
  }
}

/// One microbatch alone gives up as many residuals as it leaves gradients: the
/// two are not whole at once.
static void overlapGradients(const RankParameters &held, RankMemory &memory) {
  int64_t &gradients = memory[MemoryItem::Gradients];
  int64_t ofLayers = std::llround(double(gradients) * held.layers / held.all());
  gradients -= std::min(ofLayers, memory[MemoryItem::Activations] +
                                      memory[MemoryItem::Logits]);
}

std::vector<RankMemory> planning::rankMemory(const CostProblem &problem,
                                             const ParallelPlan &plan,
                                             const std::vector<int64_t> &live) {
  const ModelShape &model = problem.model;
  bool fused = problem.system.software().attention() > 0;
  ActivationBytes activations(model, problem.step, plan, fused,
                              problem.compiled);
  KindsOfRanks kinds(model, plan);
  CompiledWorkspace compiled(problem, plan, activations, kinds);
  Placement placement = stagePlacement(plan);
  int64_t headRank = PipelineShape{plan.pp, plan.chunks, 1, placement}.rankOf(
      plan.stages() - 1);
  // A split backward keeps the logits' gradient, in their place; one in chunks
  // is not kept.
  bool keepsApart = problem.compiled && !problem.step.isFrozen() &&
                    plan.lossChunks == 1 && splitsWeight(plan.scheduleName());
  bool isOnePass = plan.pp == 1 && microbatchesOf(plan, problem.step) == 1;
  std::vector<RankParameters> parameters =
      rankParameters(model, plan, placement);
  std::vector<RankMemory> ranks(size_t(plan.pp));
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const RankParameters &held = parameters[rank];
    RankMemory &memory = ranks[rank];
    fillState(problem, plan, held, memory);
    if (problem.compiled && plan.zero < 2)
      memory[MemoryItem::Gradients] +=
          std::llround(kinds.wholeGradients(int64_t(rank), model, plan.tp) *
                       (1 - 1 / double(plan.tp)) * problem.step.trained());
    memory[MemoryItem::Activations] = live[rank];
    if (int64_t(rank) == headRank && !keepsApart)
      memory[MemoryItem::Logits] = activations.ofLoss();
    memory[MemoryItem::Workspace] =
        problem.compiled
            ? compiled.of(int64_t(rank), held, memory)
            : kinds.mostOf(int64_t(rank), [&](const LayerKind &kind) {
                return activations.ofLayerAgain(kind);
              });
    if (problem.compiled && isOnePass)
      overlapGradients(held, memory);
    if (plan.zero == 3 && !problem.compiled) // Two layers are gathered.
      memory[MemoryItem::Workspace] +=
          std::llround(2 * bytesOfParameter(problem.step)[0] * held.all() *
                       double(plan.pp) / double(model.layers));
    if (plan.offload != Offload::None)
      offload(problem, plan,
              kinds.mostOf(int64_t(rank),
                           [&](const LayerKind &kind) {
                             return activations.ofLayer(kind);
                           }),
              memory);
  }
  return ranks;
}
