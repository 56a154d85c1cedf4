//===- StepCost.cpp - Time and memory of a training step ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/cost/StepCost.h"

#include "passes/planning/ResidualSlots.h"
#include "passes/planning/ScheduleGenerators.h"
#include "passes/planning/cost/AfterPasses.h"
#include "passes/planning/cost/PipelineTimes.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::planning;

std::string_view planning::spelled(TimeItem item) {
  constexpr std::string_view names[kTimeItems] = {
      "GEMMs",     "attention", "memory-bound kernels",
      "gaps",      "host",      "recompute",
      "tensor",    "context",   "expert",
      "transfers", "shared",    "bubble",
      "data",      "update",    "offload",
      "outside"};
  return names[size_t(item)];
}

int64_t StepCost::nanoseconds() const {
  int64_t sum = 0;
  for (int64_t item : items)
    sum += item;
  return sum;
}

int64_t StepCost::bytes() const { return memory[size_t(fullest)].total(); }

int64_t StepCost::hostBytes() const {
  int64_t most = 0;
  for (const RankMemory &rank : memory)
    most = std::max(most, rank.hostTotal());
  return most;
}

bool planning::fits(const CostProblem &problem, const StepCost &cost,
                    int64_t memory) {
  return cost.bytes() <= memory &&
         cost.hostBytes() <= problem.system.host_memory_bytes();
}

static int64_t wholeNanoseconds(double seconds) {
  return std::llround(seconds * 1e9);
}

/// One microbatch through one chunk, `times` over, into the items of `cost`.
static void addPasses(const PassWork &work, double times, StepCost &cost) {
  Work both = work.forward;
  both += work.backward;
  auto add = [&](TimeItem item, double seconds) {
    cost[item] += wholeNanoseconds(times * seconds);
  };
  add(TimeItem::Gemms, both.gemms);
  add(TimeItem::Attention, both.attention);
  add(TimeItem::Memory, both.memory);
  add(TimeItem::Gaps, both.gaps);
  add(TimeItem::Tensor, both.tensor);
  add(TimeItem::Context, both.context);
  add(TimeItem::Expert, both.expert);
  add(TimeItem::Host, work.forward.seconds() - work.forward.device() +
                          work.backward.seconds() - work.backward.device());
  add(TimeItem::Recompute, work.backwardSeconds() - work.backward.seconds());
}

std::optional<ProcessorShare>
planning::processorShare(const cluster::System &system,
                         const ParallelPlan &plan) {
  int64_t ofStage = plan.ranks() / plan.pp, ofNode = system.devices_per_node();
  ProcessorShare share;
  share.ranksOfNode = std::max<int64_t>(1, ofNode / ofStage);
  share.load = double(std::min(ofStage, ofNode));
  share.atOnce = system.devices_at_once();
  auto ranks = double(std::min(share.ranksOfNode, plan.pp));
  bool isEnough =
      !system.has_devices_at_once() || ranks * share.load <= share.atOnce;
  return isEnough ? std::nullopt : std::optional(share);
}

/// Has ranks take turns on processors, in their passes and in what comes after:
/// moves the ends of passes by as much. What each rank loses to others.
static StatusOr<std::vector<double>>
shareProcessors(const ParallelPlan &plan, const StageCosts &stages,
                const ProcessorShare &share,
                const std::vector<AfterPasses> &after, PipelineTimes &times) {
  if (!times.schedule) {
    HOCKET_ASSIGN_OR_RETURN(
        times.schedule, compiledSchedule(plan.scheduleName(), stages.schedule));
  }
  std::vector<double> tails, lost;
  for (const AfterPasses &one : after)
    tails.push_back(one.seconds() * 1e9);
  HOCKET_ASSIGN_OR_RETURN(
      std::vector<SharedRank> ranks,
      simulateShared(stages.schedule, *times.schedule, share, tails));
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    times.ends[rank] = ranks[rank].end - tails[rank];
    lost.push_back(ranks[rank].lost);
  }
  return std::move(lost);
}

/// The rank whose passes, sums and update end last.
static int64_t lastRank(const PipelineTimes &times,
                        const std::vector<AfterPasses> &after) {
  int64_t last = 0;
  double latest = -1;
  for (size_t rank = 0; rank < times.ends.size(); ++rank) {
    double end = times.ends[rank] * 1e-9 + after[rank].seconds();
    if (end > latest) {
      latest = end;
      last = int64_t(rank);
    }
  }
  return last;
}

static void fillItems(const CostProblem &problem, const StageCosts &stages,
                      const PipelineTimes &times,
                      const std::vector<AfterPasses> &after,
                      const std::vector<double> &lost, StepCost &cost) {
  const PipelineShape &shape = stages.schedule.shape;
  size_t rank = size_t(cost.busiest);
  double microbatches = double(shape.microbatches);
  double offload = after[rank].offload;
  for (int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
    size_t index = rank * size_t(shape.chunks) + size_t(chunk);
    addPasses(stages.chunks[index], microbatches, cost);
    offload += microbatches * stages.offload[index];
  }
  cost[TimeItem::Transfers] = wholeNanoseconds(
      2 * stages.transferSeconds * double(shape.chunks) * microbatches);
  cost[TimeItem::Shared] = std::llround(lost[rank]);
  int64_t end = std::llround(times.ends[rank]);
  cost[TimeItem::Offload] = wholeNanoseconds(offload);
  // What rounding left over is counted as waiting; what it added, a nanosecond
  // an item at most, is taken off the largest, as nobody waits for less than 0.
  int64_t bubble =
      end - cost.nanoseconds() + wholeNanoseconds(after[rank].offload);
  if (bubble < 0)
    *std::max_element(cost.items.begin(), cost.items.end()) += bubble;
  cost[TimeItem::Bubble] = std::max<int64_t>(bubble, 0);
  cost[TimeItem::Data] = wholeNanoseconds(after[rank].data);
  cost[TimeItem::Update] = wholeNanoseconds(after[rank].update);
  cost[TimeItem::Outside] =
      wholeNanoseconds(problem.system.software().step_seconds());
}

static Status checkRanks(const CostProblem &problem, const ParallelPlan &plan) {
  HOCKET_RETURN_IF_ERROR(checkShapes(problem.model, problem.step));
  HOCKET_RETURN_IF_ERROR(checkPlan(plan, problem.model, problem.step));
  if (plan.offload != Offload::None && !problem.system.has_host_link())
    return invalidArgument(
        "plan: offload=" + std::string(spelled(plan.offload)) +
        ": the description of " + problem.system.name() + " has no host_link");
  if (plan.ranks() == problem.devices)
    return okStatus();
  return invalidArgument(
      "plan: pp * dp * cp * tp is " + std::to_string(plan.ranks()) +
      ", but the cluster has " + std::to_string(problem.devices) + " devices");
}

StatusOr<StepCost> planning::priceStep(const CostProblem &problem,
                                       const ParallelPlan &plan) {
  HOCKET_RETURN_IF_ERROR(checkRanks(problem, plan));
  return priceStages(problem, plan,
                     stageCosts(problem, plan, partWork(problem, plan)));
}

/// Schedules that split the backward are granted the room that they are made
/// for, which is that of 1F1B: as many microbatches as there are ranks.
static int64_t roomOfSplit(const StageCosts &stages, int64_t rank) {
  const PipelineShape &shape = stages.schedule.shape;
  int64_t bytes = 0;
  for (int64_t chunk = 0; chunk < shape.chunks; ++chunk)
    bytes += stages.schedule.cost(rank, chunk).memory;
  int64_t ahead = shape.chunks == 1 ? shape.ranks - rank : shape.ranks;
  return bytes * std::min(ahead, shape.microbatches);
}

/// What programs hold of a split backward: as many copies of each kind of
/// residuals as its fragments keep (ResidualSlots.h).
static void countCopies(const StageCosts &stages, PipelineTimes &times) {
  auto slotsOf = [&](ResidualLife life) {
    return assignSlots(*times.schedule, life);
  };
  SlotPlan toBackward = slotsOf(ResidualLife::ForwardToBackward),
           toWeight = slotsOf(ResidualLife::ForwardToWeight),
           after = slotsOf(ResidualLife::BackwardToWeight);
  const PipelineShape &shape = stages.schedule.shape;
  for (int64_t rank = 0; rank < shape.ranks; ++rank) {
    int64_t bytes = 0;
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
      const auto &split = stages.split[size_t(rank * shape.chunks + chunk)];
      int64_t all = stages.schedule.cost(rank, chunk).memory;
      bytes += toBackward.count(rank, chunk) * (all - split.toWeight) +
               toWeight.count(rank, chunk) * split.toWeight +
               after.count(rank, chunk) * split.afterBackward;
    }
    times.live[size_t(rank)] = bytes;
  }
}

StatusOr<StepCost> planning::priceStages(const CostProblem &problem,
                                         const ParallelPlan &plan,
                                         const StageCosts &stages) {
  HOCKET_ASSIGN_OR_RETURN(PipelineTimes times,
                          pipelineTimes(plan.scheduleName(), stages.schedule));
  std::vector<AfterPasses> after = afterPasses(problem, plan, stages);
  std::vector<double> lost(after.size(), 0);
  if (auto share = processorShare(problem.system, plan)) {
    HOCKET_ASSIGN_OR_RETURN(
        lost, shareProcessors(plan, stages, *share, after, times));
  }
  StepCost cost;
  cost.busiest = lastRank(times, after);
  fillItems(problem, stages, times, after, lost, cost);
  bool split = stages.schedule.splitWeight;
  if (split && problem.compiled && times.schedule)
    countCopies(stages, times);
  // Counted in programs: the rank of the head keeps one chunk more.
  if (!split && problem.compiled && plan.chunks > 1)
    times.live.back() += stages.schedule.cost(plan.pp - 1, 0).memory;
  for (size_t rank = 0; split && !problem.compiled && rank < times.live.size();
       ++rank)
    times.live[rank] =
        std::max(times.live[rank], roomOfSplit(stages, int64_t(rank)));
  cost.memory = rankMemory(problem, plan, times.live);
  auto most = std::max_element(cost.memory.begin(), cost.memory.end(),
                               [](const RankMemory &a, const RankMemory &b) {
                                 return a.total() < b.total();
                               });
  cost.fullest = most - cost.memory.begin();
  return cost;
}

/// Bytes that rank 0 holds at once under every schedule of the plan's kind.
static int64_t leastLive(const ParallelPlan &plan, const StageCosts &stages,
                         bool compiled) {
  const ScheduleProblem &problem = stages.schedule;
  const PipelineShape &shape = problem.shape;
  if (problem.splitWeight && !compiled)
    return roomOfSplit(stages, 0);
  if (problem.splitWeight)
    return std::min(shape.ranks, shape.microbatches) *
           problem.cost(0, 0).memory;
  int64_t most = shape.chunks * shape.microbatches;
  int64_t count = plan.chunks == 1 ? shape.ranks
                                   : 2 * (shape.ranks - 1) +
                                         (shape.chunks - 1) * shape.ranks + 1;
  int64_t least = INT64_MAX;
  for (int64_t chunk = 0; chunk < shape.chunks; ++chunk)
    least = std::min(least, problem.cost(0, chunk).memory);
  return std::min(most, count) * least;
}

PriceBound planning::priceBound(const CostProblem &problem,
                                const ParallelPlan &plan,
                                const StageCosts &stages) {
  std::vector<AfterPasses> after = afterPasses(problem, plan, stages);
  const PipelineShape &shape = stages.schedule.shape;
  bool split = stages.schedule.splitWeight;
  double lead = 0, tail = 0, longest = 0, first = after[0].seconds() * 1e9;
  auto share = processorShare(problem.system, plan);
  double ofNode = 0;
  for (int64_t rank = 0; rank < shape.ranks; ++rank) {
    double work = 0;
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
      const ChunkCost &cost = stages.schedule.cost(rank, chunk);
      work += cost.forward + cost.backward + cost.weight;
    }
    work *= double(shape.microbatches);
    double own = after[size_t(rank)].seconds() * 1e9;
    longest = std::max(longest, lead + work + own);
    if (share && rank < share->ranksOfNode)
      ofNode += (work + own) * share->load / share->atOnce;
    if (!split)
      longest = std::max(longest, lead + work + tail + first);
    const ChunkCost &cost = stages.schedule.cost(rank, 0);
    lead += cost.forward + stages.schedule.transfer;
    tail += cost.backward + cost.weight + stages.schedule.transfer;
  }
  longest = std::max(longest, ofNode);
  PriceBound bound;
  // What items' rounding may take away is less than one nanosecond each.
  bound.nanoseconds =
      int64_t(longest) - int64_t(kTimeItems) +
      wholeNanoseconds(problem.system.software().step_seconds());
  std::vector<int64_t> live(size_t(plan.pp), 0);
  live[0] = leastLive(plan, stages, problem.compiled);
  for (const RankMemory &memory : rankMemory(problem, plan, live))
    bound.bytes = std::max(bound.bytes, memory.total());
  return bound;
}

double planning::spreadOf(const CostProblem &problem) {
  bool one = problem.devices <= problem.system.devices_per_node();
  const cluster::Spread &spread = problem.system.spread();
  if (problem.model.experts > 0)
    return spread.experts();
  return one ? spread.one_node() : spread.many_nodes();
}
