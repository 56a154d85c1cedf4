//===- FittingPlan.cpp - The fastest plan that fits when compiled ---------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/search/FittingPlan.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::planning;

double FittingResult::gap() const {
  if (!found)
    return 0;
  double time = double(best().cost.nanoseconds());
  return std::max(0.0, (time - double(bound)) / time);
}

namespace {

/// Plans that are listed at first, and how many times more the next time.
constexpr int64_t firstListed = 64, listedMore = 4, mostListed = 4096;

/// Measures plans in the order of their times.
class FittingSearch {
public:
  FittingSearch(const FittingOptions &options, const MeasureBytes &measure)
      : options(options), measure(measure) {}

  FittingResult run(PlanSearch &search);

private:
  /// What the bytes of plans have in common that their prices do not know.
  using Kind = std::tuple<std::string, int64_t, Recompute, bool>;
  static Kind kindOf(const ParallelPlan &plan) {
    return {plan.scheduleName(), plan.chunks, plan.recompute,
            plan.lossChunks > 1};
  }

  bool isHopeless(const PricedPlan &plan) const;
  void take(const PricedPlan &plan);
  bool isOver() const {
    return result.found ||
           int64_t(result.measured.size()) >= options.mostMeasured;
  }

  const FittingOptions &options;
  const MeasureBytes &measure;
  std::map<Kind, double> leastRatio;
  FittingResult result;
};

bool FittingSearch::isHopeless(const PricedPlan &plan) const {
  auto known = leastRatio.find(kindOf(plan.plan));
  return known != leastRatio.end() &&
         double(plan.cost.bytes()) * known->second > double(options.memory);
}

void FittingSearch::take(const PricedPlan &plan) {
  if (isHopeless(plan)) {
    if (result.skipped++ == 0)
      result.bound = plan.cost.nanoseconds();
    return;
  }
  StatusOr<int64_t> bytes = measure(plan);
  result.measured.push_back({plan, bytes});
  if (!bytes.ok())
    return;
  result.found = *bytes <= options.memory;
  double ratio =
      double(*bytes) / double(std::max<int64_t>(1, plan.cost.bytes()));
  auto [known, isNew] = leastRatio.try_emplace(kindOf(plan.plan), ratio);
  known->second = std::min(known->second, ratio);
}

FittingResult FittingSearch::run(PlanSearch &search) {
  SearchOptions listing;
  listing.memory = options.memory;
  if (options.memory < INT64_MAX / 2) {
    auto doubt = int64_t(double(options.memory) * options.doubt);
    listing.chunksAbove = options.memory - doubt;
    listing.memory += doubt;
  }
  size_t next = 0;
  for (listing.top = firstListed; !isOver() && listing.top <= mostListed;
       listing.top *= listedMore) {
    SearchResult listed = search.run(listing);
    for (; next < listed.best.size() && !isOver(); ++next)
      take(listed.best[next]);
    if (int64_t(listed.best.size()) < listing.top)
      break;
  }
  if (result.found && result.skipped == 0)
    result.bound = result.best().cost.nanoseconds();
  return std::move(result);
}

} // namespace

FittingResult planning::findFittingPlan(PlanSearch &search,
                                        const FittingOptions &options,
                                        const MeasureBytes &measure) {
  return FittingSearch(options, measure).run(search);
}
