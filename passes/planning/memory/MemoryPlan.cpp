//===- MemoryPlan.cpp - Offsets for buffers with lifetimes ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/memory/MemoryPlan.h"

#include "passes/planning/memory/MemoryFit.h"
#include "passes/planning/memory/SkylineSearch.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::planning;

namespace {

/// A region on its way to a plan.
struct Region {
  const MemoryRegion &items;
  RegionPlan plan;
  int64_t lowerBound;
};

class Planner {
public:
  explicit Planner(const MemoryOptions &options) : options(options) {
    budget.steps = options.steps;
    budget.expired = options.expired;
  }

  /// Lowers the region's peak to `enough`, or as far as it can: in rounds, each
  /// with more steps for that and for what lies between.
  void improve(Region &region, int64_t enough) {
    constexpr int64_t firstRound = 50'000'000, mostSteps = INT64_MAX / 4;
    if (region.plan.peak <= enough || !SkylineModel::holds(region.items))
      return;
    SkylineModel model(region.items);
    for (int64_t steps = firstRound; steps < mostSteps && !budget.spent();
         steps *= 2) {
      if (region.lowerBound > enough && options.capacity)
        return; // shown to be impossible
      enough = std::max(enough, region.lowerBound);
      int64_t before = budget.steps;
      attempt(region, model, enough, steps);
      bool tried = before - budget.steps >= steps;
      closeIn(region, model, enough, steps / 2);
      if (region.plan.peak <= std::max(enough, region.lowerBound) ||
          (!tried && !model.exact))
        return;
    }
  }

private:
  /// Whether the region fits into `capacity`, as far as `steps` can tell.
  bool attempt(Region &region, const SkylineModel &model, int64_t capacity,
               int64_t steps) {
    SearchBudget part{std::min(steps, budget.steps), budget.expired};
    budget.steps -= part.steps;
    std::vector<int64_t> offsets;
    SearchOutcome outcome = searchSkyline(model, capacity, part, offsets);
    budget.steps += part.steps;
    if (outcome == SearchOutcome::Impossible)
      region.lowerBound = std::max(region.lowerBound, capacity + 1);
    if (outcome != SearchOutcome::Found)
      return false;
    region.plan.peak = 0;
    for (int i = 0; i < model.size(); ++i)
      region.plan.peak =
          std::max(region.plan.peak, offsets[i] + model.height[i]);
    region.plan.offsets = std::move(offsets);
    return true;
  }

  /// Bisects between a peak that is out of reach and the best so far.
  void closeIn(Region &region, const SkylineModel &model, int64_t failed,
               int64_t steps) {
    constexpr int64_t shares = 8;
    int64_t end = budget.steps - steps;
    for (failed = std::max(failed, region.lowerBound - 1);
         failed + 1 < region.plan.peak && budget.steps > end &&
         !budget.spent();) {
      int64_t middle = failed + (region.plan.peak - failed) / 2;
      if (!attempt(region, model, middle, steps / shares))
        failed = std::max(middle, region.lowerBound - 1);
    }
  }

  const MemoryOptions &options;
  SearchBudget budget;
};

StatusOr<std::vector<Region>> fitAll(const std::vector<MemoryRegion> &regions,
                                     const MemoryOptions &options,
                                     std::map<std::string, int64_t> &bounds) {
  constexpr size_t manyOrders = 4;
  size_t orders =
      options.algorithm == MemoryAlgorithm::FirstFit ? 1 : manyOrders;
  for (const MemoryRegion &region : regions) {
    int64_t &bound = bounds[region.arena];
    bound = std::max(bound, region.lowerBound());
  }
  std::vector<Region> fitted;
  for (const MemoryRegion &region : regions) {
    int64_t enough = options.capacity.value_or(bounds[region.arena]);
    fitted.push_back(
        {region, fitRegion(region, enough, orders), region.lowerBound()});
    if (fitted.back().plan.peak == INT64_MAX)
      return invalidArgument("Q62: buffers that are fixed share bytes");
  }
  return fitted;
}

} // namespace

double MemoryPlan::gap() const {
  double gap = 0;
  for (const auto &[name, arena] : arenas)
    if (arena.lowerBound > 0)
      gap = std::max(gap, double(arena.peak - arena.lowerBound) /
                              double(arena.lowerBound));
  return gap;
}

int64_t MemoryPlan::peak() const {
  int64_t peak = 0;
  for (const auto &[name, arena] : arenas)
    peak = std::max(peak, arena.peak);
  return peak;
}

StatusOr<MemoryPlan>
hocket::planning::planMemory(const MemoryProblem &problem,
                             const MemoryOptions &options) {
  HOCKET_RETURN_IF_ERROR(checkMemoryProblem(problem));
  std::vector<MemoryRegion> regions = memoryRegions(problem);
  std::map<std::string, int64_t> bounds = memoryLowerBounds(problem);
  HOCKET_ASSIGN_OR_RETURN(std::vector<Region> fitted,
                          fitAll(regions, options, bounds));
  Planner planner(options);
  MemoryPlan plan;
  plan.offsets.assign(problem.buffers.size(), 0);
  for (const auto &[name, bound] : bounds)
    plan.arenas[name].lowerBound = bound;
  for (Region &region : fitted) {
    MemoryArena &arena = plan.arenas[region.items.arena];
    if (options.algorithm == MemoryAlgorithm::Search)
      planner.improve(region, options.capacity.value_or(arena.lowerBound));
    arena.lowerBound = std::max(arena.lowerBound, region.lowerBound);
    for (size_t i = 0; i < region.plan.offsets.size(); ++i)
      plan.offsets[region.items.items[i].buffer] = region.plan.offsets[i];
  }
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const MemoryBuffer &buffer = problem.buffers[i];
    if (buffer.host)
      plan.offsets[i] = plan.offsets[*buffer.host] + buffer.within;
    else if (buffer.offset)
      plan.offsets[i] = *buffer.offset;
  }
  for (const auto &[name, peak] : memoryPeaks(problem, plan.offsets))
    plan.arenas[name].peak = peak;
  return plan;
}
