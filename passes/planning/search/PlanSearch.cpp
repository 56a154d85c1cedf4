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
  LayerKinds kinds(problem.model);
  PassWork sum;
  auto add = [&](const PassWork &part, double times) {
    sum.forward += part.forward * times;
    sum.backward += part.backward * times;
    sum.again += part.again * times;
  };
  for (size_t kind = 0; kind < kinds.size(); ++kind)
    add(parts.layers[kind], double(kinds.layersOf(kind)));
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
  enum Kind : uint8_t { Price, Fine, Stages, Rough } kind;
  int64_t order;
  uint32_t rough, stages, fine; ///< Which one.
  uint32_t chunked = 0;         ///< 0: itself; else which of its chunked ones.

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
  /// `node` with another time and kind, once more.
  void push(Node node, int64_t nanoseconds, Node::Kind kind) {
    node.nanoseconds = nanoseconds;
    node.kind = kind;
    node.order = order++;
    queue.push(node);
  }
  void expandRough(Node node);
  void expandStages(Node node);
  void price(Node node);
  void take(const Node &node);

  PlanSearch::Rough &roughOf(const Node &node) {
    return search.roughPlans()[node.rough];
  }
  PlanSearch::Stages &stagesOf(const Node &node) {
    return (*roughOf(node).stages)[node.stages];
  }
  PlanSearch::Fine &fineOf(const Node &node) {
    PlanSearch::Fine &fine = (*stagesOf(node).fine)[node.fine];
    return node.chunked == 0 ? fine : fine.chunked[node.chunked - 1];
  }
  void pushFine(Node node, PlanSearch::Fine &fine);

  PlanSearch &search;
  const CostProblem &problem;
  const SearchOptions &options;
  std::priority_queue<Node, std::vector<Node>, std::greater<>> queue;
  int64_t order = 0, passes = 0;
  SearchResult result;
};

void BestFirst::expandRough(Node node) {
  PlanSearch::Rough &rough = roughOf(node);
  node.stages = 0;
  for (const PlanSearch::Stages &stages :
       search.stagesOf(rough, options.memory)) {
    result.fine += stages.plans;
    if (stages.plans > 0 && stages.bytes <= options.memory)
      push(node, std::max(*stages.nanoseconds, rough.bound.nanoseconds),
           Node::Stages);
    ++node.stages;
  }
}

void BestFirst::expandStages(Node node) {
  node.fine = 0;
  for (PlanSearch::Fine &fine : search.fineOf(roughOf(node), stagesOf(node))) {
    pushFine(node, fine);
    ++node.fine;
  }
}

/// The plan, and those with its loss in chunks until one has room.
void BestFirst::pushFine(Node node, PlanSearch::Fine &fine) {
  int64_t least = node.nanoseconds;
  const PlanSearch::Fine *variant = &fine;
  for (node.chunked = 0; variant; ++node.chunked) {
    least = std::max(least, variant->nanoseconds);
    if (fits(problem, variant->memory, options.memory))
      push(node, least, Node::Fine);
    if (fits(problem, variant->memory, options.roomy()))
      break;
    variant =
        search.chunkedOf(stagesOf(node), fine, node.chunked, options.memory);
  }
}

void BestFirst::price(Node node) {
  PlanSearch::Fine &fine = fineOf(node);
  passes += 2 * fine.plan.stages() * microbatchesOf(fine.plan, problem.step);
  ++result.priced;
  const StatusOr<StepCost> &cost = search.priceOf(stagesOf(node), fine);
  if (cost.ok())
    push(node, cost->nanoseconds(), Node::Price);
}

/// Adds a price that came out.
void BestFirst::take(const Node &node) {
  const PlanSearch::Fine &fine = fineOf(node);
  result.best.push_back({fine.plan, **fine.cost});
}

SearchResult BestFirst::run() {
  for (size_t i = 0; i < search.roughPlans().size(); ++i)
    if (const PriceBound &bound = search.roughPlans()[i].bound;
        bound.bytes <= options.memory)
      push({0, Node::Rough, 0, uint32_t(i), 0, 0}, bound.nanoseconds,
           Node::Rough);
  result.rough = int64_t(queue.size());
  while (!queue.empty() && int64_t(result.best.size()) < options.top &&
         passes < options.mostPasses) {
    Node node = queue.top();
    queue.pop();
    if (node.kind == Node::Price)
      take(node);
    else if (node.kind == Node::Fine)
      price(node);
    else if (node.kind == Node::Stages)
      expandStages(node);
    else
      expandRough(node);
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
    Rough &rough = roughs.emplace_back();
    rough.parts = &partsOf(plan);
    rough.bound = {roughNanoseconds(priced, plan, *rough.parts),
                   roughBytes(priced, plan, offloads)};
    rough.plan = std::move(plan);
  }
}

const PartWork &PlanSearch::partsOf(const ParallelPlan &plan) {
  auto [parts, isNew] = works.try_emplace(
      PartKey(plan.cp, plan.tp, plan.ep, plan.expertTp, plan.microBatch,
              plan.lossChunks, plan.sequenceParallel, plan.recompute));
  if (isNew)
    parts->second = partWork(priced, plan);
  return parts->second;
}

/// Of the plans with the stages of `pricer`, those of `plan`, the least time.
static int64_t leastTime(const StagePricer &pricer,
                         const std::vector<ParallelPlan> &states) {
  int64_t least = INT64_MAX;
  for (const ParallelPlan &state : states)
    least = std::min(least, pricer.leastNanoseconds(state));
  return least;
}

std::vector<PlanSearch::Stages> &PlanSearch::stagesOf(Rough &rough,
                                                      int64_t memory) {
  if (!rough.stages) {
    rough.stages.emplace();
    for (ParallelPlan &plan : stagePlans(priced, rough.plan, constraints))
      rough.stages->emplace_back().plan = std::move(plan);
  }
  bool offloads = mayOffload(priced, constraints);
  for (Stages &stages : *rough.stages) {
    if (stages.nanoseconds || stages.bytes > memory)
      continue;
    StagePricer pricer(priced, stages.plan,
                       stageCosts(priced, stages.plan, *rough.parts), orders);
    stages.bytes = pricer.leastBytes(offloads);
    std::vector<ParallelPlan> states =
        statePlans(priced, stages.plan, constraints);
    stages.plans = int64_t(states.size());
    if (stages.bytes <= memory)
      stages.nanoseconds = leastTime(pricer, states);
  }
  return *rough.stages;
}

std::vector<PlanSearch::Fine> &PlanSearch::fineOf(const Rough &rough,
                                                  Stages &stages) {
  if (stages.fine)
    return *stages.fine;
  stages.fine.emplace();
  StagePricer pricer(priced, stages.plan,
                     stageCosts(priced, stages.plan, *rough.parts), orders);
  for (ParallelPlan &plan : statePlans(priced, stages.plan, constraints)) {
    StatusOr<std::vector<RankMemory>> memory = pricer.memory(plan);
    if (!memory.ok()) // No schedule.
      continue;
    int64_t least = pricer.leastNanoseconds(plan);
    stages.fine->push_back(
        {std::move(plan), least, std::move(*memory), std::nullopt, {}});
  }
  return *stages.fine;
}

StagePricer &PlanSearch::pricerOf(Stages &stages, int64_t lossChunks) {
  std::unique_ptr<StagePricer> &pricer = stages.pricers[lossChunks];
  if (!pricer) {
    ParallelPlan plan = stages.plan;
    plan.lossChunks = lossChunks;
    pricer = std::make_unique<StagePricer>(
        priced, plan, stageCosts(priced, plan, partsOf(plan)), orders);
  }
  return *pricer;
}

/// Chunks free memory of the head's rank alone, and where logits are not kept
/// for W, at most them and what a cap reads beside them.
bool PlanSearch::mayFitInChunks(Stages &stages, const Fine &fine,
                                int64_t memory) {
  std::optional<ParallelPlan> most =
      withMoreLossChunks(priced, fine.plan, constraints);
  if (!most)
    return false;
  PipelineShape shape{fine.plan.pp, fine.plan.chunks, 1,
                      stagePlacement(fine.plan)};
  int64_t headRank = shape.rankOf(fine.plan.stages() - 1);
  for (int64_t rank = 0; rank < fine.plan.pp; ++rank) {
    const RankMemory &held = fine.memory[size_t(rank)];
    bool keepsLogits = splitsWeight(fine.plan.scheduleName());
    int64_t freed = rank == headRank ? 2 * held[MemoryItem::Logits] : 0;
    if (held.total() - freed > memory && !(rank == headRank && keepsLogits))
      return false;
  }
  while (auto more = withMoreLossChunks(priced, *most, constraints))
    most = std::move(more);
  StatusOr<std::vector<RankMemory>> least =
      pricerOf(stages, most->lossChunks).memory(*most);
  return least.ok() && fits(priced, *least, memory);
}

PlanSearch::Fine *PlanSearch::chunkedOf(Stages &stages, Fine &fine,
                                        size_t number, int64_t memory) {
  if (number == 0 && !mayFitInChunks(stages, fine, memory))
    return nullptr;
  if (number < fine.chunked.size())
    return &fine.chunked[number];
  const Fine &last = number == 0 ? fine : fine.chunked[number - 1];
  std::optional<ParallelPlan> plan =
      withMoreLossChunks(priced, last.plan, constraints);
  if (!plan)
    return nullptr;
  StagePricer &pricer = pricerOf(stages, plan->lossChunks);
  StatusOr<std::vector<RankMemory>> held = pricer.memory(*plan);
  if (!held.ok())
    return nullptr;
  int64_t least = pricer.leastNanoseconds(*plan);
  fine.chunked.push_back(
      {std::move(*plan), least, std::move(*held), std::nullopt, {}});
  return &fine.chunked.back();
}

const StatusOr<StepCost> &PlanSearch::priceOf(Stages &stages, Fine &fine) {
  if (!fine.cost)
    fine.cost = pricerOf(stages, fine.plan.lossChunks).price(fine.plan);
  return *fine.cost;
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
    for (const ParallelPlan &plan : finePlans(problem, rough, constraints)) {
      bool hasRoom = false;
      for (std::optional<ParallelPlan> variant = plan; variant && !hasRoom;
           variant = withMoreLossChunks(problem, *variant, constraints)) {
        ++result.fine;
        StatusOr<StepCost> cost = priceStep(problem, *variant);
        if (!cost.ok())
          break;
        hasRoom = fits(problem, cost->memory, options.roomy());
        if (fits(problem, cost->memory, options.memory))
          result.best.push_back({*variant, std::move(*cost)});
      }
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
