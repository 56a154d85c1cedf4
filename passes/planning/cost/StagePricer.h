//===- StagePricer.h - Prices of plans with the same stages -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Plans that differ in ZeRO and in the optimizer's place alone have the same
/// stages, and their schedule takes the same time: it is played once for all of
/// them. A search asks for what is cheap first: a time that the price is not
/// below, then the bytes, then the price.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_COST_STAGEPRICER_H
#define HOCKET_PASSES_PLANNING_COST_STAGEPRICER_H

#include "passes/planning/cost/PipelineTimes.h"
#include "passes/planning/cost/RankParameters.h"
#include "passes/planning/cost/StepCost.h"

#include <memory>

namespace hocket::planning {

class StagePricer {
public:
  /// `plan` has passed checkPlan, and `stages` are its. All plans that are
  /// asked for are `plan` but for `zero` and whether the optimizer's state is
  /// offloaded. `problem` and `orders` outlive this.
  StagePricer(const CostProblem &problem, const ParallelPlan &plan,
              StageCosts stages, ScheduleOrders &orders);
  StagePricer(StagePricer &&) noexcept;
  ~StagePricer();

  /// Nanoseconds that the plan's price is not below.
  int64_t leastNanoseconds(const ParallelPlan &asked) const;
  /// Bytes that some rank's device holds under each plan that may be asked for:
  /// of live chunks, and of state that ZeRO-3 shards; `offloads`: the optimizer
  /// may be on the host. Nor is it below with the loss in chunks. INT64_MAX if
  /// the schedule's generator refuses.
  int64_t leastBytes(bool offloads);
  /// Bytes of every pipeline rank: where steps may be run again, the more of
  /// both kinds. Refuses what the schedule's generator refuses, as price()
  /// does.
  StatusOr<std::vector<RankMemory>> memory(const ParallelPlan &asked);
  StatusOr<StepCost> price(const ParallelPlan &asked);

private:
  /// Nanoseconds of a rank, before what comes after its passes.
  struct RankBound {
    double own = 0;  ///< The way in, and its passes.
    double back = 0; ///< The same, and the way back to the first rank.
    double work = 0; ///< Its passes.
  };

  /// Steps that are run again.
  struct Again;

  StatusOr<std::vector<int64_t>> liveBytes();
  /// Of these on the rank of the head, what chunks of the loss do not keep.
  StatusOr<int64_t> logitsHeld();
  Status findLive();
  Status addAgain(const ParallelPlan &asked, std::vector<RankMemory> &memory);

  const CostProblem &problem;
  StageCosts costs;
  ScheduleOrders &orders;
  ParallelPlan plan;
  std::string schedule;
  std::vector<RankParameters> held;
  std::vector<RankBound> bounds;
  std::optional<ProcessorShare> share;
  std::optional<std::vector<int64_t>> live;
  std::optional<PipelineEnds> ends;
  std::unique_ptr<Again> again; ///< Once it was asked for.
};

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_COST_STAGEPRICER_H
