//===- WhyNot.cpp - What keeps a plan from being best ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/planning/WhyNot.h"

#include "base/Format.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::planning;

static std::string gibibyteText(int64_t bytes) {
  return formatText("%.2f GiB", double(bytes) / double(1 << 30));
}

/// " activations 3.10 GiB, parameters 1.20 GiB": the largest first.
static std::string partsText(const std::array<int64_t, kMemoryItems> &items) {
  std::vector<size_t> order;
  for (size_t item = 0; item < kMemoryItems; ++item)
    if (items[item] > 0)
      order.push_back(item);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(items[b], a) < std::pair(items[a], b);
  });
  std::string text;
  for (size_t item : order)
    text += (item == order[0] ? " " : ", ") +
            std::string(spelled(MemoryItem(item))) + " " +
            gibibyteText(items[item]);
  return text;
}

std::string hocket::overflowText(const CostProblem &problem,
                                 const StepCost &cost, int64_t memory) {
  bool isHost = cost.bytes() <= memory;
  auto rank = size_t(cost.fullest);
  if (isHost)
    rank =
        size_t(std::max_element(cost.memory.begin(), cost.memory.end(),
                                [](const RankMemory &a, const RankMemory &b) {
                                  return a.hostTotal() < b.hostTotal();
                                }) -
               cost.memory.begin());
  const RankMemory &held = cost.memory[rank];
  int64_t needed = isHost ? held.hostTotal() : held.total();
  int64_t limit = isHost ? problem.system.host_memory_bytes() : memory;
  return "pipeline rank " + std::to_string(rank) + " needs " +
         gibibyteText(needed) + (isHost ? " of the host's memory, " : ", ") +
         gibibyteText(needed - limit) + " more than the " +
         gibibyteText(limit) +
         " that it may use:" + partsText(isHost ? held.host : held.items);
}

/// Why no plan of the space has these values: what checkPlan says of them, with
/// the rest of the devices as data-parallel ranks.
static std::string reasonOfNone(const CostProblem &problem,
                                const PlanConstraints &constraints) {
  ParallelPlan plan = constraints.plan();
  int64_t used = plan.pp * plan.tp * plan.cp;
  bool open = constraints.text().find("dp=") == std::string::npos;
  if (open && used > 0 && problem.devices % used == 0)
    plan.dp = problem.devices / used;
  Status wrong = checkPlan(plan, problem.model, problem.step);
  if (!wrong.ok())
    return wrong.message();
  if (plan.ranks() != problem.devices)
    return "its axes do not multiply to " + std::to_string(problem.devices) +
           " devices";
  return "it is outside of the space that is searched (docs/planning.md)";
}

StatusOr<std::string> hocket::whyNot(const CostProblem &problem,
                                     const std::string &text, int64_t memory,
                                     const PricedPlan &best) {
  HOCKET_ASSIGN_OR_RETURN(PlanConstraints constraints,
                          PlanConstraints::parse(text));
  PlanSearch search(problem, constraints);
  SearchOptions options;
  options.memory = memory;
  SearchResult result = search.run(options);
  std::string named = "The fastest plan with " + text;
  if (result.best.empty()) {
    SearchResult any = search.run({});
    if (any.best.empty())
      return "There is no plan with " + text + ": " +
             reasonOfNone(problem, constraints) + ".\n";
    // The one that comes nearest to fitting.
    PricedPlan nearest = any.best[0];
    for (PricedPlan &plan : search.paretoFront({}, 24))
      if (plan.cost.bytes() < nearest.cost.bytes())
        nearest = std::move(plan);
    return "No plan with " + text + " fits. Of " + printPlan(nearest.plan) +
           ", which comes nearest,\n" +
           overflowText(problem, nearest.cost, memory) + ".\n";
  }
  const PricedPlan &found = result.best[0];
  int64_t more = found.cost.nanoseconds() - best.cost.nanoseconds();
  if (found.plan == best.plan || more <= 0)
    return named + " is as fast as the best:\n" + printPlan(found.plan) + "\n" +
           summaryText(problem, found.cost) + "\n";
  return named + ",\n  " + printPlan(found.plan) + "\nis " +
         formatDuration(double(more) * 1e-9) +
         formatText(" (%.1f%%)",
                    100 * double(more) / double(best.cost.nanoseconds())) +
         " slower than the best,\n  " + printPlan(best.plan) + "\n\n" +
         differenceText(itemsOf(best.cost), itemsOf(found.cost));
}
