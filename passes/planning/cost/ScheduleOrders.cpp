//===- ScheduleOrders.cpp - What schedules of a shape hold ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/cost/ScheduleOrders.h"

#include "passes/planning/ResidualSlots.h"
#include "passes/planning/ScheduleGenerators.h"
#include "passes/planning/ScheduleSimulator.h"
#include "passes/planning/ScheduleVerifier.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::planning;

bool planning::isPlayedDirectly(const std::string &schedule,
                                const ScheduleProblem &problem) {
  const PipelineShape &shape = problem.shape;
  bool plain = schedule == "1f1b" && shape.chunks == 1;
  bool interleaved =
      schedule == "interleaved-1f1b" && shape.microbatches % shape.ranks == 0;
  return (plain || interleaved) && shape.cells() <= kMostCells &&
         problem.group == 0 && shape.placement == Placement::RoundRobin;
}

StatusOr<const ScheduleOrder *>
ScheduleOrders::find(const std::string &schedule,
                     const ScheduleProblem &problem) {
  const PipelineShape &shape = problem.shape;
  std::unique_ptr<const ScheduleOrder> &kept =
      orders[{schedule, shape.ranks, shape.chunks, shape.microbatches,
              shape.placement, problem.group, problem.splitWeight}];
  if (kept)
    return kept.get();
  HOCKET_RETURN_IF_ERROR(checkProblem(problem));
  auto order = std::make_unique<ScheduleOrder>();
  HOCKET_ASSIGN_OR_RETURN(order->schedule, compiledSchedule(schedule, problem));
  ScheduleProblem uncapped = problem;
  uncapped.caps.assign(uncapped.caps.size(), kNoCap);
  HOCKET_RETURN_IF_ERROR(verifySchedule(uncapped, order->schedule));
  auto copies = [&](ResidualLife life) {
    return assignSlots(order->schedule, life).counts;
  };
  order->toBackward = copies(ResidualLife::ForwardToBackward);
  order->toWeight = copies(ResidualLife::ForwardToWeight);
  order->afterBackward = copies(ResidualLife::BackwardToWeight);
  order->frames = assignSlots(order->schedule, ResidualLife::ForwardToWeight,
                              SlotScope::Rank)
                      .counts;
  kept = std::move(order);
  return kept.get();
}

namespace {

/// Sums of the chunks' bytes over a rank's first passes, in the order of
/// forwards; backwards take the chunks the other way round.
class PassSums {
public:
  PassSums(const ScheduleProblem &problem, int64_t rank)
      : problem(problem), rank(rank), ofRound(0) {
    for (int64_t chunk = 0; chunk < problem.shape.chunks; ++chunk)
      ofRound += problem.shape.ranks * problem.cost(rank, chunk).memory;
  }

  int64_t forwards(int64_t count) const { return sum(count, false); }
  int64_t backwards(int64_t count) const { return sum(count, true); }

private:
  int64_t sum(int64_t count, bool back) const {
    const PipelineShape &shape = problem.shape;
    int64_t round = shape.ranks * shape.chunks;
    int64_t bytes = count / round * ofRound, left = count % round;
    for (int64_t chunk = 0; left > 0; ++chunk) {
      int64_t taken = back ? shape.chunks - 1 - chunk : chunk;
      bytes += std::min(left, shape.ranks) * problem.cost(rank, taken).memory;
      left -= shape.ranks;
    }
    return bytes;
  }

  const ScheduleProblem &problem;
  int64_t rank, ofRound;
};

/// After its warm-up a rank alternates one forward and one backward, each of
/// which comes round to the same chunk after ranks * chunks passes. So the peak
/// is the largest of one such round's; and as what is held grows or falls
/// evenly while both kinds of passes stay in their chunks, of its corners.
int64_t peakOfAlternating(const ScheduleProblem &problem, int64_t rank) {
  const PipelineShape &shape = problem.shape;
  int64_t total = shape.chunks * shape.microbatches;
  int64_t warmup = std::min(warmupForwards(problem, rank), total - 1);
  if (shape.chunks == 1)
    return (warmup + 1) * problem.cost(rank, 0).memory;
  PassSums sums(problem, rank);
  int64_t round = shape.ranks * shape.chunks;
  int64_t last = std::min(total - 1, warmup + round - 1), peak = 0;
  auto look = [&](int64_t done) { // Forwards done before the newest one.
    if (done >= warmup && done <= last)
      peak = std::max(peak,
                      sums.forwards(done + 1) - sums.backwards(done - warmup));
  };
  look(warmup);
  look(last);
  for (int64_t edge = 0; edge <= last + 1; edge += shape.ranks) {
    look(edge - 1);
    look(edge);
    look(warmup + edge - 1);
    look(warmup + edge);
  }
  return peak;
}

} // namespace

StatusOr<std::vector<int64_t>>
planning::peakBytes(const std::string &schedule, const ScheduleProblem &problem,
                    ScheduleOrders &orders) {
  std::vector<int64_t> bytes;
  if (isPlayedDirectly(schedule, problem)) {
    for (int64_t rank = 0; rank < problem.shape.ranks; ++rank)
      bytes.push_back(peakOfAlternating(problem, rank));
    return std::move(bytes);
  }
  HOCKET_ASSIGN_OR_RETURN(const ScheduleOrder *order,
                          orders.find(schedule, problem));
  for (int64_t rank = 0; rank < problem.shape.ranks; ++rank)
    bytes.push_back(peaksOfOrder(problem, order->schedule, rank).memory);
  return std::move(bytes);
}
