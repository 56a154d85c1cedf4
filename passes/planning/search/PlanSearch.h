//===- PlanSearch.h - The fastest plans that fit ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Best-first branch and bound over PlanSpace.h. Every node carries a time that
/// no plan below it is faster than:
///
///   rough    its layers' work, shared out evenly
///   stages   of plans that have the same stages (StagePricer.h): the longest
///            rank's work, with the way in and out, and what comes after
///   fine     the same of one plan; it fits the memory
///   (chunks  the same of a plan that does not, with its loss in chunks)
///   price    the time itself
///
/// The node with the least is taken out and replaced by those below it; plans
/// that do not fit are dropped before their schedules are played. A price that
/// comes out is the best of all that are left. So the first price is the
/// optimum, and the gap is 0 unless the search was stopped.
///
/// Example: three nodes with bounds 5 (rough), 7 (fine), 9 (fine). The rough
/// one is replaced by stages of 6 and 8, and 6 by a fine plan of 6; that is
/// priced at 7.5; 7 is priced at 7.2; 7.2 comes out: nothing left is below.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_SEARCH_PLANSEARCH_H
#define HOCKET_PASSES_PLANNING_SEARCH_PLANSEARCH_H

#include "passes/planning/cost/StagePricer.h"
#include "passes/planning/search/PlanSpace.h"

#include <memory>
#include <optional>
#include <tuple>

namespace hocket::planning {

struct PricedPlan {
  ParallelPlan plan;
  StepCost cost;
};

struct SearchOptions {
  int64_t memory = INT64_MAX; ///< Bytes that a rank may use.
  int64_t top = 1;            ///< How many plans.
  /// A plan that takes more bytes is looked at with its loss in more chunks,
  /// too; by default one that does not fit.
  std::optional<int64_t> chunksAbove;
  int64_t roomy() const { return chunksAbove.value_or(memory); }
  /// Passes that schedules may be played for before the search stops.
  int64_t mostPasses = int64_t(1) << 26;
};

struct SearchResult {
  std::vector<PricedPlan> best; ///< Fastest first.
  /// No plan that fits and is not in `best` is faster than this.
  int64_t bound = 0;
  /// Nodes that were looked at; `fine`: plans, by themselves or with others of
  /// the same stages.
  int64_t rough = 0, fine = 0, priced = 0;

  /// (best - bound) / best, at least 0; 0: the optimum under the cost model.
  double gap() const;
};

/// Several searches of one problem share what was found out: what they return
/// does not depend on which came before.
class PlanSearch {
public:
  PlanSearch(CostProblem problem, PlanConstraints constraints);

  SearchResult run(const SearchOptions &options);

  /// Plans none of which is beaten in both time and memory, fastest first: the
  /// optimum, then the fastest of those that take at most `steps` ever smaller
  /// shares of its bytes.
  std::vector<PricedPlan> paretoFront(const SearchOptions &options,
                                      int64_t steps);

  const CostProblem &problem() const { return priced; }

  /// A plan, what it holds, and its price once it was asked for.
  struct Fine {
    ParallelPlan plan;
    int64_t nanoseconds = 0; ///< That its price is not below.
    std::vector<RankMemory> memory;
    std::optional<StatusOr<StepCost>> cost;
    /// With its loss in 2, 4, ... chunks, as far as they were asked for.
    std::vector<Fine> chunked;
  };
  /// Plans with the same stages.
  struct Stages {
    ParallelPlan plan;
    int64_t bytes = 0; ///< That no plan is below.
    int64_t plans = 0;
    /// That no price is below; of those that may fit.
    std::optional<int64_t> nanoseconds;
    std::optional<std::vector<Fine>> fine;
    /// By chunks of the loss, once a price was asked for.
    std::map<int64_t, std::unique_ptr<StagePricer>> pricers;
  };
  /// A rough plan, what is known of all its fine ones, and those.
  struct Rough {
    ParallelPlan plan;
    const PartWork *parts = nullptr;
    PriceBound bound;
    std::optional<std::vector<Stages>> stages;
  };
  std::vector<Rough> &roughPlans() { return roughs; }
  /// The stages of `rough`, with times of those that `memory` bytes may be
  /// enough for; the plans of `stages`; the price of one of these. All are made
  /// when they are first asked for.
  std::vector<Stages> &stagesOf(Rough &rough, int64_t memory);
  std::vector<Fine> &fineOf(const Rough &rough, Stages &stages);
  /// The next of `fine.chunked` behind the first `number`; null where there is
  /// none, or none may fit `memory` bytes.
  Fine *chunkedOf(Stages &stages, Fine &fine, size_t number, int64_t memory);
  const StatusOr<StepCost> &priceOf(Stages &stages, Fine &fine);

private:
  /// What work depends on: collectives of layers are over the fastest axes, so
  /// that pp and dp make no difference.
  using PartKey = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t,
                             int64_t, bool, Recompute>;

  const PartWork &partsOf(const ParallelPlan &plan);
  /// Of the plans of `stages` with so many chunks of the loss.
  StagePricer &pricerOf(Stages &stages, int64_t lossChunks);
  bool mayFitInChunks(Stages &stages, const Fine &fine, int64_t memory);

  CostProblem priced;
  PlanConstraints constraints;
  std::map<PartKey, PartWork> works;
  std::vector<Rough> roughs;
  ScheduleOrders orders;
};

/// Prices every plan of the space: slow, and obviously right.
SearchResult searchExhaustively(const CostProblem &problem,
                                const PlanConstraints &constraints,
                                const SearchOptions &options);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_SEARCH_PLANSEARCH_H
