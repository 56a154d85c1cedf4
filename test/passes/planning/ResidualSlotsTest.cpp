//===- ResidualSlotsTest.cpp - Copies of residuals in flight --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/ResidualSlots.h"
#include "passes/planning/ScheduleGenerators.h"
#include "passes/planning/ScheduleSimulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::planning;
using ::testing::HasSubstr;

namespace {

ScheduleProblem splitProblemOf(const PipelineShape &shape) {
  ScheduleProblem problem = uniformProblem(shape);
  problem.splitWeight = true;
  return problem;
}

TEST(ResidualSlots, AreWhatIsLiveAtOnce) {
  const std::pair<const char *, PipelineShape> cases[] = {
      {"gpipe", {3, 2, 4}},
      {"1f1b", {4, 1, 6}},
      {"interleaved-1f1b", {2, 3, 6}},
      {"zb-h1", {4, 1, 8}},
      {"zb-v", {4, 2, 9, Placement::VShaped}},
      {"dualpipe-v", {3, 2, 8, Placement::VShaped}},
  };
  for (const auto &[name, shape] : cases) {
    ScheduleProblem problem = splitProblemOf(shape);
    Schedule schedule = *generateSchedule(name, problem);
    Timeline timeline = *simulateSchedule(problem, schedule);
    SlotPlan plan =
        assignSlots(schedule, ResidualLife::ForwardToWeight, SlotScope::Rank);
    for (int64_t rank = 0; rank < shape.ranks; ++rank)
      EXPECT_EQ(plan.count(rank, 0), timeline.ranks[rank].peakLive) << name;
    for (SlotScope scope : {SlotScope::Chunk, SlotScope::Rank})
      for (ResidualLife life :
           {ResidualLife::ForwardToBackward, ResidualLife::ForwardToWeight,
            ResidualLife::BackwardToWeight}) {
        SlotPlan other = assignSlots(schedule, life, scope);
        Status verdict = validateSlots(schedule, life, scope, other);
        EXPECT_TRUE(verdict.ok()) << name << ": " << verdict.message();
      }
  }
}

TEST(ResidualSlots, OfOneForwardOneBackward) {
  Schedule schedule = *makeOneForwardOneBackward(uniformProblem({3, 1, 5}));
  SlotPlan plan = assignSlots(schedule, ResidualLife::ForwardToWeight);
  const int64_t expected[3][5] = {
      {0, 1, 2, 0, 1}, {0, 1, 0, 1, 0}, {0, 0, 0, 0, 0}};
  for (int64_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(plan.count(rank, 0), 3 - rank);
    for (int64_t m = 0; m < 5; ++m)
      EXPECT_EQ(plan.slot(rank, 0, m), expected[rank][m]);
  }
}

TEST(ResidualSlots, WhatNeverOutlivesItsActionHasNone) {
  Schedule schedule = *makeOneForwardOneBackward(uniformProblem({2, 1, 4}));
  SlotPlan plan = assignSlots(schedule, ResidualLife::BackwardToWeight);
  EXPECT_EQ(plan.count(0, 0), 0);
  EXPECT_EQ(plan.slot(0, 0, 0), -1);
}

TEST(ResidualSlots, ValidatorSeesSharedAndMissingSlots) {
  Schedule schedule = *makeOneForwardOneBackward(uniformProblem({3, 1, 5}));
  auto life = ResidualLife::ForwardToWeight;
  SlotPlan good = assignSlots(schedule, life);
  SlotPlan plan = good;
  plan.slots[1] = 0;
  EXPECT_THAT(validateSlots(schedule, life, SlotScope::Chunk, plan).message(),
              HasSubstr("rank 0, chunk 0, microbatch 1 shares slot 0 with "
                        "microbatch 0"));
  plan = good;
  plan.counts[0] = 2;
  EXPECT_THAT(validateSlots(schedule, life, SlotScope::Chunk, plan).message(),
              HasSubstr("rank 0, chunk 0, microbatch 2 has no slot"));
}

} // namespace
