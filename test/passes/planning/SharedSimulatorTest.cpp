//===- SharedSimulatorTest.cpp - Ranks that share processors --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/SharedSimulator.h"

#include "passes/planning/ScheduleGenerators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

namespace hocket::planning {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

ScheduleProblem problemOf(int64_t ranks, int64_t microbatches, double forward,
                          double backward) {
  return uniformProblem({ranks, 1, microbatches}, {forward, backward, 0, 1, 0});
}

std::vector<SharedRank> run(const ScheduleProblem &problem,
                            const ProcessorShare &share,
                            std::vector<double> tails = {}) {
  tails.resize(size_t(problem.shape.ranks), 0);
  auto ranks =
      simulateShared(problem, *generateSchedule("1f1b", problem), share, tails);
  EXPECT_TRUE(ranks.ok()) << ranks.status().message();
  return ranks.ok() ? *ranks : std::vector<SharedRank>();
}

std::vector<double> endsOf(const SharedRank &rank) {
  std::vector<double> ends;
  for (const ActionTime &time : rank.times)
    ends.push_back(time.end);
  return ends;
}

TEST(SharedSimulator, RanksThatNeverWorkAtOnceLoseNothing) {
  auto ranks = run(problemOf(2, 1, 2, 4), {2, 1, 1});
  EXPECT_THAT(endsOf(ranks[0]), ElementsAre(2, 12));
  EXPECT_THAT(endsOf(ranks[1]), ElementsAre(4, 8));
  EXPECT_EQ(ranks[0].lost, 0);
  EXPECT_EQ(ranks[1].lost, 0);
}

/// A stage of four devices on two processors takes twice as long.
TEST(SharedSimulator, DevicesOfAStageTakeTurns) {
  auto ranks = run(problemOf(1, 2, 1, 2), {1, 4, 2}, {0.5});
  EXPECT_THAT(endsOf(ranks[0]), ElementsAre(2, 6, 8, 12));
  EXPECT_EQ(ranks[0].end, 13);
  EXPECT_EQ(ranks[0].lost, 6.5);
}

/// 1F1B of two microbatches on one processor, by hand:
///
///   0  rank 0: F0                    1  both: F1, F0 at half speed
///   3  rank 1: BW0                   5  both: BW0, F1 at half speed
///   7  rank 1 begins BW1             9  rank 0 ends BW0
///   10 rank 1 ends BW1               12 rank 0 ends BW1
TEST(SharedSimulator, FollowsAPipelineByHand) {
  auto ranks = run(problemOf(2, 2, 1, 2), {2, 1, 1});
  EXPECT_THAT(endsOf(ranks[0]), ElementsAre(1, 3, 9, 12));
  EXPECT_THAT(endsOf(ranks[1]), ElementsAre(3, 5, 7, 10));
  EXPECT_EQ(ranks[0].lost, 3);
  EXPECT_EQ(ranks[1].lost, 3);
}

/// The tail of rank 1 runs beside the last pass of rank 0.
TEST(SharedSimulator, TailsShareToo) {
  auto ranks = run(problemOf(2, 1, 2, 4), {2, 1, 1}, {1, 1});
  // From 8 on both work at half speed; the tail of 1 ends at 10.
  EXPECT_EQ(ranks[1].end, 10);
  EXPECT_THAT(endsOf(ranks[0]), ElementsAre(2, 13));
  EXPECT_EQ(ranks[0].end, 14);
}

TEST(SharedSimulator, NodesDoNotShare) {
  auto apart = run(problemOf(4, 6, 3, 5), {1, 1, 1});
  ScheduleProblem problem = problemOf(4, 6, 3, 5);
  auto alone = simulateSchedule(problem, *generateSchedule("1f1b", problem));
  ASSERT_TRUE(alone.ok());
  for (size_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(apart[rank].end, alone->ranks[rank].times.back().end);
}

TEST(SharedSimulator, RefusesAScheduleThatIsNone) {
  ScheduleProblem problem = problemOf(2, 2, 1, 1);
  Schedule schedule = *generateSchedule("1f1b", problem);
  schedule.ranks[1].pop_back();
  EXPECT_FALSE(simulateShared(problem, schedule, {2, 1, 1}, {0, 0}).ok());
}

/// The same, a small step of time after the other.
std::vector<double> endsBySteps(const ScheduleProblem &problem,
                                const Schedule &schedule,
                                const ProcessorShare &share, double step) {
  using Key = std::tuple<bool, int64_t, int64_t>; // isBackward, stage, micro.
  const PipelineShape &shape = problem.shape;
  std::map<Key, std::pair<double, int64_t>> made; // When, and on which rank.
  size_t count = schedule.ranks.size();
  std::vector<size_t> next(count, 0);
  std::vector<double> done(count, 0), ends(count, 0);
  auto isThere = [&](size_t rank, const Action &action, double now) {
    int64_t stage = shape.stageOf(int64_t(rank), action.chunk);
    bool isForward = action.kind == ActionKind::F;
    if (isForward && stage == 0)
      return true;
    bool isLast = stage + 1 == shape.stages();
    Key key = isForward ? Key{false, stage - 1, action.microbatch}
              : isLast  ? Key{false, stage, action.microbatch}
                        : Key{true, stage + 1, action.microbatch};
    auto found = made.find(key);
    return found != made.end() &&
           found->second.first + (found->second.second == int64_t(rank)
                                      ? 0
                                      : problem.transfer) <=
               now;
  };
  for (double now = 0; now < 2e4; now += step) {
    std::vector<size_t> busy;
    std::map<size_t, double> load;
    for (size_t rank = 0; rank < count; ++rank)
      if (next[rank] < schedule.ranks[rank].size() &&
          isThere(rank, schedule.ranks[rank][next[rank]], now)) {
        busy.push_back(rank);
        load[rank / size_t(share.ranksOfNode)] += share.load;
      }
    for (size_t rank : busy) {
      const Action &action = schedule.ranks[rank][next[rank]];
      double devices = load[rank / size_t(share.ranksOfNode)];
      done[rank] += step * std::min(1.0, share.atOnce / devices);
      if (done[rank] < durationOf(problem, int64_t(rank), action))
        continue;
      done[rank] = 0;
      ++next[rank];
      ends[rank] = now + step;
      made[{action.kind != ActionKind::F,
            shape.stageOf(int64_t(rank), action.chunk), action.microbatch}] = {
          now + step, int64_t(rank)};
    }
  }
  return ends;
}

TEST(SharedSimulator, IsWhatSmallStepsOfTimeGive) {
  std::mt19937 random(3);
  std::uniform_int_distribution<int> cost(20, 200), few(1, 4);
  for (int round = 0; round < 12; ++round) {
    int64_t ranks = few(random), chunks = ranks > 1 ? 1 + round % 2 : 1;
    ScheduleProblem problem =
        uniformProblem({ranks, chunks, ranks * few(random)});
    problem.transfer = round % 3 * 7;
    for (ChunkCost &chunk : problem.costs)
      chunk = {double(cost(random)), double(cost(random)), 0, 1, 0};
    std::string name = chunks == 1 ? "1f1b" : "interleaved-1f1b";
    Schedule schedule = *generateSchedule(name, problem);
    ProcessorShare share{few(random), double(few(random)), double(few(random))};
    std::vector<double> tails(size_t(ranks), 0), ends;
    auto shared = simulateShared(problem, schedule, share, tails);
    ASSERT_TRUE(shared.ok());
    for (const SharedRank &rank : *shared)
      ends.push_back(rank.end);
    double last = *std::max_element(ends.begin(), ends.end());
    EXPECT_THAT(endsBySteps(problem, schedule, share, 0.02),
                Pointwise(DoubleNear(0.01 * last), ends))
        << "round " << round;
  }
}

/// No earlier than without sharing, nor than all work takes on the processors,
/// nor later than if the ranks took turns at all times.
TEST(SharedSimulator, StaysWithinItsBounds) {
  std::mt19937 random(5);
  std::uniform_int_distribution<int> cost(1, 100), few(1, 5);
  for (int round = 0; round < 50; ++round) {
    ScheduleProblem problem = uniformProblem({few(random), 1, 2 * few(random)});
    for (ChunkCost &chunk : problem.costs)
      chunk = {double(cost(random)), double(cost(random)), 0, 1, 0};
    Schedule schedule = *generateSchedule("1f1b", problem);
    ProcessorShare share{problem.shape.ranks, double(few(random)),
                         double(few(random))};
    std::vector<double> tails(size_t(problem.shape.ranks), 0);
    auto shared = simulateShared(problem, schedule, share, tails);
    auto alone = simulateSchedule(problem, schedule);
    ASSERT_TRUE(shared.ok() && alone.ok());
    double end = 0, work = 0;
    for (size_t rank = 0; rank < shared->size(); ++rank) {
      end = std::max(end, (*shared)[rank].end);
      work += alone->ranks[rank].busy;
    }
    double slowest =
        std::max(1.0, double(problem.shape.ranks) * share.load / share.atOnce);
    constexpr double rounding = 1e-6;
    EXPECT_GE(end + rounding, alone->makespan);
    EXPECT_GE(end + rounding, work * share.load / share.atOnce);
    EXPECT_LE(end, slowest * alone->makespan + rounding);
  }
}

} // namespace
} // namespace hocket::planning
