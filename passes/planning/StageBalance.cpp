//===- StageBalance.cpp - Layers shared out over stages -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/StageBalance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace hocket;
using namespace hocket::planning;

namespace {

constexpr int64_t kMostLayers = 65536;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool isCost(double value) {
  return std::isfinite(value) && value >= 0 && value <= kMostLayerCost;
}

/// Costs of layers [first, last) as a stage.
class StageCosts {
public:
  StageCosts(const StageBalanceProblem &problem) : problem(problem) {
    sums.push_back(0);
    for (double cost : problem.layers)
      sums.push_back(sums.back() + cost);
  }

  double between(int64_t first, int64_t last) const {
    return sums[last] - sums[first];
  }
  double of(int64_t stage, int64_t first, int64_t last) const {
    double cost = between(first, last);
    cost += stage == 0 ? problem.embedding : 0;
    cost += stage + 1 == problem.stages ? problem.head : 0;
    return cost;
  }

private:
  const StageBalanceProblem &problem;
  std::vector<double> sums;
};

/// The cheapest worst stage. best[last] is that of the stages so far when they
/// have `last` layers; it grows with `last`, and the cost of the next stage
/// falls with its first layer, so the two cross once.
double leastWorst(const StageBalanceProblem &problem, const StageCosts &costs) {
  auto layers = static_cast<int64_t>(problem.layers.size());
  std::vector<double> best(layers + 1, kInfinity);
  for (int64_t last = problem.least; last <= layers; ++last)
    best[last] = costs.of(0, 0, last);
  for (int64_t stage = 1; stage < problem.stages; ++stage) {
    std::vector<double> next(layers + 1, kInfinity);
    int64_t start = stage * problem.least;
    for (int64_t last = start + problem.least; last <= layers; ++last) {
      int64_t low = start, high = last - problem.least;
      while (low < high) {
        int64_t middle = (low + high) / 2;
        if (best[middle] >= costs.of(stage, middle, last))
          high = middle;
        else
          low = middle + 1;
      }
      for (int64_t first : {low - 1, low})
        if (first >= start)
          next[last] = std::min(
              next[last], std::max(best[first], costs.of(stage, first, last)));
    }
    best = std::move(next);
  }
  return best[layers];
}

/// For every layer, how many stages of at most `worst` hold it and all that
/// follow it.
std::vector<int64_t> stagesNeeded(const StageBalanceProblem &problem,
                                  const StageCosts &costs, double worst) {
  auto layers = static_cast<int64_t>(problem.layers.size());
  std::vector<int64_t> needed(layers + 1, 0);
  int64_t last = layers;
  for (int64_t first = layers; first-- > 0;) {
    while (costs.between(first, last) > worst)
      --last;
    bool one = costs.between(first, layers) + problem.head <= worst;
    needed[first] = one ? 1 : 1 + needed[last];
    // All the rest in one stage, but not with the head: that takes another.
    if (!one && last == layers)
      needed[first] = 2;
  }
  return needed;
}

/// Of the cuts with no stage above `worst`, one that gives each stage, from
/// the first on, about its share of what is left.
std::vector<int64_t> evenCut(const StageBalanceProblem &problem,
                             const StageCosts &costs, double worst) {
  auto layers = static_cast<int64_t>(problem.layers.size());
  std::vector<int64_t> needed = stagesNeeded(problem, costs, worst), counts;
  int64_t first = 0;
  for (int64_t stage = 0; stage + 1 < problem.stages; ++stage) {
    int64_t left = problem.stages - stage - 1;
    int64_t chosen = first + problem.least;
    double rest = costs.between(first, layers) + problem.head;
    rest += stage == 0 ? problem.embedding : 0;
    double share = rest / double(left + 1), closest = kInfinity;
    for (int64_t last = first + problem.least;
         last + left * problem.least <= layers; ++last) {
      double cost = costs.of(stage, first, last);
      if (cost > worst)
        break;
      if (needed[last] <= left && std::abs(cost - share) < closest) {
        closest = std::abs(cost - share);
        chosen = last;
      }
    }
    counts.push_back(chosen - first);
    first = chosen;
  }
  counts.push_back(layers - first);
  return counts;
}

} // namespace

Status hocket::planning::checkStageBalance(const StageBalanceProblem &problem) {
  auto layers = static_cast<int64_t>(problem.layers.size());
  if (layers > kMostLayers || problem.stages < 1 ||
      problem.stages > kMostLayers || problem.least < 0 || problem.least > 1)
    return invalidArgument("Q40: expected at most " +
                           std::to_string(kMostLayers) +
                           " layers, 1 to as many stages, and at least 0 or 1 "
                           "layers in a stage");
  if (layers < problem.stages * problem.least)
    return invalidArgument("Q40: " + std::to_string(layers) +
                           " layers are too few for " +
                           std::to_string(problem.stages) +
                           " stages of at least one: use at most " +
                           std::to_string(layers) + " stages");
  bool costs =
      isCost(problem.embedding) && isCost(problem.head) &&
      std::all_of(problem.layers.begin(), problem.layers.end(), isCost);
  if (!costs)
    return invalidArgument("Q40: a cost is not within 0 to 1e15");
  return okStatus();
}

StatusOr<StageCut>
hocket::planning::balanceStages(const StageBalanceProblem &problem) {
  HOCKET_RETURN_IF_ERROR(checkStageBalance(problem));
  StageCosts costs(problem);
  double worst = leastWorst(problem, costs);
  return StageCut{evenCut(problem, costs, worst), worst};
}

StatusOr<StageCut>
hocket::planning::listedStages(const StageBalanceProblem &problem,
                               const std::vector<int64_t> &counts) {
  HOCKET_RETURN_IF_ERROR(checkStageBalance(problem));
  auto layers = static_cast<int64_t>(problem.layers.size());
  if (counts.size() != static_cast<size_t>(problem.stages))
    return invalidArgument("Q41: expected the layers of " +
                           std::to_string(problem.stages) + " stages, found " +
                           std::to_string(counts.size()));
  int64_t sum = 0;
  for (size_t stage = 0; stage < counts.size(); ++stage) {
    if (counts[stage] < problem.least || counts[stage] > layers)
      return invalidArgument(
          "Q41: stage " + std::to_string(stage) + " has " +
          std::to_string(counts[stage]) + " layers; expected " +
          std::to_string(problem.least) + " to " + std::to_string(layers));
    sum += counts[stage];
  }
  if (sum != layers)
    return invalidArgument("Q41: the stages have " + std::to_string(sum) +
                           " layers, the model " + std::to_string(layers) +
                           ": " + std::to_string(std::abs(sum - layers)) +
                           (sum > layers ? " too many" : " too few"));
  StageCosts costs(problem);
  StageCut cut{counts, 0};
  int64_t first = 0;
  for (int64_t stage = 0; stage < problem.stages; ++stage) {
    cut.worst =
        std::max(cut.worst, costs.of(stage, first, first + counts[stage]));
    first += counts[stage];
  }
  return cut;
}

Status hocket::planning::validateStageCut(const StageBalanceProblem &problem,
                                          const StageCut &cut) {
  auto layers = static_cast<int64_t>(problem.layers.size());
  if (cut.counts.size() != static_cast<size_t>(problem.stages))
    return invalidArgument("Q41: the cut has another number of stages");
  double worst = 0;
  int64_t next = 0;
  for (int64_t stage = 0; stage < problem.stages; ++stage) {
    double cost = 0;
    if (stage == 0)
      cost += problem.embedding;
    if (stage == problem.stages - 1)
      cost += problem.head;
    if (cut.counts[stage] < problem.least || cut.counts[stage] > layers - next)
      return invalidArgument("Q41: stage " + std::to_string(stage) +
                             " has a number of layers that it cannot have");
    for (int64_t i = 0; i < cut.counts[stage]; ++i)
      cost += problem.layers[next++];
    worst = std::max(worst, cost);
  }
  if (next != layers)
    return invalidArgument("Q41: some layers are in no stage");
  if (std::abs(worst - cut.worst) > 1e-9 * std::max(1.0, worst))
    return invalidArgument("Q41: the most expensive stage costs " +
                           std::to_string(worst));
  return okStatus();
}
