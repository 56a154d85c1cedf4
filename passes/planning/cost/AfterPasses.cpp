//===- AfterPasses.cpp - Sums of gradients, and the update ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/cost/AfterPasses.h"

#include "passes/planning/ScheduleGenerators.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::planning;

Placement planning::stagePlacement(const ParallelPlan &plan) {
  const ScheduleTraits *traits = scheduleTraits(plan.scheduleName());
  return traits ? traits->placement : Placement::RoundRobin;
}

namespace {

/// Collectives over the ranks that hold the same parameters.
class DataCollectives {
public:
  DataCollectives(const CostProblem &problem, const ParallelPlan &plan)
      : times(problem.system, problem.step.elementBits), plan(plan),
        element(problem.step.elementBits == 32 ? 4 : 2),
        gradient(double(problem.system.software().gradient_bytes())),
        trained(problem.step.trained()) {
    // Published systems scatter the gradients of sharded parameters as they are
    // made, in the width of activations.
    if (plan.zero == 3 && !problem.compiled)
      gradient = element;
    dense = {plan.dp * plan.cp, plan.tp};
    overlap = problem.system.software().data_overlap();
    bool hasExperts = problem.model.experts > 0;
    int64_t holders = hasExperts ? plan.ep * plan.expertTensor() : 1;
    expert = {std::max<int64_t>(1, plan.dp * plan.cp * plan.tp / holders),
              holders};
  }

  /// Gradients added up: all of them, or each rank its shard.
  double sum(const RankParameters &held) const {
    auto one = [&](double count, const cluster::RankGroup &group) {
      double bytes = count * gradient;
      return plan.zero > 0 ? times.allGather(bytes, group)
                           : times.allReduce(bytes, group);
    };
    return one(trained * held.dense + held.visionTrained, dense) +
           one(trained * held.experts, expert);
  }

  /// Parameters gathered.
  double gather(const RankParameters &held) const {
    double vision = plan.zero == 3 ? held.vision : held.visionTrained;
    return times.allGather((held.dense + vision) * element, dense) +
           times.allGather(held.experts * element, expert);
  }

  /// What rings take besides bytes where programs that Hocket compiles gather,
  /// or scatter, each matrix of a rank's layers by itself, as ZeRO-2 and -3 do.
  double starts(const ModelShape &model) const {
    double ffn = double(model.matrices()), attention = 4, stateSpace = 6;
    LayerKinds kinds(model);
    double own = 0, ofExperts = 0;
    for (size_t i = 0; i < kinds.size(); ++i) {
      const LayerKind &kind = kinds[i];
      double layers = double(kinds.layersOf(i)) / double(plan.pp);
      own += layers * (kind.attention * attention +
                       kind.stateSpace * stateSpace + (kind.ffn > 0 ? ffn : 0));
      ofExperts += kind.experts ? layers * ffn : 0;
    }
    return times.allGather(0, dense) * own +
           times.allGather(0, expert) * ofExperts;
  }

  /// A copy of the tied embedding, or of that where the decoder begins, is
  /// summed with the first stage's.
  double tied(const ModelShape &model) const {
    if (plan.pp == 1 || (!model.tied && inputStageOf(model, plan) == 0))
      return 0;
    double bytes = model.embeddingParameters() * gradient / double(plan.tp);
    return times.transfer(bytes, {plan.pp, plan.dp * plan.cp * plan.tp});
  }

  /// Parameters that a rank updates.
  double updated(const RankParameters &held) const {
    if (plan.zero == 0)
      return trained * held.all() + held.visionTrained;
    return (trained * held.dense + held.visionTrained) / double(dense.size) +
           trained * held.experts / double(expert.size);
  }

  double update(const RankParameters &held) const {
    return times.memory(updated(held) * times.software().update_bytes());
  }

  /// The optimizer's state comes and goes at once, beside the update.
  double offload(const RankParameters &held, double stateBytes) const {
    if (!plan.offloadsOptimizer())
      return 0;
    return std::max(0.0,
                    times.toHost(updated(held) * stateBytes) - update(held));
  }

  /// What is left of `seconds` beside a pass of `window` seconds.
  double exposed(double seconds, double window) const {
    return seconds - overlap * std::min(seconds, window);
  }

private:
  cluster::OpTimes times;
  const ParallelPlan &plan;
  double element, gradient;
  double trained; ///< The share of parameters that is.
  double overlap; ///< The share of collectives that runs beside a pass.
  cluster::RankGroup dense, expert;
};

/// Seconds of one microbatch on a rank.
struct RankPass {
  double forward = 0;
  double backward = 0;
};

RankPass passOf(const StageCosts &stages, int64_t rank) {
  RankPass pass;
  for (int64_t chunk = 0; chunk < stages.schedule.shape.chunks; ++chunk) {
    const ChunkCost &cost = stages.schedule.cost(rank, chunk);
    pass.forward += cost.forward * 1e-9;
    pass.backward += (cost.backward + cost.weight) * 1e-9;
  }
  return pass;
}

} // namespace

std::vector<AfterPasses>
planning::afterPasses(const CostProblem &problem, const ParallelPlan &plan,
                      const StageCosts &stages,
                      const std::vector<RankParameters> &held) {
  DataCollectives collectives(problem, plan);
  double state = bytesOfParameter(problem.step)[2];
  double microbatches = double(stages.schedule.shape.microbatches);
  std::vector<AfterPasses> after(held.size());
  for (size_t rank = 0; rank < held.size(); ++rank) {
    RankPass pass = passOf(stages, int64_t(rank));
    double sum = collectives.sum(held[rank]);
    double gather = plan.zero > 0 ? collectives.gather(held[rank]) : 0;
    // Programs that Hocket compiles sum gradients that are sharded in every
    // microbatch, where they are made, and compute nothing beside it.
    bool scatters = problem.compiled && plan.zero >= (microbatches > 1 ? 2 : 3);
    double starts = scatters ? collectives.starts(problem.model) : 0;
    sum += starts;
    gather += plan.zero == 3 ? starts : 0;
    double shown = scatters ? sum : 0, hidden = scatters ? 0 : sum;
    double &data = after[rank].data;
    if (plan.zero == 3)
      data = microbatches *
             (collectives.exposed(gather, pass.forward) +
              collectives.exposed(gather + hidden, pass.backward) + shown);
    else
      data = collectives.exposed(hidden, pass.backward) + microbatches * shown +
             collectives.exposed(gather, pass.forward);
    if (rank == 0 || rank + 1 == held.size())
      data += collectives.tied(problem.model);
    after[rank].update = collectives.update(held[rank]);
    after[rank].offload = collectives.offload(held[rank], state);
  }
  return after;
}
