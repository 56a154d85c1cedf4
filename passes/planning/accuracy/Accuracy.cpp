//===- Accuracy.cpp - Predictions against measurements --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/accuracy/Accuracy.h"

#include "passes/planning/cost/ActivationBytes.h"
#include "passes/planning/cost/RankParameters.h"
#include "runtime/cluster/Systems.h"

#include <algorithm>
#include <cmath>
#include <tuple>

using namespace hocket;
using namespace hocket::planning;

namespace {

/// Microbatch sizes that a row leaves open, or its own.
std::vector<int64_t> microBatches(const ThroughputRow &row,
                                  const ParallelPlan &plan) {
  if (!row.anyMicroBatch)
    return {plan.microBatch};
  return divisors(row.problem.step.globalBatch / plan.dp, 16);
}

std::vector<int64_t> chunkCounts(const ThroughputRow &row,
                                 const ParallelPlan &plan) {
  if (!row.anyChunks || plan.pp == 1)
    return {row.anyChunks ? 1 : plan.chunks};
  const ModelShape &model = row.problem.model;
  int64_t all = model.layers + model.predicted;
  return divisors((all + plan.pp - 1) / plan.pp, 8);
}

/// The split of authors' layouts where further tokens are predicted; else
/// empty, which is even.
std::vector<int64_t> splitOf(const ModelShape &model, int64_t stages) {
  int64_t all = model.layers + model.predicted; // A head counts as a layer.
  int64_t share = (all + stages - 1) / stages;
  int64_t last = model.layers - share * (stages - 1);
  if (model.predicted == 0 || stages == 1 || last < 1 || last >= share)
    return {};
  std::vector<int64_t> layers(size_t(stages), share);
  layers.back() = last;
  return layers;
}

/// What published runs compute again where memory is tight, before they compute
/// whole layers again: what takes no GEMM; and MLPs with it.
constexpr RecomputeModules cheapModules = {RecomputeModule::LayerNorm,
                                           RecomputeModule::Activation,
                                           RecomputeModule::MoeActivation};
constexpr RecomputeModules mostModules = {
    RecomputeModule::LayerNorm, RecomputeModule::Mlp,
    RecomputeModule::SharedExperts, RecomputeModule::Moe,
    RecomputeModule::MoeActivation};

/// Keeps the fastest plan that was tried and fits.
struct FastestPlan {
  const CostProblem &problem;
  ParallelPlan plan;
  double seconds = INFINITY;

  void consider(const ParallelPlan &candidate) {
    StatusOr<StepCost> cost = priceStep(problem, candidate);
    bool fits =
        cost.ok() && cost->bytes() <= problem.system.device().memory_bytes();
    if (!fits || cost->seconds() >= seconds)
      return;
    seconds = cost->seconds();
    plan = candidate;
  }
};

void considerSizes(const ThroughputRow &row, ParallelPlan plan,
                   FastestPlan &fastest) {
  for (int64_t microBatch : microBatches(row, plan))
    for (int64_t chunks : chunkCounts(row, plan)) {
      plan.microBatch = microBatch;
      plan.chunks = chunks;
      plan.layers = splitOf(row.problem.model, plan.stages());
      fastest.consider(plan);
    }
}

} // namespace

void planning::completePlan(ThroughputRow &row) {
  row.plan.layers = splitOf(row.problem.model, row.plan.stages());
  if (!row.anyMicroBatch && !row.anyChunks && !row.anyAxes)
    return;
  FastestPlan fastest{row.problem, row.plan};
  // Where memory is tight, what the backward pass computes again is open too.
  std::vector<ParallelPlan> recomputed = {row.plan};
  for (RecomputeModules modules :
       {cheapModules, RecomputeModules(kMegatronModules), mostModules}) {
    recomputed.push_back(row.plan);
    recomputed.back().recompute = Recompute::Selective;
    recomputed.back().modules = modules;
  }
  recomputed.push_back(row.plan);
  recomputed.back().recompute = Recompute::Full;
  for (ParallelPlan plan : recomputed) {
    if (!row.anyAxes)
      considerSizes(row, plan, fastest);
    for (int64_t tp : {1, 2, 4, 8})
      for (int64_t pp : divisors(row.problem.model.layers, 32)) {
        plan.tp = tp;
        plan.pp = pp;
        plan.dp = row.problem.devices / (tp * pp);
        plan.sequenceParallel = tp > 1;
        if (row.anyAxes && plan.dp * tp * pp == row.problem.devices)
          considerSizes(row, plan, fastest);
      }
    if (std::isfinite(fastest.seconds))
      break;
  }
  if (std::isfinite(fastest.seconds))
    row.plan = fastest.plan;
}

/// Parts of the memory that arXiv 2205.05198 shows in figures 1 and 7: of the
/// first pipeline rank, its layers alone, dropout's masks included.
static StatusOr<double> predictMemory(const ThroughputRow &row) {
  const ModelShape &model = row.problem.model;
  const LayerKind kind = LayerKinds(model)[0];
  ParallelPlan plan = row.plan;
  auto layers = [&](bool sequence, Recompute recompute) {
    plan.sequenceParallel = sequence;
    plan.recompute = recompute;
    ActivationBytes bytes(model, row.problem.step, plan, false);
    double live = double(std::max<int64_t>(1, plan.stages()));
    if (plan.chunks > 1) // Chunks in flight on rank 0, interleaved.
      live = 2.0 * double(plan.pp - 1) +
             double(plan.chunks - 1) * double(plan.pp) + 1;
    return double(bytes.ofLayer(kind)) * double(model.layers) /
           double(plan.stages()) * live;
  };
  double base = layers(false, Recompute::None);
  bool percent = row.quantity == Quantity::Percent;
  double unit = percent ? base / 100 : double(1 << 30);
  const std::string &part = row.part;
  if (part.starts_with("params"))
    return 18 * double(model.layers) * model.sharedParameters(kind) /
           double(plan.tp * plan.pp) / unit;
  if (part.find("none") != std::string::npos)
    return base / unit;
  if (part == "seq")
    return layers(true, Recompute::None) / unit;
  if (part == "selective")
    return layers(false, Recompute::Selective) / unit;
  if (part == "full")
    return layers(false, Recompute::Full) / unit;
  if (part == "seq+sel" || part.find("SP+selective") != std::string::npos)
    return layers(true, Recompute::Selective) / unit;
  return invalidArgument("the memory of '" + part + "' is not known");
}

StatusOr<double> planning::predictRow(const ThroughputRow &row) {
  if (row.quantity != Quantity::Seconds)
    return predictMemory(row);
  HOCKET_ASSIGN_OR_RETURN(StepCost cost, priceStep(row.problem, row.plan));
  return cost.seconds();
}

std::vector<int64_t> planning::turnsOf(const std::vector<ThroughputRow> &rows) {
  using Configuration =
      std::tuple<int64_t, int64_t, int64_t, int64_t, std::string, std::string>;
  std::map<std::string, std::map<Configuration, int64_t>> seen;
  std::vector<int64_t> turns;
  for (const ThroughputRow &row : rows) {
    turns.push_back(-1);
    if (!row.skipped.empty())
      continue;
    const ModelShape &model = row.problem.model;
    ParallelPlan plan = row.plan;
    plan.dp = 1; // Which follows from the number of devices.
    auto &group = seen[row.group];
    turns.back() =
        group
            .try_emplace({model.layers, model.hidden, model.experts,
                          row.problem.devices, row.part, printPlan(plan)},
                         int64_t(group.size()))
            .first->second;
  }
  return turns;
}

std::vector<RowPrediction>
planning::predictRows(const std::vector<ThroughputRow> &rows,
                      const SystemSource &systems) {
  std::vector<RowPrediction> predictions;
  std::vector<int64_t> turns = turnsOf(rows);
  for (const ThroughputRow &row : rows) {
    RowPrediction &prediction = predictions.emplace_back();
    prediction.row = row;
    prediction.skipped = row.skipped;
    if (!prediction.skipped.empty())
      continue;
    StatusOr<cluster::System> system = systems(row.systemName);
    if (!system.ok()) {
      prediction.skipped = "no description of the system " + row.systemName;
      continue;
    }
    prediction.heldOut = turns[predictions.size() - 1] % 2 == 1;
    prediction.row.problem.system = systemOfRow(row, *system);
    completePlan(prediction.row);
    StatusOr<double> value = predictRow(prediction.row);
    if (value.ok())
      prediction.predicted = *value;
    else
      prediction.skipped = value.status().message();
    if (value.ok() && row.quantity == Quantity::Seconds)
      prediction.items =
          priceStep(prediction.row.problem, prediction.row.plan)->items;
    prediction.spread = row.quantity == Quantity::Seconds
                            ? spreadOf(prediction.row.problem)
                            : 0;
  }
  return predictions;
}

ErrorStatistics planning::statisticsOf(
    const std::vector<RowPrediction> &rows,
    const std::function<bool(const RowPrediction &)> &wanted) {
  ErrorStatistics statistics;
  std::vector<double> sizes;
  for (const RowPrediction &row : rows) {
    if (!row.skipped.empty() || !wanted(row))
      continue;
    double error = row.error();
    sizes.push_back(std::abs(error));
    statistics.mean += std::abs(error);
    statistics.bias += error;
    if (std::abs(error) > std::abs(statistics.worst))
      statistics.worst = error;
  }
  if (sizes.empty())
    return statistics;
  std::sort(sizes.begin(), sizes.end());
  size_t count = sizes.size();
  statistics.rows = int64_t(count);
  statistics.mean /= double(count);
  statistics.bias /= double(count);
  statistics.median = (sizes[(count - 1) / 2] + sizes[count / 2]) / 2;
  return statistics;
}

std::vector<std::string>
planning::groupsOf(const std::vector<RowPrediction> &rows) {
  std::vector<std::string> groups;
  for (const RowPrediction &row : rows)
    if (std::find(groups.begin(), groups.end(), row.row.group) == groups.end())
      groups.push_back(row.row.group);
  return groups;
}
