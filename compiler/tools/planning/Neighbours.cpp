//===- Neighbours.cpp - Plans one change away -----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/planning/Neighbours.h"

#include "base/Format.h"
#include "compiler/tools/planning/WhyNot.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::planning;

namespace {

/// A key of the short text form, and its value in the best plan.
struct Choice {
  std::string key, value;
};

std::vector<Choice> choicesOf(const ParallelPlan &plan) {
  auto text = [](int64_t value) { return std::to_string(value); };
  return {{"pp", text(plan.pp)},
          {"cp", text(plan.cp)},
          {"tp", text(plan.tp)},
          {"ep", text(plan.ep)},
          {"mbs", text(plan.microBatch)},
          {"v", text(plan.chunks)},
          {"zero", text(plan.zero)},
          {"recompute", std::string(spelled(plan.recompute))},
          {"loss_chunks", text(plan.lossChunks)},
          {"offload", std::string(spelled(plan.offload))},
          {"schedule", plan.scheduleName()}};
}

std::vector<std::string> otherValues(const Choice &choice) {
  if (choice.key == "recompute")
    return {"none", "selective", "full"};
  if (choice.key == "offload")
    return {"none", "optimizer", "activations", "all"};
  if (choice.key == "schedule")
    return {"1f1b", "interleaved-1f1b", "zb-h1", "zb-v"};
  if (choice.key == "zero")
    return {"0", "1", "2", "3"};
  int64_t value = std::stoll(choice.value);
  std::vector<std::string> values = {std::to_string(2 * value)};
  if (value % 2 == 0)
    values.push_back(std::to_string(value / 2));
  return values;
}

/// Where most of the additional time goes.
std::string largestLoss(const StepCost &from, const StepCost &to) {
  size_t item = 0;
  for (size_t i = 1; i < kTimeItems; ++i)
    if (to.items[i] - from.items[i] > to.items[item] - from.items[item])
      item = i;
  return std::string(spelled(TimeItem(item))) +
         formatText(" %+.1f ms",
                    double(to.items[item] - from.items[item]) * 1e-6);
}

/// The best plan with `changed`, all that it does not force kept. A schedule
/// and its virtual stages go together.
std::string constraintText(const std::vector<Choice> &choices,
                           const Choice &changed) {
  std::string text = changed.key + "=" + changed.value;
  bool timing =
      changed.key == "schedule" || changed.key == "v" || changed.key == "pp";
  for (const Choice &choice : choices) {
    bool free = choice.key == changed.key ||
                (timing && (choice.key == "schedule" || choice.key == "v"));
    if (!free)
      text += "," + choice.key + "=" + choice.value;
  }
  return text;
}

} // namespace

std::vector<Neighbour> hocket::neighboursOf(const CostProblem &problem,
                                            const PricedPlan &best,
                                            int64_t memory) {
  std::vector<Neighbour> neighbours;
  std::vector<Choice> choices = choicesOf(best.plan);
  if (!problem.mayOffload)
    std::erase_if(choices,
                  [](const Choice &choice) { return choice.key == "offload"; });
  for (const Choice &choice : choices)
    for (const std::string &value : otherValues(choice)) {
      if (value == choice.value)
        continue;
      auto constraints =
          PlanConstraints::parse(constraintText(choices, {choice.key, value}));
      if (!constraints.ok())
        continue;
      SearchResult found = PlanSearch(problem, *constraints).run({});
      if (found.best.empty())
        continue;
      const PricedPlan &plan = found.best[0];
      int64_t more = plan.cost.nanoseconds() - best.cost.nanoseconds();
      std::string reason;
      if (!fits(problem, plan.cost.memory, memory))
        reason = overflowText(problem, plan.cost, memory);
      else
        reason =
            formatText("%.3f s (%+.2f%%), most of it ", plan.cost.seconds(),
                       100 * double(more) / double(best.cost.nanoseconds())) +
            largestLoss(best.cost, plan.cost);
      neighbours.push_back(
          {choice.key + "=" + value, printPlan(plan.plan), reason});
    }
  return neighbours;
}
