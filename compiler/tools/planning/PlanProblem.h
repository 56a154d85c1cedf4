//===- PlanProblem.h - From a spec to a planning problem --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What plan search and simulation know of a specification, and plans as files:
/// a Plan of spec.proto as textproto, under comments that say what was asked,
/// what was predicted, and every item of the price,
///
///   # price time GEMMs 5213000123
///   # price bytes parameters 1290002432
///
/// in nanoseconds and bytes, so that two plans can be compared later.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_PLANNING_PLANPROBLEM_H
#define HOCKET_COMPILER_TOOLS_PLANNING_PLANPROBLEM_H

#include "frontends/spec/spec.pb.h"
#include "passes/planning/search/PlanSearch.h"
#include "runtime/cluster/Systems.h"

#include <string>
#include <utility>
#include <vector>

namespace hocket {

/// SPEC, what `--set` changes of it, and `--cluster`.
struct PlanRequest {
  std::string input;
  std::vector<std::string> overrides;
  std::string cluster;
};

/// The specification's own plan and cluster count for nothing, but for how many
/// sequences that computes at a time where the loss depends on it. Errors are
/// the input's fault.
StatusOr<planning::CostProblem> planProblem(const PlanRequest &request);

/// The same of a specification that was read already.
StatusOr<planning::CostProblem>
planProblem(const spec::Spec &spec, const cluster::ClusterChoice &cluster);

/// A share of a device's memory that is left free, "5%" or "0.05"; from 0 to
/// 90 %. Errors name --memory-margin.
StatusOr<double> parseMargin(std::string text);

/// A plan of the schema, its stages written out where they are uneven.
spec::Plan messageOf(planning::ParallelPlan plan,
                     const planning::ModelShape &model);

/// The plan that an option names: in the short form, or a file of the schema.
StatusOr<planning::ParallelPlan> readPlan(const std::string &text);

/// One item of a price by name; time items in nanoseconds.
struct PriceItem {
  std::string kind; ///< "time" or "bytes"
  std::string name;
  int64_t value = 0;
};

/// The items of a price in their order; bytes are those of the fullest rank.
std::vector<PriceItem> itemsOf(const planning::StepCost &cost);

/// The text of a plan's file.
std::string planText(const PlanRequest &request,
                     const planning::CostProblem &problem,
                     const planning::PricedPlan &plan);

/// The items in a plan's file. Refuses a file without any.
StatusOr<std::vector<PriceItem>> readPriceItems(const std::string &path);

} // namespace hocket

#endif // HOCKET_COMPILER_TOOLS_PLANNING_PLANPROBLEM_H
