//===- StepCost.cpp - Time and memory of a training step ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/cost/StepCost.h"

#include "passes/planning/cost/StagePricer.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::planning;

std::string_view planning::spelled(TimeItem item) {
  constexpr std::string_view names[kTimeItems] = {
      "GEMMs",     "attention", "memory-bound kernels",
      "gaps",      "host",      "recompute",
      "tensor",    "context",   "expert",
      "transfers", "shared",    "bubble",
      "data",      "update",    "offload",
      "outside"};
  return names[size_t(item)];
}

int64_t StepCost::nanoseconds() const {
  int64_t sum = 0;
  for (int64_t item : items)
    sum += item;
  return sum;
}

int64_t StepCost::bytes() const { return memory[size_t(fullest)].total(); }

const RankMemory &planning::fullestOf(const std::vector<RankMemory> &ranks) {
  return *std::max_element(ranks.begin(), ranks.end(),
                           [](const RankMemory &a, const RankMemory &b) {
                             return a.total() < b.total();
                           });
}

/// Of the rank with the most.
static int64_t hostBytesOf(const std::vector<RankMemory> &ranks) {
  int64_t most = 0;
  for (const RankMemory &rank : ranks)
    most = std::max(most, rank.hostTotal());
  return most;
}

int64_t StepCost::hostBytes() const { return hostBytesOf(memory); }

bool planning::fits(const CostProblem &problem,
                    const std::vector<RankMemory> &ranks, int64_t memory) {
  return fullestOf(ranks).total() <= memory &&
         hostBytesOf(ranks) <= problem.system.host_memory_bytes();
}

static Status checkRanks(const CostProblem &problem, const ParallelPlan &plan) {
  HOCKET_RETURN_IF_ERROR(checkShapes(problem.model, problem.step));
  HOCKET_RETURN_IF_ERROR(checkPlan(plan, problem.model, problem.step));
  if (plan.offload != Offload::None && !problem.system.has_host_link())
    return invalidArgument(
        "plan: offload=" + std::string(spelled(plan.offload)) +
        ": the description of " + problem.system.name() + " has no host_link");
  if (plan.ranks() == problem.devices)
    return okStatus();
  return invalidArgument(
      "plan: pp * dp * cp * tp is " + std::to_string(plan.ranks()) +
      ", but the cluster has " + std::to_string(problem.devices) + " devices");
}

StatusOr<StepCost> planning::priceStep(const CostProblem &problem,
                                       const ParallelPlan &plan) {
  HOCKET_RETURN_IF_ERROR(checkRanks(problem, plan));
  ScheduleOrders orders;
  return StagePricer(problem, plan,
                     stageCosts(problem, plan, partWork(problem, plan)), orders)
      .price(plan);
}

PriceBound planning::priceBound(const CostProblem &problem,
                                const ParallelPlan &plan,
                                const StageCosts &stages) {
  ScheduleOrders orders;
  StagePricer pricer(problem, plan, stages, orders);
  PriceBound bound;
  bound.nanoseconds = pricer.leastNanoseconds(plan);
  StatusOr<std::vector<RankMemory>> memory = pricer.memory(plan);
  bound.bytes = memory.ok() ? fullestOf(*memory).total() : INT64_MAX;
  return bound;
}

double planning::spreadOf(const CostProblem &problem) {
  bool one = problem.devices <= problem.system.devices_per_node();
  const cluster::Spread &spread = problem.system.spread();
  if (problem.model.experts > 0)
    return spread.experts();
  return one ? spread.one_node() : spread.many_nodes();
}
