//===- ParallelPlan.h - Plans of a model's sizes ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a plan means for the sizes that prices depend on. What a plan is, its
/// text and its rules are in dialects/plan.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_COST_PARALLELPLAN_H
#define HOCKET_PASSES_PLANNING_COST_PARALLELPLAN_H

#include "dialects/plan/ParallelPlan.h"
#include "dialects/plan/PlanRules.h"
#include "passes/planning/cost/ModelShape.h"

#include <string_view>
#include <vector>

namespace hocket::planning {

// Prices and searches speak of plans in every line.
using namespace plan; // NOLINT(google-global-names-in-headers)

/// Microbatches of a step on each data rank.
int64_t microbatchesOf(const ParallelPlan &plan, const StepShape &step);

/// Sequences of which every batch has a multiple: where the batch grows, what
/// divides all its sizes.
int64_t batchUnit(const StepShape &step);

/// The divisors of `number` up to `most`, ascending.
std::vector<int64_t> divisors(int64_t number, int64_t most);

/// `layers` shared out over `stages` as evenly as can be: the first and the
/// last stages, which have the embedding and the head, get no more than others.
std::vector<int64_t> evenLayers(int64_t layers, int64_t stages);

/// The plan's own split, or the even one.
std::vector<int64_t> layersOf(const ParallelPlan &plan,
                              const ModelShape &model);

/// What crosses from each stage to the next, as a multiple of the decoder's
/// stream: of two stacks, the encoder's stream or, behind the decoder's first
/// layer, what the encoder made beside the decoder's stream.
std::vector<double> streamsBetweenStages(const ModelShape &model,
                                         const StepShape &step,
                                         const ParallelPlan &plan);

/// The stage that looks the decoder's tokens up.
int64_t inputStageOf(const ModelShape &model, const ParallelPlan &plan);

/// Whether a schedule has weight gradients as passes of their own.
bool splitsWeight(std::string_view schedule);

/// What the rules of plans know of a model and a step.
PlanSizes planSizes(const ModelShape &model, const StepShape &step);

/// Refuses a plan that breaks a rule of dialects/plan/PlanRules.h, one of a
/// schedule that no generator has, and one whose offloading has no price.
Status checkPlan(const ParallelPlan &plan, const ModelShape &model,
                 const StepShape &step);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_COST_PARALLELPLAN_H
