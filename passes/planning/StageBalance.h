//===- StageBalance.h - Layers shared out over stages -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Cuts a model's layers into contiguous stages. A pipeline runs at the pace of
/// its most expensive stage, so that is what a balanced cut makes as cheap as
/// can be. The embedding belongs to the first stage and the head to the last,
/// and both count.
///
/// Text form of a problem:
///
///     stage-balance
///     stages 4
///     embedding 0.5
///     head 2
///     least 1                # layers in a stage; may be left out: 1
///     layers 1 1 1 1.5 1 1   # as often as one likes, in order
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_STAGEBALANCE_H
#define HOCKET_PASSES_PLANNING_STAGEBALANCE_H

#include "base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::planning {

/// The most that a layer may cost.
inline constexpr double kMostLayerCost = 1e15;

struct StageBalanceProblem {
  /// Cost of each layer, in the order of the forward pass.
  std::vector<double> layers;
  /// What the first stage has beside its layers, and the last.
  double embedding = 0;
  double head = 0;
  /// Ranks x chunks.
  int64_t stages = 1;
  /// The fewest layers of a stage: 1, or 0 where a stage may be the embedding
  /// or the head alone, or empty.
  int64_t least = 1;

  bool operator==(const StageBalanceProblem &) const = default;
};

/// How many layers each stage has.
struct StageCut {
  std::vector<int64_t> counts;
  /// The cost of the most expensive stage.
  double worst = 0;
};

/// Refuses what is not a problem (Q40): no stages, costs that are not finite
/// and at least 0, `least` neither 0 nor 1, fewer layers than `least` x
/// `stages`.
Status checkStageBalance(const StageBalanceProblem &problem);

/// The cut whose most expensive stage is the cheapest possible: exact, by
/// dynamic programming over (stage, layers so far) in O(stages x layers x log
/// layers). Of the cuts with that cost one whose stages come close to the
/// average.
StatusOr<StageCut> balanceStages(const StageBalanceProblem &problem);

/// The cut that `counts` lists. Refuses (Q41) a list that has not one entry
/// for each stage, an entry below `least`, or another sum than the number of
/// layers, and says how far off it is.
StatusOr<StageCut> listedStages(const StageBalanceProblem &problem,
                                const std::vector<int64_t> &counts);

/// Ok, or why `cut` is none of `problem` (Q41) or has another cost.
Status validateStageCut(const StageBalanceProblem &problem,
                        const StageCut &cut);

StatusOr<StageBalanceProblem> readStageBalance(std::string_view file,
                                               std::string_view text);
std::string writeStageBalance(const StageBalanceProblem &problem);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_STAGEBALANCE_H
