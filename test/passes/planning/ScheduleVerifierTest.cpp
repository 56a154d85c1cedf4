//===- ScheduleVerifierTest.cpp - Whether a schedule can run --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/ScheduleVerifier.h"
#include "passes/planning/ScheduleGenerators.h"
#include "test/passes/planning/RandomSchedule.h"
#include "test/passes/planning/ScheduleOracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

using namespace hocket;
using namespace hocket::planning;
using ::testing::HasSubstr;
using ::testing::StartsWith;

namespace {

using Kind = ActionKind;

ScheduleProblem twoRanks() { return uniformProblem({2, 1, 2}); }

Schedule handwritten(std::vector<Action> first, std::vector<Action> second) {
  return {"by-hand", {2, 1, 2}, {std::move(first), std::move(second)}};
}

std::string reason(const ScheduleProblem &problem, const Schedule &schedule) {
  Status verdict = verifySchedule(problem, schedule);
  EXPECT_FALSE(verdict.ok());
  return verdict.message();
}

TEST(Verifier, AcceptsWhatAPersonWrites) {
  Schedule schedule = handwritten(
      {{Kind::F, 0, 1}, {Kind::F, 0, 0}, {Kind::BW, 0, 1}, {Kind::BW, 0, 0}},
      {{Kind::F, 0, 1}, {Kind::BW, 0, 1}, {Kind::F, 0, 0}, {Kind::BW, 0, 0}});
  EXPECT_TRUE(verifySchedule(twoRanks(), schedule).ok());
}

TEST(Verifier, SaysWhoWaitsForWhom) {
  Schedule schedule = handwritten(
      {{Kind::F, 0, 0}, {Kind::BW, 0, 0}, {Kind::F, 0, 1}, {Kind::BW, 0, 1}},
      {{Kind::F, 0, 0}, {Kind::F, 0, 1}, {Kind::BW, 0, 0}, {Kind::BW, 0, 1}});
  EXPECT_EQ(reason(twoRanks(), schedule),
            "Q25: the ranks wait for each other for ever: rank 0, action 2 "
            "(BW0) waits for rank 1, action 3 (BW0), which has to wait: rank "
            "1, action 2 (F1) waits for rank 0, action 3 (F1)");
}

TEST(Verifier, RefusesMessagesOutOfOrder) {
  Schedule schedule = handwritten(
      {{Kind::F, 0, 0}, {Kind::F, 0, 1}, {Kind::BW, 0, 1}, {Kind::BW, 0, 0}},
      {{Kind::F, 0, 1}, {Kind::BW, 0, 1}, {Kind::F, 0, 0}, {Kind::BW, 0, 0}});
  EXPECT_EQ(reason(twoRanks(), schedule),
            "Q24: rank 1, action 1 (F1) comes before rank 1, action 3 (F0), "
            "but what they need is sent the other way round, by rank 0, "
            "action 2 (F1) after rank 0, action 1 (F0)");
}

TEST(Verifier, RefusesCostsThatAreNone) {
  Schedule schedule = *makeGPipe(twoRanks());
  auto with = [&](auto change) {
    ScheduleProblem problem = twoRanks();
    change(problem);
    return reason(problem, schedule);
  };
  EXPECT_EQ(with([](auto &p) { p.costs[1].backward = -1; }),
            "Q2: a time of rank 1, chunk 0 is not within 0 to 1e15");
  EXPECT_EQ(with([](auto &p) { p.costs[0].memory = -1; }),
            "Q2: the memory of rank 0, chunk 0 is not within 0 to 2^60");
  EXPECT_EQ(with([](auto &p) { p.transfer = NAN; }),
            "Q2: the transfer time is not within 0 to 1e15");
  EXPECT_EQ(with([](auto &p) { p.pair = 2; }),
            "Q2: a pair's share is not within 0 to 1");
  EXPECT_EQ(with([](auto &p) { p.caps[1] = -1; }),
            "Q2: the cap of rank 1 is negative");
  EXPECT_EQ(with([](auto &p) { p.caps.pop_back(); }),
            "Q2: expected a cost for each rank and chunk and a cap for each "
            "rank");
}

TEST(Verifier, RefusesAnotherShape) {
  Schedule schedule = *makeGPipe(uniformProblem({2, 1, 3}));
  EXPECT_THAT(reason(twoRanks(), schedule),
              HasSubstr("Q20: expected a schedule of 2 ranks, 1 chunks, 2 "
                        "microbatches, round-robin, found one of 2 ranks, 1 "
                        "chunks, 3 microbatches"));
}

TEST(Verifier, RefusesWhatDoesNotExist) {
  Schedule schedule = *makeGPipe(twoRanks());
  schedule.ranks[1][2].microbatch = 2;
  EXPECT_EQ(reason(twoRanks(), schedule),
            "Q21: rank 1, action 3 (BW2): there is no microbatch 2");
  schedule.ranks[1][2] = {Kind::BW, -1, 0};
  EXPECT_THAT(reason(twoRanks(), schedule), HasSubstr("there is no chunk -1"));
  schedule.ranks[1][2] = {Kind::B, 0, 0};
  EXPECT_THAT(reason(twoRanks(), schedule),
              HasSubstr("the problem does not split the backward"));
}

TEST(Verifier, HoldsRanksToTheirCaps) {
  ScheduleProblem problem = twoRanks();
  Schedule schedule = *makeGPipe(problem);
  problem.caps = {2, 2};
  EXPECT_TRUE(verifySchedule(problem, schedule).ok());
  problem.caps = {2, 1};
  EXPECT_EQ(reason(problem, schedule),
            "Q26: rank 1, action 2 (F1): live chunks take 2, and the cap is "
            "1");
}

TEST(Verifier, WhatIsKeptForWCounts) {
  ScheduleProblem problem =
      uniformProblem({1, 1, 2}, {.memory = 10, .kept = 4});
  problem.splitWeight = true;
  Schedule schedule{"by-hand", problem.shape, {{}}};
  for (int m : {0, 1})
    for (Kind kind : {Kind::F, Kind::B})
      schedule.ranks[0].push_back({kind, 0, m});
  for (int m : {0, 1})
    schedule.ranks[0].push_back({Kind::W, 0, m});
  problem.caps = {14};
  EXPECT_TRUE(verifySchedule(problem, schedule).ok());
  problem.caps = {13};
  EXPECT_THAT(reason(problem, schedule), HasSubstr("Q26: rank 0, action 3"));
}

TEST(Verifier, AcceptsWhateverCanRun) {
  unsigned seed = std::random_device()();
  std::mt19937_64 random(seed);
  for (int i = 0; i < 200; ++i) {
    Schedule schedule = drawSchedule(1 + int64_t(random() % 4),
                                     1 + int64_t(random() % 6), random);
    ScheduleProblem problem = uniformProblem(schedule.shape);
    problem.splitWeight = true;
    Status verdict = verifySchedule(problem, schedule);
    EXPECT_TRUE(verdict.ok()) << "seed " << seed << ": " << verdict.message();
    EXPECT_TRUE(ScheduleOracle(schedule).canRun()) << "seed " << seed;
  }
}

/// A rank need not take its own results in the order in which it made them.
TEST(Verifier, LetsATurningRankTakeItsOwnInAnyOrder) {
  ScheduleProblem problem = uniformProblem({1, 2, 2, Placement::VShaped});
  Schedule schedule{"by-hand",
                    problem.shape,
                    {{{Kind::F, 0, 0},
                      {Kind::F, 0, 1},
                      {Kind::F, 1, 1},
                      {Kind::F, 1, 0},
                      {Kind::BW, 1, 0},
                      {Kind::BW, 1, 1},
                      {Kind::BW, 0, 1},
                      {Kind::BW, 0, 0}}}};
  EXPECT_TRUE(verifySchedule(problem, schedule).ok());
}

//===----------------------------------------------------------------------===//
// Mutations
//===----------------------------------------------------------------------===//

struct Case {
  const char *name;
  PipelineShape shape;
};

class Mutated : public ::testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    seed = std::random_device()();
    std::cout << "seed " << seed << "\n";
    random.seed(seed);
    problem = uniformProblem(GetParam().shape);
    problem.splitWeight = true;
    StatusOr<Schedule> made = generateSchedule(GetParam().name, problem);
    ASSERT_TRUE(made.ok()) << made.status().message();
    schedule = *made;
  }
  /// A random action's list and index.
  std::pair<std::vector<Action> *, size_t> any() {
    auto &list = schedule.ranks[random() % schedule.ranks.size()];
    return {&list, random() % list.size()};
  }

  unsigned seed = 0;
  std::mt19937 random;
  ScheduleProblem problem;
  Schedule schedule;
};

TEST_P(Mutated, DroppedActionsAreMissed) {
  Schedule good = schedule;
  for (int i = 0; i < 50; ++i, schedule = good) {
    auto [list, index] = any();
    Action action = (*list)[index];
    list->erase(list->begin() + static_cast<ptrdiff_t>(index));
    std::string text = reason(problem, schedule);
    EXPECT_THAT(text, StartsWith("Q22: rank "));
    EXPECT_THAT(text, HasSubstr("never runs"));
    EXPECT_THAT(text,
                HasSubstr("microbatch " + std::to_string(action.microbatch)));
  }
}

TEST_P(Mutated, RepeatedActionsAreFound) {
  Schedule good = schedule;
  for (int i = 0; i < 50; ++i, schedule = good) {
    auto [list, index] = any();
    Action action = (*list)[index];
    list->insert(list->begin() + static_cast<ptrdiff_t>(index), action);
    std::string text = reason(problem, schedule);
    EXPECT_THAT(text, StartsWith("Q22: rank "));
    EXPECT_THAT(text, HasSubstr("does again what"));
    EXPECT_THAT(text, HasSubstr("(" + spelled(action) + ")"));
  }
}

TEST_P(Mutated, BackwardsBeforeTheirForwardAreFound) {
  Schedule good = schedule;
  for (int i = 0; i < 50; ++i, schedule = good) {
    auto [list, index] = any();
    Action first = (*list)[index];
    for (size_t j = index + 1; j < list->size(); ++j)
      if ((*list)[j].chunk == first.chunk &&
          (*list)[j].microbatch == first.microbatch) {
        std::swap((*list)[index], (*list)[j]);
        EXPECT_THAT(reason(problem, schedule), StartsWith("Q23: rank "));
        break;
      }
  }
}

TEST_P(Mutated, MicrobatchesExchangedOnOneSideAreFound) {
  Schedule good = schedule;
  if (good.shape.ranks == 1)
    return;
  for (int i = 0; i < 50; ++i, schedule = good) {
    auto [list, index] = any();
    int32_t chunk = (*list)[index].chunk;
    int32_t a = (*list)[index].microbatch;
    auto b = static_cast<int32_t>(random() % good.shape.microbatches);
    if (a == b)
      continue;
    for (Action &action : *list)
      if (action.chunk == chunk &&
          (action.microbatch == a || action.microbatch == b))
        action.microbatch = a + b - action.microbatch;
    EXPECT_THAT(reason(problem, schedule), StartsWith("Q24: rank "));
  }
}

TEST_P(Mutated, ExchangedActionsAreJudgedAsByTheOracle) {
  ASSERT_TRUE(ScheduleOracle(schedule).canRun());
  Schedule good = schedule;
  int refused = 0;
  for (int i = 0; i < 200; ++i, schedule = good) {
    auto [list, index] = any();
    size_t other =
        i % 2 ? random() % list->size() : std::min(index + 1, list->size() - 1);
    std::swap((*list)[index], (*list)[other]);
    Status verdict = verifySchedule(problem, schedule);
    EXPECT_EQ(verdict.ok(), ScheduleOracle(schedule).canRun())
        << verdict.message();
    refused += !verdict.ok();
    if (!verdict.ok())
      EXPECT_THAT(verdict.message().substr(0, 3),
                  ::testing::AnyOf("Q23", "Q24", "Q25"));
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 200);
}

INSTANTIATE_TEST_SUITE_P(
    Schedules, Mutated,
    ::testing::Values(Case{"gpipe", {3, 2, 4}}, Case{"1f1b", {4, 1, 6}},
                      Case{"interleaved-1f1b", {2, 3, 6}},
                      Case{"zb-h1", {4, 1, 8}}, Case{"zb-h2", {3, 1, 7}},
                      Case{"zb-v", {4, 2, 9, Placement::VShaped}},
                      Case{"dualpipe-v", {3, 2, 8, Placement::VShaped}},
                      Case{"list", {4, 1, 6}}),
    [](const auto &info) {
      std::string name = info.param.name;
      for (char &c : name)
        c = c == '-' ? '_' : c;
      return name;
    });

} // namespace
