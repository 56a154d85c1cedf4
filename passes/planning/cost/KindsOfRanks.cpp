//===- KindsOfRanks.cpp - Layers of pipeline ranks by kind ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/cost/KindsOfRanks.h"

#include "passes/planning/cost/RankParameters.h"

using namespace hocket;
using namespace hocket::planning;

KindsOfRanks::KindsOfRanks(const ModelShape &model, const ParallelPlan &plan)
    : kinds(model), counts(size_t(plan.pp) * kinds.size()),
      lastStages(size_t(plan.pp)) {
  PipelineShape shape{plan.pp, plan.chunks, 1, stagePlacement(plan)};
  std::vector<int64_t> layers = planning::layersOf(plan, model);
  int64_t first = 0;
  for (int64_t stage = 0; stage < plan.stages(); ++stage) {
    int64_t end = first + layers[size_t(stage)];
    size_t rank = size_t(shape.rankOf(stage));
    for (size_t kind = 0; kind < kinds.size(); ++kind)
      counts[rank * kinds.size() + kind] += kinds.layersOf(kind, first, end);
    lastStages[rank] = {first, end};
    first = end;
  }
}

double KindsOfRanks::wholeGradients(int64_t rank, const ModelShape &model,
                                    int64_t tp) const {
  double blocks = 0;
  std::span<const int64_t> layers = layersOf(rank);
  for (size_t kind = 0; kind < kinds.size(); ++kind)
    blocks += double(layers[kind]) * kinds[kind].stateSpace;
  return model.stateSpace.gathersNorm(tp)
             ? 4 * blocks * double(model.hidden * model.stateSpace.inner())
             : 0;
}
