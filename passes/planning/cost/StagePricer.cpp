//===- StagePricer.cpp - Prices of plans with the same stages -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/cost/StagePricer.h"

#include "passes/planning/cost/AfterPasses.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::planning;

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
shareProcessors(const StageCosts &stages, const Schedule &schedule,
                const ProcessorShare &share,
                const std::vector<AfterPasses> &after, PipelineEnds &ends) {
  std::vector<double> tails, lost;
  for (const AfterPasses &one : after)
    tails.push_back(one.seconds() * 1e9);
  HOCKET_ASSIGN_OR_RETURN(
      std::vector<SharedRank> ranks,
      simulateShared(stages.schedule, schedule, share, tails));
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    ends[rank] = ranks[rank].end - tails[rank];
    lost.push_back(ranks[rank].lost);
  }
  return std::move(lost);
}

/// The rank whose passes, sums and update end last.
static int64_t lastRank(const PipelineEnds &ends,
                        const std::vector<AfterPasses> &after) {
  int64_t last = 0;
  double latest = -1;
  for (size_t rank = 0; rank < ends.size(); ++rank) {
    double end = ends[rank] * 1e-9 + after[rank].seconds();
    if (end > latest) {
      latest = end;
      last = int64_t(rank);
    }
  }
  return last;
}

static void fillItems(const CostProblem &problem, const StageCosts &stages,
                      const PipelineEnds &ends,
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
  int64_t end = std::llround(ends[rank]);
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

/// Of a rank, what lives to W: copies of each chunk's, or frames that hold any
/// chunk's with several copies, and copies of what they do not hold
/// (exec-count-copies).
static int64_t heldToWeight(const StageCosts &stages,
                            const ScheduleOrder &order, int64_t rank) {
  int64_t chunks = stages.schedule.shape.chunks, first = rank * chunks;
  auto bytesWith = [&](int64_t frame) {
    int64_t bytes = order.frames[size_t(first)] * frame;
    for (auto at = size_t(first); at < size_t(first + chunks); ++at) {
      int64_t copies = order.toWeight[at], own = stages.split[at].toWeight;
      bytes += copies * (copies > 1 ? std::max<int64_t>(0, own - frame) : own);
    }
    return bytes;
  };
  int64_t least = bytesWith(0);
  for (auto at = size_t(first); at < size_t(first + chunks); ++at)
    if (order.toWeight[at] > 1)
      least = std::min(least, bytesWith(stages.split[at].toWeight));
  return least;
}

/// What programs hold of a split backward: as many copies of each kind of
/// residuals as its fragments keep.
static std::vector<int64_t> copiesOf(const StageCosts &stages,
                                     const ScheduleOrder &order) {
  const PipelineShape &shape = stages.schedule.shape;
  std::vector<int64_t> ranks;
  for (int64_t rank = 0; rank < shape.ranks; ++rank) {
    int64_t bytes = heldToWeight(stages, order, rank);
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
      auto at = size_t(rank * shape.chunks + chunk);
      const StageCosts::SplitBytes &split = stages.split[at];
      int64_t all = stages.schedule.cost(rank, chunk).memory;
      bytes += order.toBackward[at] * (all - split.toWeight) +
               order.afterBackward[at] * split.afterBackward;
    }
    ranks.push_back(bytes);
  }
  return ranks;
}

struct StagePricer::Again {
  CostProblem problem;
  StagePricer pricer;

  Again(CostProblem roomy, const ParallelPlan &plan, ScheduleOrders &orders)
      : problem(std::move(roomy)),
        pricer(problem, plan,
               stageCosts(problem, plan, partWork(problem, plan)), orders) {}
};

StagePricer::StagePricer(StagePricer &&) noexcept = default;
StagePricer::~StagePricer() = default;

StagePricer::StagePricer(const CostProblem &problem, const ParallelPlan &plan,
                         StageCosts stages, ScheduleOrders &orders)
    : problem(problem), costs(std::move(stages)), orders(orders), plan(plan),
      schedule(plan.scheduleName()),
      held(rankParameters(problem.model, plan, stagePlacement(plan))),
      share(processorShare(problem.system, plan)) {
  const PipelineShape &shape = costs.schedule.shape;
  double lead = 0, tail = 0;
  for (int64_t rank = 0; rank < shape.ranks; ++rank) {
    RankBound &bound = bounds.emplace_back();
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
      const ChunkCost &cost = costs.schedule.cost(rank, chunk);
      bound.work += cost.forward + cost.backward + cost.weight;
    }
    bound.work *= double(shape.microbatches);
    bound.own = lead + bound.work;
    bound.back = lead + bound.work + tail;
    const ChunkCost &cost = costs.schedule.cost(rank, 0);
    lead += cost.forward + costs.schedule.transfer;
    tail += cost.backward + cost.weight + costs.schedule.transfer;
  }
}

int64_t StagePricer::leastNanoseconds(const ParallelPlan &asked) const {
  std::vector<AfterPasses> after = afterPasses(problem, asked, costs, held);
  double longest = 0, first = after[0].seconds() * 1e9, ofNode = 0;
  for (size_t rank = 0; rank < bounds.size(); ++rank) {
    const RankBound &bound = bounds[rank];
    double own = after[rank].seconds() * 1e9;
    longest = std::max(longest, bound.own + own);
    if (!costs.schedule.splitWeight)
      longest = std::max(longest, bound.back + first);
    if (share && int64_t(rank) < share->ranksOfNode)
      ofNode += (bound.work + own) * share->load / share->atOnce;
  }
  longest = std::max(longest, ofNode);
  // What items' rounding may take away is less than one nanosecond each.
  return int64_t(longest) - int64_t(kTimeItems) +
         wholeNanoseconds(problem.system.software().step_seconds());
}

StatusOr<std::vector<int64_t>> StagePricer::liveBytes() {
  const PipelineShape &shape = costs.schedule.shape;
  bool split = costs.schedule.splitWeight;
  if (split && problem.compiled) {
    HOCKET_ASSIGN_OR_RETURN(const ScheduleOrder *order,
                            orders.find(schedule, costs.schedule));
    return copiesOf(costs, *order);
  }
  HOCKET_ASSIGN_OR_RETURN(std::vector<int64_t> bytes,
                          peakBytes(schedule, costs.schedule, orders));
  // Counted in programs: the rank of the head keeps one chunk more.
  if (problem.compiled && shape.chunks > 1)
    bytes.back() += costs.schedule.cost(shape.ranks - 1, 0).memory;
  for (size_t rank = 0; split && rank < bytes.size(); ++rank)
    bytes[rank] = std::max(bytes[rank], roomOfSplit(costs, int64_t(rank)));
  return std::move(bytes);
}

Status StagePricer::findLive() {
  if (!live) {
    HOCKET_ASSIGN_OR_RETURN(live, liveBytes());
  }
  return okStatus();
}

StatusOr<int64_t> StagePricer::logitsHeld() {
  if (!costs.schedule.splitWeight || !problem.compiled)
    return int64_t(0);
  HOCKET_ASSIGN_OR_RETURN(const ScheduleOrder *order,
                          orders.find(schedule, costs.schedule));
  const PipelineShape &shape = costs.schedule.shape;
  int64_t stage = shape.stages() - 1;
  auto at = size_t(shape.rankOf(stage) * shape.chunks + shape.chunkOf(stage));
  return order->afterBackward[at] * costs.logitsToWeight;
}

int64_t StagePricer::leastBytes(bool offloads) {
  if (!findLive().ok())
    return INT64_MAX;
  std::array<double, 3> each = bytesOfParameter(problem.step);
  // One microbatch alone makes gradients in the place of its residuals.
  bool onePass = costs.schedule.shape.cells() == 1;
  double ofTrained = (onePass ? 0 : each[1]) + (offloads ? 0 : each[2]);
  double bytes = each[0] + problem.step.trained() * ofTrained;
  double dense = double(plan.dp * plan.cp),
         expert =
             dense * double(plan.tp) / double(plan.ep * plan.expertTensor());
  double most = 0;
  const PipelineShape &shape = costs.schedule.shape;
  auto headRank = size_t(shape.rankOf(shape.stages() - 1));
  StatusOr<int64_t> logits = logitsHeld();
  for (size_t rank = 0; rank < held.size(); ++rank) {
    double kept = plan.offloadsActivations() ? 0 : double((*live)[rank]);
    if (rank == headRank && logits.ok())
      kept -= double(*logits);
    double state = held[rank].dense / dense + held[rank].experts / expert;
    double vision =
        each[0] * held[rank].vision + ofTrained * held[rank].visionTrained;
    most = std::max(most, kept + bytes * state + vision / dense);
  }
  return int64_t(most) - int64_t(kMemoryItems); // Each of which is rounded.
}

StatusOr<std::vector<RankMemory>>
StagePricer::memory(const ParallelPlan &asked) {
  HOCKET_RETURN_IF_ERROR(findLive());
  std::vector<RankMemory> memory = rankMemory(problem, asked, *live);
  HOCKET_RETURN_IF_ERROR(addAgain(asked, memory));
  return std::move(memory);
}

/// Both have one arena (compiler/driver/LinkRerun.h).
Status StagePricer::addAgain(const ParallelPlan &asked,
                             std::vector<RankMemory> &memory) {
  const ModelShape &model = problem.model;
  bool exchanges = model.experts > 0 && model.capacity == 0 && plan.ep > 1;
  if (!problem.compiled || !model.runsAgain || !exchanges)
    return okStatus();
  auto recomputed = [](ParallelPlan plan) {
    plan.recompute = Recompute::Full;
    plan.modules = {};
    plan.recomputeBlock = false, plan.recomputeLayers = 1;
    return plan;
  };
  if (!again) {
    CostProblem roomy = problem;
    roomy.model.runsAgain = false;
    roomy.model.rowsBound = plan::mostRowsBound;
    again = std::make_unique<Again>(std::move(roomy), recomputed(plan), orders);
  }
  HOCKET_ASSIGN_OR_RETURN(std::vector<RankMemory> others,
                          again->pricer.memory(recomputed(asked)));
  for (size_t rank = 0; rank < memory.size(); ++rank)
    if (others[rank].total() > memory[rank].total())
      memory[rank] = others[rank];
  return okStatus();
}

StatusOr<StepCost> StagePricer::price(const ParallelPlan &asked) {
  if (!ends) {
    HOCKET_ASSIGN_OR_RETURN(ends,
                            pipelineEnds(schedule, costs.schedule, orders));
  }
  std::vector<AfterPasses> after = afterPasses(problem, asked, costs, held);
  std::vector<double> lost(after.size(), 0);
  PipelineEnds own = *ends;
  if (share) {
    HOCKET_ASSIGN_OR_RETURN(const ScheduleOrder *order,
                            orders.find(schedule, costs.schedule));
    HOCKET_ASSIGN_OR_RETURN(
        lost, shareProcessors(costs, order->schedule, *share, after, own));
  }
  StepCost cost;
  cost.busiest = lastRank(own, after);
  fillItems(problem, costs, own, after, lost, cost);
  HOCKET_ASSIGN_OR_RETURN(cost.memory, memory(asked));
  cost.fullest = &fullestOf(cost.memory) - cost.memory.data();
  return cost;
}
