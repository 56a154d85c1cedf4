//===- PlanSpace.h - Which plans there are ----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The plans that search looks at, in two steps. A *rough* plan fixes what a
/// layer's time depends on: the axes, the microbatch, recompute. Its *fine*
/// plans fix the rest: schedule and virtual stages, ZeRO, how layers are split.
///
///   pp         divisors of the devices, at most a stage a layer
///   tp         divisors of the heads that stay in a node
///   cp         powers of two, at most 16, of at least 2,048 tokens each
///   ep         divisors of the experts; experts' matrices whole, or over tp
///   mbs        divisors of a data-parallel rank's sequences, at most 32; one
///              alone where the loss depends on it (StepShape::microbatch)
///   sp         with tp, wherever the sequence divides: it moves as many bytes
///              and keeps fewer, so that it is never worse here
///   recompute  none, full; selective in compiled programs, elsewhere where
///              attention stores its scores
///   schedule   1f1b; interleaved with 2 to 12 chunks; zb-h1 and zb-v of at
///              most 8,192 passes
///   zero       0 to 3 with several data-parallel ranks
///   offload    none; where it is asked for (CostProblem::mayOffload, or a
///              constraint that names it) the optimizer's state, activations
///              of schedules that do not split the backward, or both
///   layers     evenly, or up to two fewer in the last stage and one fewer in
///              the first, which have the head and the embedding
///   loss       in one piece; in compiled programs also in 2, 4 and 8 chunks
///              (withMoreLossChunks) where fewer leave too little memory: they
///              take longer and change nothing else
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_SEARCH_PLANSPACE_H
#define HOCKET_PASSES_PLANNING_SEARCH_PLANSPACE_H

#include "passes/planning/cost/StepCost.h"

#include <map>
#include <optional>

namespace hocket::planning {

/// What a user fixes of a plan: keys of the short text form and their values,
/// as printPlan writes them ("recompute" -> "full").
class PlanConstraints {
public:
  PlanConstraints() = default;
  /// "tp=8,pp=16". Refuses what parsePlan refuses.
  static StatusOr<PlanConstraints> parse(const std::string &text);

  bool empty() const { return values.empty(); }
  /// Whether a plan keeps them; of a rough plan, those that it fixes.
  bool allow(const ParallelPlan &plan, bool rough) const;
  /// Whether they say anything of `key`.
  bool name(std::string_view key) const { return values.contains(key); }
  const std::string &text() const { return written; }
  /// The fixed values over a plan's defaults.
  const ParallelPlan &plan() const { return fixed; }

private:
  std::map<std::string, std::string, std::less<>> values;
  ParallelPlan fixed;
  std::string written;
};

/// Whether the space has plans that offload.
bool mayOffload(const CostProblem &problem, const PlanConstraints &constraints);

/// All rough plans, in a fixed order. They pass checkPlan.
std::vector<ParallelPlan> roughPlans(const CostProblem &problem,
                                     const PlanConstraints &constraints);

/// Of the fine plans of a rough one, those that differ in more than ZeRO and
/// the optimizer's place, in a fixed order: one for each schedule, split of the
/// layers and place of activations. That plan itself need not be in the space.
std::vector<ParallelPlan> stagePlans(const CostProblem &problem,
                                     const ParallelPlan &rough,
                                     const PlanConstraints &constraints);

/// The plans of the space with the stages of `plan`, one of stagePlans, in a
/// fixed order. They pass checkPlan.
std::vector<ParallelPlan> statePlans(const CostProblem &problem,
                                     const ParallelPlan &plan,
                                     const PlanConstraints &constraints);

/// `plan` with its loss in twice as many chunks, of whole rows each; none where
/// the space has no such plan. It is never faster: the head's GEMMs are
/// smaller.
std::optional<ParallelPlan>
withMoreLossChunks(const CostProblem &problem, const ParallelPlan &plan,
                   const PlanConstraints &constraints);

/// All fine plans of a rough one: the statePlans of its stagePlans.
std::vector<ParallelPlan> finePlans(const CostProblem &problem,
                                    const ParallelPlan &rough,
                                    const PlanConstraints &constraints);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_SEARCH_PLANSPACE_H
