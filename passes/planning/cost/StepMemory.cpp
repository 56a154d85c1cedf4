//===- StepMemory.cpp - Bytes of every pipeline rank ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/cost/ActivationBytes.h"
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

std::vector<RankParameters> planning::rankParameters(const ModelShape &model,
                                                     const ParallelPlan &plan,
                                                     Placement placement) {
  PipelineShape shape{plan.pp, plan.chunks, 1, placement};
  std::vector<RankParameters> ranks(size_t(plan.pp));
  std::vector<int64_t> layers = layersOf(plan, model);
  double tp = double(plan.tp);
  double expertShards = double(plan.ep * plan.expertTp);
  int64_t layer = 0, last = plan.stages() - 1;
  for (int64_t stage = 0; stage <= last; ++stage) {
    RankParameters &rank = ranks[size_t(shape.rankOf(stage))];
    for (int64_t end = layer + layers[size_t(stage)]; layer < end; ++layer) {
      bool experts = model.hasExperts(layer);
      rank.dense += model.sharedParameters(experts) / tp;
      if (experts)
        rank.experts += model.expertParameters() / expertShards;
    }
    if (stage == 0)
      rank.dense += model.embeddingParameters() / tp;
    if (stage == last) {
      // A tied head on another rank than the embedding is a copy of it.
      bool copy = model.tied && shape.rankOf(0) != shape.rankOf(last);
      rank.dense +=
          (model.headParameters() + (copy ? model.embeddingParameters() : 0)) /
          tp;
    }
  }
  return ranks;
}

/// Bytes of a parameter's copies: read by products, gradient, and the rest.
static std::array<double, 3> bytesOfParameter(const StepShape &step) {
  if (step.elementBits == 32)
    return {4, 4, 8};
  return {2, 4, 12};
}

/// Of a compiled program, beside the residuals of all microbatches in flight: a
/// layer's gradients on the stream, in the forms that collectives leave them
/// in, and two weights' before they are scattered.
static int64_t workspaceBytes(const ModelShape &model, const ParallelPlan &plan,
                              const ActivationBytes &activations) {
  double stream = (plan.sequenceParallel ? 7 : 3) * activations.ofStream();
  double weight = double(model.hidden) *
                  double(std::max(model.ffn, model.expertFfn)) /
                  double(plan.tp);
  return std::llround(stream + (plan.zero >= 2 ? 2 * 4 * weight : 0));
}

std::vector<RankMemory> planning::rankMemory(const CostProblem &problem,
                                             const ParallelPlan &plan,
                                             const std::vector<int64_t> &live) {
  const ModelShape &model = problem.model;
  bool fused = problem.system.software().attention() > 0;
  ActivationBytes activations(model, problem.step, plan, fused,
                              problem.compiled);
  Placement placement = stagePlacement(plan);
  PipelineShape shape{plan.pp, plan.chunks, 1, placement};
  std::vector<RankParameters> parameters =
      rankParameters(model, plan, placement);
  std::array<double, 3> each = bytesOfParameter(problem.step);
  double dense = double(plan.dp * plan.cp);
  double expert =
      double(plan.dp * plan.cp * plan.tp) / double(plan.ep * plan.expertTp);
  std::vector<RankMemory> ranks(size_t(plan.pp));
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const RankParameters &held = parameters[rank];
    double sharded = held.dense / dense + held.experts / expert;
    for (int part = 0; part < 3; ++part) {
      bool shards = plan.zero >= 3 - part;
      ranks[rank].items[size_t(part)] =
          std::llround(each[size_t(part)] * (shards ? sharded : held.all()));
    }
    ranks[rank][MemoryItem::Activations] = live[rank];
    ranks[rank][MemoryItem::Workspace] = activations.ofOneLayerAgain();
    if (problem.compiled && plan.pp > 1)
      ranks[rank][MemoryItem::Workspace] +=
          workspaceBytes(model, plan, activations);
    if (plan.zero == 3) // Two layers at a time are gathered.
      ranks[rank][MemoryItem::Workspace] += std::llround(
          2 * each[0] * held.all() * double(plan.pp) / double(model.layers));
    if (int64_t(rank) == shape.rankOf(plan.stages() - 1))
      ranks[rank][MemoryItem::Logits] = activations.ofLoss();
  }
  return ranks;
}
