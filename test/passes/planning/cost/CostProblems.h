//===- CostProblems.h - Small problems to price -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_PASSES_PLANNING_COST_COSTPROBLEMS_H
#define HOCKET_TEST_PASSES_PLANNING_COST_COSTPROBLEMS_H

#include "passes/planning/cost/StepCost.h"
#include "runtime/cluster/Systems.h"

namespace hocket::planning {

/// A GPT of Megatron's, for 2,048 tokens.
inline ModelShape gpt(int64_t layers, int64_t hidden, int64_t heads) {
  ModelShape model;
  model.layers = layers;
  model.hidden = hidden;
  model.heads = model.kvHeads = heads;
  model.headDim = hidden / heads;
  model.ffn = 4 * hidden;
  model.vocab = 51200;
  model.positions = 2048;
  return model;
}

inline CostProblem problemOn(const std::string &system, int64_t devices,
                             ModelShape model, int64_t batch) {
  CostProblem problem;
  problem.model = std::move(model);
  problem.step = {2048, batch};
  problem.system = *cluster::systemNamed(system);
  problem.devices = devices;
  return problem;
}

} // namespace hocket::planning

#endif // HOCKET_TEST_PASSES_PLANNING_COST_COSTPROBLEMS_H
