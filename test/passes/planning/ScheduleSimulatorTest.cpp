//===- ScheduleSimulatorTest.cpp - When each action runs ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/ScheduleSimulator.h"
#include "passes/planning/ScheduleGenerators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::planning;
using ::testing::HasSubstr;

namespace {

Timeline simulated(const ScheduleProblem &problem, const Schedule &schedule) {
  StatusOr<Timeline> timeline = simulateSchedule(problem, schedule);
  EXPECT_TRUE(timeline.ok()) << timeline.status().message();
  return timeline.ok() ? *std::move(timeline) : Timeline();
}

void expectTimes(const RankTimeline &line,
                 const std::vector<std::pair<double, double>> &expected) {
  ASSERT_EQ(line.times.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_DOUBLE_EQ(line.times[i].start, expected[i].first) << i;
    EXPECT_DOUBLE_EQ(line.times[i].end, expected[i].second) << i;
  }
}

TEST(Simulator, FollowsTransfersAndUnevenStages) {
  ScheduleProblem problem = uniformProblem({2, 1, 2});
  problem.costs = {{1, 1, 1, 10, 4}, {2, 2, 1, 20, 8}};
  problem.transfer = 0.5;
  Timeline timeline = simulated(problem, *makeOneForwardOneBackward(problem));
  // F0 F1 BW0 BW1, and F0 BW0 F1 BW1.
  expectTimes(timeline.ranks[0], {{0, 1}, {1, 2}, {7, 9}, {12, 14}});
  expectTimes(timeline.ranks[1],
              {{1.5, 3.5}, {3.5, 6.5}, {6.5, 8.5}, {8.5, 11.5}});
  EXPECT_DOUBLE_EQ(timeline.makespan, 14);
  EXPECT_DOUBLE_EQ(timeline.ranks[0].busy, 6);
  EXPECT_DOUBLE_EQ(timeline.ranks[0].gaps, 8);
  EXPECT_DOUBLE_EQ(timeline.ranks[1].busy, 10);
  EXPECT_DOUBLE_EQ(timeline.ranks[1].gaps, 0);
  EXPECT_DOUBLE_EQ(timeline.ranks[1].bubble, 4);
  EXPECT_EQ(timeline.ranks[0].peakMemory, 20);
  EXPECT_EQ(timeline.ranks[1].peakMemory, 20);
}

TEST(Simulator, SplitBackwardsKeepWhatWNeeds) {
  ScheduleProblem problem =
      uniformProblem({1, 1, 2}, {.memory = 10, .kept = 4});
  problem.splitWeight = true;
  Schedule schedule{"by-hand", problem.shape, {{}}};
  for (ActionKind kind : {ActionKind::F, ActionKind::B})
    for (int m : {0, 1})
      schedule.ranks[0].push_back({kind, 0, m});
  for (int m : {0, 1})
    schedule.ranks[0].push_back({ActionKind::W, 0, m});
  Timeline timeline = simulated(problem, schedule);
  EXPECT_EQ(timeline.ranks[0].peakMemory, 20);
  EXPECT_EQ(timeline.ranks[0].peakLive, 2);
  EXPECT_DOUBLE_EQ(timeline.makespan, 6);
}

TEST(Simulator, CrossingToTheSameRankTakesNoTime) {
  ScheduleProblem problem = uniformProblem({1, 2, 1});
  problem.transfer = 100;
  EXPECT_DOUBLE_EQ(simulated(problem, *makeGPipe(problem)).makespan, 6);
}

TEST(Simulator, PairsRunAsOne) {
  ScheduleProblem problem =
      uniformProblem({2, 2, 5, Placement::VShaped}, {1, 1, 1});
  problem.splitWeight = true;
  problem.pair = 0.5;
  Schedule schedule = *makeDualPipeV(problem);
  Timeline paired = simulated(problem, schedule);
  const std::vector<Action> &actions = schedule.ranks[0];
  int pairs = 0;
  for (size_t i = 0; i + 1 < actions.size(); ++i)
    if (actions[i].kind == ActionKind::F &&
        actions[i + 1].kind == ActionKind::BW) {
      const ActionTime &a = paired.ranks[0].times[i];
      EXPECT_EQ(a.start, paired.ranks[0].times[i + 1].start);
      EXPECT_DOUBLE_EQ(a.end - a.start, 1.5);
      ++pairs;
    }
  EXPECT_GT(pairs, 0);
  EXPECT_DOUBLE_EQ(paired.ranks[0].busy, 30 - 1.5 * pairs);
}

TEST(Simulator, RefusesPairsThatWaitForEachOther) {
  // Rank 0 pairs the first half of the way down with what comes back from
  // rank 1, which has paired that with what comes down.
  ScheduleProblem problem = uniformProblem({2, 2, 2, Placement::RoundRobin});
  Schedule schedule{"by-hand",
                    problem.shape,
                    {{{ActionKind::F, 0, 0},
                      {ActionKind::F, 1, 0},
                      {ActionKind::F, 0, 1},
                      {ActionKind::BW, 1, 0},
                      {ActionKind::F, 1, 1},
                      {ActionKind::BW, 0, 0},
                      {ActionKind::BW, 1, 1},
                      {ActionKind::BW, 0, 1}},
                     {{ActionKind::F, 0, 0},
                      {ActionKind::F, 1, 0},
                      {ActionKind::F, 0, 1},
                      {ActionKind::BW, 1, 0},
                      {ActionKind::F, 1, 1},
                      {ActionKind::BW, 0, 0},
                      {ActionKind::BW, 1, 1},
                      {ActionKind::BW, 0, 1}}}};
  EXPECT_TRUE(simulateSchedule(problem, schedule).ok());
  problem.pair = 1;
  StatusOr<Timeline> timeline = simulateSchedule(problem, schedule);
  ASSERT_FALSE(timeline.ok());
  EXPECT_THAT(timeline.status().message(),
              HasSubstr("Q27: rank 0, action 3 (F1) waits for ever"));
}

TEST(Simulator, RefusesWhatTheVerifierRefusesExceptMemory) {
  ScheduleProblem problem = uniformProblem({2, 1, 2});
  Schedule schedule = *makeGPipe(problem);
  problem.caps = {0, 0};
  EXPECT_TRUE(simulateSchedule(problem, schedule).ok());
  schedule.ranks[0].pop_back();
  EXPECT_THAT(simulateSchedule(problem, schedule).status().message(),
              HasSubstr("Q22"));
}

} // namespace
