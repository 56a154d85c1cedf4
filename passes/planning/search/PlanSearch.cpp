//===- PlanSearch.cpp - The fastest plans that fit ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/search/PlanSearch.h"

#include "passes/planning/cost/RankParameters.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>

using namespace hocket;
using namespace hocket::planning;

double SearchResult::gap() const {
  if (best.empty())
    return 0;
  double found = double(best[0].cost.nanoseconds());
  return std::max(0.0, (found - double(bound)) / found);
}

namespace {

/// The layers' work shared out evenly over pipeline ranks: no rank has less
/// than all have on average. Rounding to nanoseconds is allowed for.
int64_t roughNanoseconds(const CostProblem &problem, const ParallelPlan &plan,
                         const PartWork &parts) {
  double experts = double(problem.model.expertLayers());
  double dense = double(problem.model.layers) - experts;
  PassWork sum;
  auto add = [&](const PassWork &part, double times) {
    sum.forward += part.forward * times;
    sum.backward += part.backward * times;
    sum.again += part.again * times;
  };
  add(parts.dense, dense);
  add(parts.expert, experts);
  add(parts.input, 1);
  add(parts.output, 1);
  double seconds = sum.forward.seconds() + sum.backwardSeconds();
  double all = seconds * double(microbatchesOf(plan, problem.step)) /
               double(plan.pp) * 1e9;
  return int64_t(all * (1 - 1e-6)) - 100;
}

/// The state that ranks hold on average, sharded as far as ZeRO does.
int64_t roughBytes(const CostProblem &problem, const ParallelPlan &plan,
                   bool offloads) {
  ParallelPlan least = plan;
  least.offload = offloads ? Offload::Optimizer : Offload::None;
  least.zero = plan.dp * plan.cp > 1 ? 3 : 0;
  std::vector<int64_t> live(size_t(plan.pp), 0);
  double sum = 0;
  for (const RankMemory &memory : rankMemory(problem, least, live))
    sum +=
        double(memory[MemoryItem::Parameters] + memory[MemoryItem::Gradients] +
               memory[MemoryItem::Optimizer]);
  // A tied head that shares the embedding's rank is one copy fewer.
  return int64_t(sum / double(plan.pp) * 0.9);
}

/// A node of the queue. Equal times come in the order in which they were made,
/// prices first.
struct Node {
  int64_t nanoseconds;
  enum Kind : uint8_t { Price, Fine, Rough } kind;
  int64_t order;
  size_t rough, fine; ///< Which one.

  bool operator>(const Node &other) const {
    return std::tie(nanoseconds, kind, order) >
           std::tie(other.nanoseconds, other.kind, other.order);
  }
};

/// One run of the search.
class BestFirst {
public:
  BestFirst(PlanSearch &search, const SearchOptions &options)
      : search(search), problem(search.problem()), options(options) {}

  SearchResult run();

private:
  void push(int64_t nanoseconds, Node::Kind kind, size_t rough,
            size_t fine = 0) {
    queue.push({nanoseconds, kind, order++, rough, fine});
  }
  void expand(size_t rough);
  void price(size_t rough, size_t fine);
  void take(const Node &node);

  PlanSearch &search;
  const CostProblem &problem;
  const SearchOptions &options;
  std::priority_queue<Node, std::vector<Node>, std::greater<>> queue;
  int64_t order = 0, passes = 0;
  SearchResult result;
};

void BestFirst::expand(size_t index) {
  PlanSearch::Rough &rough = search.roughPlans()[index];
  if (!rough.fine)
    search.expand(rough);
  for (size_t i = 0; i < rough.fine->size(); ++i) {
    const PriceBound &bound = (*rough.fine)[i].bound;
    ++result.fine;
    if (bound.bytes <= options.memory)
      push(std::max(bound.nanoseconds, rough.bound.nanoseconds), Node::Fine,
           index, i);
  }
}

void BestFirst::price(size_t index, size_t fineIndex) {
  PlanSearch::Rough &rough = search.roughPlans()[index];
  PlanSearch::Fine &fine = (*rough.fine)[fineIndex];
  passes += 2 * fine.plan.stages() * microbatchesOf(fine.plan, problem.step);
  ++result.priced;
  if (!fine.cost)
    fine.cost = priceStages(problem, fine.plan,
                            stageCosts(problem, fine.plan, *rough.parts));
  const StatusOr<StepCost> &cost = *fine.cost;
  if (cost.ok() && fits(problem, *cost, options.memory))
    push(cost->nanoseconds(), Node::Price, index, fineIndex);
}

/// Adds a price that came out.
void BestFirst::take(const Node &node) {
  const PlanSearch::Fine &fine =
      (*search.roughPlans()[node.rough].fine)[node.fine];
  result.best.push_back({fine.plan, **fine.cost});
}

SearchResult BestFirst::run() {
  for (size_t i = 0; i < search.roughPlans().size(); ++i)
    if (const PriceBound &bound = search.roughPlans()[i].bound;
        bound.bytes <= options.memory)
      push(bound.nanoseconds, Node::Rough, i);
  result.rough = int64_t(queue.size());
  while (!queue.empty() && int64_t(result.best.size()) < options.top &&
         passes < options.mostPasses) {
    Node node = queue.top();
    queue.pop();
    if (node.kind == Node::Price)
      take(node);
    else if (node.kind == Node::Fine)
      price(node.rough, node.fine);
    else
      expand(node.rough);
  }
  result.bound = queue.empty() ? INT64_MAX : queue.top().nanoseconds;
  // Stopped early: the best that is known.
  while (!queue.empty() && int64_t(result.best.size()) < options.top) {
    if (queue.top().kind == Node::Price)
      take(queue.top());
    queue.pop();
  }
  return result;
}

} // namespace

PlanSearch::PlanSearch(CostProblem problem, PlanConstraints constraints)
    : priced(std::move(problem)), constraints(std::move(constraints)) {
  bool offloads = mayOffload(priced, this->constraints);
  for (ParallelPlan &plan : planning::roughPlans(priced, this->constraints)) {
    auto [parts, isNew] = works.try_emplace(
        PartKey(plan.cp, plan.tp, plan.ep, plan.expertTp, plan.microBatch,
                plan.sequenceParallel, plan.recompute));
    if (isNew)
      parts->second = partWork(priced, plan);
    Rough &rough = roughs.emplace_back();
    rough.bound = {roughNanoseconds(priced, plan, parts->second),
                   roughBytes(priced, plan, offloads)};
    rough.plan = std::move(plan);
    rough.parts = &parts->second;
  }
}

void PlanSearch::expand(Rough &rough) const {
  rough.fine.emplace();
  const ParallelPlan *before = nullptr;
  StageCosts stages;
  for (ParallelPlan &plan : finePlans(priced, rough.plan, constraints)) {
    // Plans that differ in ZeRO and the optimizer's place have the same stages.
    bool same = before && before->schedule == plan.schedule &&
                before->offloadsActivations() == plan.offloadsActivations() &&
                before->chunks == plan.chunks && before->layers == plan.layers;
    if (!same)
      stages = stageCosts(priced, plan, *rough.parts);
    PriceBound bound = priceBound(priced, plan, stages);
    rough.fine->push_back({std::move(plan), bound, std::nullopt});
    before = &rough.fine->back().plan;
  }
}

SearchResult PlanSearch::run(const SearchOptions &options) {
  return BestFirst(*this, options).run();
}

std::vector<PricedPlan> PlanSearch::paretoFront(const SearchOptions &options,
                                                int64_t steps) {
  std::vector<PricedPlan> front;
  SearchOptions narrower = options;
  narrower.top = 1;
  for (int64_t step = 0; step <= steps; ++step) {
    SearchResult result = run(narrower);
    if (result.best.empty())
      break;
    int64_t bytes = result.best[0].cost.bytes();
    front.push_back(std::move(result.best[0]));
    narrower.memory = bytes - std::max<int64_t>(1, bytes / 5);
  }
  return front;
}

SearchResult planning::searchExhaustively(const CostProblem &problem,
                                          const PlanConstraints &constraints,
                                          const SearchOptions &options) {
  SearchResult result;
  for (const ParallelPlan &rough : roughPlans(problem, constraints)) {
    ++result.rough;
    for (ParallelPlan &plan : finePlans(problem, rough, constraints)) {
      ++result.fine;
      StatusOr<StepCost> cost = priceStep(problem, plan);
      if (cost.ok() && fits(problem, *cost, options.memory))
        result.best.push_back({std::move(plan), std::move(*cost)});
    }
  }
  std::sort(result.best.begin(), result.best.end(),
            [](const PricedPlan &a, const PricedPlan &b) {
              return a.cost.nanoseconds() < b.cost.nanoseconds();
            });
  result.priced = int64_t(result.best.size());
  if (int64_t(result.best.size()) > options.top)
    result.best.resize(size_t(options.top));
  result.bound =
      result.best.empty() ? INT64_MAX : result.best[0].cost.nanoseconds();
  return result;
}
