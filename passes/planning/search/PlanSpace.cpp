//===- PlanSpace.cpp - Which plans there are ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/search/PlanSpace.h"

#include "passes/planning/StageBalance.h"

#include <algorithm>
#include <numeric>
#include <set>

using namespace hocket;
using namespace hocket::planning;

namespace {

constexpr int64_t mostContext = 16, leastContextTokens = 2048;
constexpr int64_t mostMicroBatch = 32, mostChunks = 12;
constexpr int64_t mostSplitCells = 8192;
constexpr int64_t mostLossChunks = 8;

bool isFine(std::string_view key) {
  return key == "v" || key == "zero" || key == "schedule" || key == "offload" ||
         key == "layers";
}

} // namespace

StatusOr<PlanConstraints> PlanConstraints::parse(const std::string &text) {
  PlanConstraints constraints;
  HOCKET_ASSIGN_OR_RETURN(constraints.fixed, parsePlan(text));
  HOCKET_ASSIGN_OR_RETURN(auto entries, splitPlan(text));
  for (const auto &[key, value] : entries)
    constraints.values[key] = printValue(constraints.fixed, key);
  constraints.written = text;
  return constraints;
}

bool PlanConstraints::allow(const ParallelPlan &plan, bool rough) const {
  for (const auto &[key, value] : values) {
    if (rough && isFine(key))
      continue;
    if (printValue(plan, key) != value)
      return false;
  }
  return true;
}

namespace {

/// Collects rough plans, axis by axis.
class RoughPlans {
public:
  RoughPlans(const CostProblem &problem, const PlanConstraints &constraints)
      : problem(problem), constraints(constraints) {}

  std::vector<ParallelPlan> all() {
    const ModelShape &model = problem.model;
    PlanSizes sizes = planSizes(model, problem.step);
    bool attends = sizes.heads > 0 || sizes.stateHeads == 0;
    int64_t heads = attends ? model.heads : sizes.stateHeads;
    if (sizes.visionHeads > 0)
      heads = std::gcd(heads, sizes.visionHeads);
    for (int64_t pp : divisors(problem.devices, model.layers))
      for (int64_t tp : divisors(heads, problem.system.devices_per_node()))
        for (int64_t cp = 1; cp <= mostContext; cp *= 2)
          if (problem.devices % (pp * tp * cp) == 0)
            addAxes(pp, tp, cp);
    return std::move(plans);
  }

private:
  void addAxes(int64_t pp, int64_t tp, int64_t cp);
  void addExperts(ParallelPlan plan);
  void addPasses(ParallelPlan plan);

  const CostProblem &problem;
  const PlanConstraints &constraints;
  std::vector<ParallelPlan> plans;
};

void RoughPlans::addAxes(int64_t pp, int64_t tp, int64_t cp) {
  const StepShape &step = problem.step;
  ParallelPlan plan;
  plan.lossChunks = constraints.plan().lossChunks;
  plan.pp = pp;
  plan.tp = tp;
  plan.cp = cp;
  plan.dp = problem.devices / (pp * tp * cp);
  bool shares = step.sequence % cp == 0 && step.encoderSequence % cp == 0 &&
                step.neighborTokens % cp == 0 &&
                (cp == 1 || step.sequence / cp >= leastContextTokens);
  if (!shares || batchUnit(step) % plan.dp != 0)
    return;
  plan.sequenceParallel = tp > 1 && step.sequence % (cp * tp) == 0 &&
                          step.encoderSequence % (cp * tp) == 0 &&
                          step.neighborTokens % (cp * tp) == 0;
  PlanSizes sizes = planSizes(problem.model, step);
  if (sizes.stateHeads > 0 && !brokenRules(plan, sizes).empty())
    return; // Whose heads and groups are not shared out so.
  if (plan.sequenceParallel && !brokenBlocks(plan, sizes).empty())
    plan.sequenceParallel = false; // Fewer shards may be whole blocks.
  if (!brokenBlocks(plan, sizes).empty())
    return;
  for (int64_t size : divisors(batchUnit(step) / plan.dp, mostMicroBatch)) {
    if (step.microbatch > 0 && size * plan.dp != step.microbatch)
      continue;
    plan.microBatch = size;
    if (plan.lossChunks == 1 || checkPlan(plan, problem.model, step).ok())
      addExperts(plan);
  }
}

void RoughPlans::addExperts(ParallelPlan plan) {
  int64_t holders = plan.dp * plan.cp * plan.tp;
  if (problem.model.experts == 0)
    return addPasses(plan);
  for (int64_t ep : divisors(problem.model.experts, holders)) {
    plan.ep = ep;
    for (int64_t expertTp : divisors(plan.tp, plan.tp)) {
      plan.expertTp = expertTp == plan.tp ? 0 : expertTp;
      // Tensor ranks that share no expert send tokens of their own (S37).
      bool haveTokens = plan.expertTp == 0 || plan.sequenceParallel;
      if (haveTokens && holders % (ep * expertTp) == 0)
        addPasses(plan);
    }
  }
}

void RoughPlans::addPasses(ParallelPlan plan) {
  // What there is to make again: scores, or, compiled, what norms leave.
  bool stores = problem.compiled ||
                problem.system.software().attention() == 0 ||
                constraints.name("modules");
  for (Recompute recompute :
       {Recompute::None, Recompute::Selective, Recompute::Full}) {
    if (recompute == Recompute::Selective && !stores)
      continue;
    plan.recompute = recompute;
    plan.modules = recompute == Recompute::Selective
                       ? constraints.plan().modules
                       : RecomputeModules();
    if (constraints.allow(plan, true))
      plans.push_back(plan);
  }
}

/// Layers of stages, `fromFirst` and `fromLast` fewer than an even share in
/// the first and the last. Empty where that cannot be.
std::vector<int64_t> shiftedLayers(int64_t layers, int64_t stages,
                                   int64_t fromFirst, int64_t fromLast) {
  int64_t share = layers / stages;
  int64_t first = share - fromFirst, last = share - fromLast;
  if (first < 1 || last < 1 || stages < 2 || (stages == 2 && fromFirst > 0))
    return {};
  if (stages == 2)
    return {layers - last, last};
  std::vector<int64_t> split = evenLayers(layers - first - last, stages - 2);
  split.insert(split.begin(), first);
  split.push_back(last);
  return split;
}

/// What layers of several kinds take, forward and backward, to be shared out
/// over stages; before the first of them, with the images that it sees.
StageBalanceProblem balanceOf(const CostProblem &problem,
                              const ParallelPlan &rough) {
  StageBalanceProblem balance;
  PartWork parts = partWork(problem, rough);
  auto seconds = [](const PassWork &work) {
    return work.forward.seconds() + work.backwardSeconds();
  };
  LayerKinds kinds(problem.model);
  for (int64_t layer = 0; layer < problem.model.layers; ++layer)
    balance.layers.push_back(seconds(parts.layers[kinds.kindOf(layer)]));
  balance.embedding = seconds(parts.input);
  balance.head = seconds(parts.output);
  return balance;
}

/// As even as can be, with fewer layers at the ends and, where `balance` has
/// what layers take, as even as their times.
std::vector<std::vector<int64_t>> splitsOf(int64_t layers, int64_t stages,
                                           StageBalanceProblem &balance) {
  std::vector<std::vector<int64_t>> splits = {{}};
  std::set<std::vector<int64_t>> seen = {evenLayers(layers, stages)};
  if (!balance.layers.empty()) {
    balance.stages = stages;
    StatusOr<StageCut> cut = balanceStages(balance);
    if (cut.ok() && seen.insert(cut->counts).second)
      splits.push_back(std::move(cut->counts));
  }
  for (int64_t fromFirst : {0, 1})
    for (int64_t fromLast : {0, 1, 2}) {
      auto split = shiftedLayers(layers, stages, fromFirst, fromLast);
      if (!split.empty() && seen.insert(split).second)
        splits.push_back(std::move(split));
    }
  return splits;
}

struct ScheduleChoice {
  const char *name;
  int64_t chunks;
};

std::vector<ScheduleChoice> schedulesOf(const CostProblem &problem,
                                        const ParallelPlan &rough) {
  std::vector<ScheduleChoice> choices = {{"", 1}};
  if (rough.pp == 1)
    return choices;
  int64_t microbatches = microbatchesOf(rough, problem.step);
  int64_t most = std::min(mostChunks, problem.model.layers / rough.pp);
  for (int64_t chunks = 2; chunks <= most; ++chunks)
    // Those of every batch, where it grows.
    if (batchUnit(problem.step) / (rough.dp * rough.microBatch) % rough.pp == 0)
      choices.push_back({"", chunks});
  if (rough.pp * microbatches <= mostSplitCells)
    choices.push_back({"zb-h1", 1});
  if (most >= 2 && 2 * rough.pp * microbatches <= mostSplitCells)
    choices.push_back({"zb-v", 2});
  return choices;
}

/// The plan with its activations on the device and, if they may go to the host,
/// there.
void addPlaces(const CostProblem &problem, ParallelPlan plan,
               const PlanConstraints &constraints,
               std::vector<ParallelPlan> &plans) {
  plan.offload = Offload::None;
  plans.push_back(plan);
  if (!mayOffload(problem, constraints) || splitsWeight(plan.scheduleName()))
    return;
  plan.offload = Offload::Activations;
  plans.push_back(std::move(plan));
}

} // namespace

bool planning::mayOffload(const CostProblem &problem,
                          const PlanConstraints &constraints) {
  return problem.system.has_host_link() &&
         (problem.mayOffload || constraints.name("offload"));
}

std::vector<ParallelPlan>
planning::roughPlans(const CostProblem &problem,
                     const PlanConstraints &constraints) {
  return RoughPlans(problem, constraints).all();
}

std::vector<ParallelPlan>
planning::stagePlans(const CostProblem &problem, const ParallelPlan &rough,
                     const PlanConstraints &constraints) {
  std::vector<ParallelPlan> plans;
  // Splits that are written out are looked at, and no other is.
  const std::vector<int64_t> &written = constraints.plan().layers;
  StageBalanceProblem balance;
  bool differs =
      problem.model.kinds.size() > 1 || problem.model.vision.layers > 0;
  if (differs && rough.pp > 1 && written.empty())
    balance = balanceOf(problem, rough);
  for (const ScheduleChoice &choice : schedulesOf(problem, rough)) {
    ParallelPlan plan = rough;
    plan.schedule = choice.name;
    plan.chunks = choice.chunks;
    auto splits = written.empty()
                      ? splitsOf(problem.model.layers, plan.stages(), balance)
                      : std::vector<std::vector<int64_t>>{written};
    for (auto &split : splits) {
      plan.layers = std::move(split);
      if (written.empty() || checkPlan(plan, problem.model, problem.step).ok())
        addPlaces(problem, plan, constraints, plans);
    }
  }
  return plans;
}

std::vector<ParallelPlan>
planning::statePlans(const CostProblem &problem, const ParallelPlan &plan,
                     const PlanConstraints &constraints) {
  std::vector<ParallelPlan> plans;
  // Chunks of a loss add up the head's whole gradient (S118).
  int64_t mostZero = plan.dp * plan.cp == 1 ? 0 : plan.lossChunks > 1 ? 1 : 3;
  ParallelPlan variant = plan;
  for (bool moves : {false, true}) {
    if (moves && !mayOffload(problem, constraints))
      continue;
    if (moves)
      variant.offload =
          plan.offloadsActivations() ? Offload::All : Offload::Optimizer;
    for (variant.zero = 0; variant.zero <= mostZero; ++variant.zero)
      if (constraints.allow(variant, false))
        plans.push_back(variant);
  }
  return plans;
}

std::optional<ParallelPlan>
planning::withMoreLossChunks(const CostProblem &problem,
                             const ParallelPlan &plan,
                             const PlanConstraints &constraints) {
  ParallelPlan chunked = plan;
  chunked.lossChunks *= 2;
  int64_t tokens = plan.microBatch * (problem.step.sequence / plan.cp);
  bool isOfSpace =
      problem.compiled && plan.zero < 2 && problem.model.classes == 0 &&
      problem.model.predicted == 0 && chunked.lossChunks <= mostLossChunks &&
      tokens % chunked.lossChunks == 0 && constraints.allow(chunked, false);
  return isOfSpace ? std::optional(std::move(chunked)) : std::nullopt;
}

std::vector<ParallelPlan>
planning::finePlans(const CostProblem &problem, const ParallelPlan &rough,
                    const PlanConstraints &constraints) {
  std::vector<ParallelPlan> plans;
  for (const ParallelPlan &stages : stagePlans(problem, rough, constraints))
    for (ParallelPlan &plan : statePlans(problem, stages, constraints))
      plans.push_back(std::move(plan));
  return plans;
}
