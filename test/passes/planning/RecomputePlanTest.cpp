//===- RecomputePlanTest.cpp - What the backward pass computes again ------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/RecomputePlan.h"
#include "passes/planning/ResidualSlots.h"
#include "passes/planning/ScheduleGenerators.h"
#include "test/passes/planning/PlanningFiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace hocket;
using namespace hocket::planning;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

namespace {

using Mode = RecomputeMode;
using Group = ResidualGroup;

/// A stage of `layers` equal layers with 4 microbatches in flight: an input of
/// 10 bytes, scores of 100 that are cheap, and 60 that are not.
RecomputeProblem stage(int64_t layers, int64_t budget) {
  RecomputeRank rank;
  rank.fixed = 1000;
  rank.budget = budget;
  for (int64_t layer = 0; layer < layers; ++layer) {
    rank.residuals.push_back({"input", 0, layer, 10, 0, 4, Group::Input});
    rank.residuals.push_back({"scores", 0, layer, 100, 1, 4, Group::Selective});
    rank.residuals.push_back({"hidden", 0, layer, 60, 3, 4, Group::Other});
  }
  return {2, {rank}};
}

RankRecompute planned(const RecomputeProblem &problem, Mode mode,
                      int64_t layers = 1) {
  StatusOr<RecomputePlan> plan = planRecompute(problem, mode, layers);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  if (!plan.ok())
    return {};
  Status verdict = validateRecompute(problem, *plan);
  EXPECT_TRUE(verdict.ok()) << verdict.message();
  return plan->ranks[0];
}

TEST(Recompute, ModesHaveTheirPeaksAndTimes) {
  RecomputeProblem problem = stage(4, INT64_MAX);
  RankRecompute none = planned(problem, Mode::None);
  EXPECT_EQ(none.peak, 1000 + 4 * 4 * 170);
  EXPECT_EQ(none.seconds, 0);
  RankRecompute selective = planned(problem, Mode::Selective);
  EXPECT_EQ(selective.peak, 1000 + 4 * 4 * 70 + 100);
  EXPECT_EQ(selective.seconds, 2 * 4 * 1);
  RankRecompute full = planned(problem, Mode::FullUniform, 1);
  EXPECT_EQ(full.peak, 1000 + 4 * 4 * 10 + 160);
  EXPECT_EQ(full.seconds, 2 * 4 * 4);
  // Two checkpoints; a block holds the second layer's input too.
  RankRecompute pairs = planned(problem, Mode::FullUniform, 2);
  EXPECT_EQ(pairs.peak, 1000 + 2 * 4 * 10 + 330);
  RankRecompute block = planned(problem, Mode::FullBlock, 3);
  EXPECT_EQ(block.peak, 1000 + 4 * 4 * 10 + 4 * 160 + 160);
  EXPECT_EQ(block.seconds, 2 * 3 * 4);
}

TEST(Recompute, UniformBlocksEndWithTheirChunk) {
  RecomputeProblem problem = stage(3, INT64_MAX);
  for (Residual &residual : problem.ranks[0].residuals)
    residual.chunk = residual.layer == 2 ? 1 : 0;
  RankRecompute plan = planned(problem, Mode::FullUniform, 8);
  EXPECT_THAT(plan.recomputed, ElementsAre(false, true, true, true, true, true,
                                           false, true, true));
}

TEST(Recompute, AutoTakesNoMoreThanItMust) {
  // Everything fits; then the scores of one layer, of all; then all there is.
  EXPECT_EQ(planned(stage(4, 3720), Mode::Auto).seconds, 0);
  RankRecompute one = planned(stage(4, 3719), Mode::Auto);
  EXPECT_EQ(one.seconds, 2);
  EXPECT_EQ(one.bound, one.seconds);
  RankRecompute scores = planned(stage(4, 1000 + 4 * 4 * 70 + 100), Mode::Auto);
  EXPECT_EQ(scores.seconds, 8);
  RankRecompute all = planned(stage(4, 1000 + 4 * 4 * 10 + 160), Mode::Auto);
  EXPECT_EQ(all.seconds, 32);
}

TEST(Recompute, RefusesByHowMuchOnWhichRank) {
  RecomputeProblem problem = stage(4, 1319);
  EXPECT_EQ(planRecompute(problem, Mode::Auto).status().message(),
            "Q51: rank 0 needs 1320 bytes with everything recomputed, and its "
            "budget is 1319: 1 too many");
  problem.ranks.insert(problem.ranks.begin(), RecomputeRank());
  EXPECT_EQ(planRecompute(problem, Mode::None).status().message(),
            "Q51: rank 1 needs 3720 bytes, and its budget is 1319: 2401 too "
            "many");
}

TEST(Recompute, LivesComeFromTheSchedule) {
  ScheduleProblem pipeline = uniformProblem({4, 1, 8});
  StatusOr<Schedule> schedule = makeOneForwardOneBackward(pipeline);
  ASSERT_TRUE(schedule.ok());
  SlotPlan slots = assignSlots(*schedule, ResidualLife::ForwardToWeight);
  RecomputeProblem problem{8, {}};
  for (int64_t rank = 0; rank < 4; ++rank) {
    RecomputeRank one = stage(3, 2500).ranks[0];
    for (Residual &residual : one.residuals)
      residual.live = slots.count(rank, 0);
    problem.ranks.push_back(std::move(one));
  }
  StatusOr<RecomputePlan> plan = planRecompute(problem, Mode::Auto);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_TRUE(validateRecompute(problem, *plan).ok());
  // 4, 3, 2 and 1 copies of 510 bytes in 1500: two layers' scores, one, none.
  EXPECT_EQ(plan->ranks[0].seconds, 16);
  EXPECT_EQ(plan->ranks[1].seconds, 8);
  EXPECT_EQ(plan->ranks[2].seconds, 0);
  EXPECT_EQ(plan->ranks[3].seconds, 0);
}

//===----------------------------------------------------------------------===//
// Against every choice there is
//===----------------------------------------------------------------------===//

RecomputeProblem randomProblem(std::mt19937 &random) {
  RecomputeRank rank;
  auto layers = static_cast<int64_t>(1 + random() % 3);
  for (int64_t layer = 0; layer < layers; ++layer)
    for (auto count = 1 + random() % 4; count > 0; --count)
      rank.residuals.push_back({"r", 0, layer, int64_t(random() % 20),
                                double(random() % 10) / 4,
                                int64_t(1 + random() % 4),
                                random() % 5 ? Group::Other : Group::Input});
  if (random() % 2) { // every layer as the first
    std::vector<Residual> first;
    for (const Residual &residual : rank.residuals)
      if (residual.layer == 0)
        first.push_back(residual);
    rank.residuals.clear();
    for (int64_t layer = 0; layer < layers; ++layer)
      for (Residual residual : first) {
        residual.layer = layer;
        rank.residuals.push_back(std::move(residual));
      }
  }
  rank.fixed = static_cast<int64_t>(random() % 10);
  rank.budget = static_cast<int64_t>(random() % 200);
  return {int64_t(1 + random() % 3), {rank}};
}

/// The least seconds of all choices that fit, or infinity.
double exhaustive(const RecomputeProblem &problem) {
  const RecomputeRank &rank = problem.ranks[0];
  size_t count = rank.residuals.size();
  double best = std::numeric_limits<double>::infinity();
  for (size_t choice = 0; choice < size_t(1) << count; ++choice) {
    int64_t layers[3] = {}, bytes = rank.fixed;
    double seconds = 0;
    bool allowed = true;
    for (size_t i = 0; i < count; ++i) {
      const Residual &residual = rank.residuals[i];
      if (!(choice >> i & 1)) {
        bytes += residual.bytes * residual.live;
        continue;
      }
      allowed &= residual.group != Group::Input;
      layers[residual.layer] += residual.bytes;
      seconds += residual.seconds * double(problem.microbatches);
    }
    bytes += *std::max_element(layers, layers + 3);
    if (allowed && bytes <= rank.budget)
      best = std::min(best, seconds);
  }
  return best;
}

TEST(Recompute, AutoIsOptimalOnSmallProblems) {
  unsigned seed = std::random_device()();
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  int fitted = 0, recomputed = 0;
  for (int i = 0; i < 1000; ++i) {
    RecomputeProblem problem = randomProblem(random);
    double best = exhaustive(problem);
    StatusOr<RecomputePlan> plan = planRecompute(problem, Mode::Auto);
    ASSERT_EQ(plan.ok(), best < 1e9) << writeRecomputeProblem(problem);
    if (!plan.ok())
      continue;
    ++fitted;
    recomputed += best > 0;
    Status verdict = validateRecompute(problem, *plan);
    ASSERT_TRUE(verdict.ok()) << verdict.message();
    ASSERT_NEAR(plan->ranks[0].seconds, best, 1e-9)
        << writeRecomputeProblem(problem);
    ASSERT_NEAR(plan->ranks[0].bound, best, 1e-9);
  }
  EXPECT_GT(fitted, 100);
  EXPECT_GT(recomputed, 50);
}

TEST(Recompute, BoundIsNearOnLargeProblems) {
  unsigned seed = std::random_device()();
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  for (int i = 0; i < 5; ++i) {
    RecomputeRank rank;
    int64_t all = 0;
    std::vector<std::pair<int64_t, double>> kinds;
    for (int kind = 0; kind < 8; ++kind)
      kinds.push_back(
          {1000 + int64_t(random() % 9000), 1 + double(random() % 1000) / 100});
    for (int64_t layer = 0; layer < 48; ++layer)
      for (auto [bytes, seconds] : kinds) {
        rank.residuals.push_back(
            {"r", 0, layer, bytes, seconds, 8, Group::Other});
        all += bytes * 8;
      }
    rank.budget = all / 2;
    RecomputeProblem problem{4, {rank}};
    RankRecompute plan = planned(problem, Mode::Auto);
    EXPECT_GT(plan.bound, 0);
    EXPECT_LE(plan.bound, plan.seconds);
    EXPECT_LE(plan.seconds, 1.02 * plan.bound);
  }
}

//===----------------------------------------------------------------------===//
// Validator and text
//===----------------------------------------------------------------------===//

TEST(Recompute, ValidatorSeesWrongPlans) {
  RecomputeProblem problem = stage(4, 3000);
  StatusOr<RecomputePlan> good = planRecompute(problem, Mode::Auto);
  ASSERT_TRUE(good.ok());
  auto reason = [&](auto change) {
    RecomputePlan plan = *good;
    change(plan.ranks[0]);
    Status verdict = validateRecompute(problem, plan);
    EXPECT_FALSE(verdict.ok());
    return verdict.message();
  };
  EXPECT_THAT(reason([](RankRecompute &r) { --r.peak; }),
              HasSubstr("rank 0: the peak is"));
  EXPECT_THAT(reason([](RankRecompute &r) { r.seconds += 1; }),
              HasSubstr("seconds, not"));
  EXPECT_THAT(reason([](RankRecompute &r) { r.bound = r.seconds + 1; }),
              HasSubstr("the bound is above the time"));
  EXPECT_THAT(reason([](RankRecompute &r) { r.recomputed.pop_back(); }),
              HasSubstr("other residuals"));
  EXPECT_THAT(reason([](RankRecompute &r) { r.recomputed[3] = true; }),
              HasSubstr("nothing makes the input of layer 1"));
  EXPECT_THAT(reason([](RankRecompute &r) {
                r.recomputed.assign(r.recomputed.size(), false);
                r.peak = 3720;
                r.seconds = r.bound = 0;
              }),
              HasSubstr("above the budget"));
}

TEST(RecomputeText, FilesArePlannedAndWrittenBackTheSame) {
  size_t count = 0;
  for (const PlanningFile &file : planningFiles("recompute", ".recompute")) {
    ++count;
    StatusOr<RecomputeProblem> problem =
        readRecomputeProblem(file.name, file.text);
    ASSERT_TRUE(problem.ok()) << problem.status().message();
    EXPECT_EQ(writeRecomputeProblem(*problem), file.text);
    StatusOr<RecomputePlan> plan = planRecompute(*problem, Mode::Auto);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_TRUE(validateRecompute(*problem, *plan).ok());
  }
  EXPECT_GE(count, 1u);
}

TEST(RecomputeText, ErrorsNameTheirPlace) {
  const std::string head = "recompute-problem\nmicrobatches 2\n"
                           "rank 0 fixed 1 budget none\n";
  const std::pair<std::string, const char *> cases[] = {
      {"recompute", "r:1:1: Q30: expected 'recompute-problem' first"},
      {"recompute-problem\nlayers 2", "r:2:1: Q30: expected microbatches or"},
      {"recompute-problem\nrank 1 fixed 1 budget 2",
       "r:2:6: Q30: expected a whole number from 0 to 0, found '1'"},
      {"recompute-problem\nrank 0 fixed 1 cap 2",
       "r:2:8: Q30: expected 'rank R fixed BYTES budget BYTES'"},
      {head + "a 0 0 1 1 1 cheap", "r:4:13: Q30: expected input, selective or "
                                   "other, found 'cheap'"},
      {head + "a 0 0 1 1 0 other", "r:4:11: Q30: expected a whole number from "
                                   "1"},
      {head + "a 0 0 1 1", "r:4:10: Q30: expected more after '1'"},
      {head + "a 0 0 1152921504606846976 1 2 other",
       "r:4:36: Q50: rank 0, residual a of layer 0: there is no live copy, or "
       "the rank's bytes"},
  };
  for (const auto &[text, message] : cases) {
    StatusOr<RecomputeProblem> problem = readRecomputeProblem("r", text);
    ASSERT_FALSE(problem.ok()) << text;
    EXPECT_THAT(problem.status().message(), StartsWith(message));
  }
}

} // namespace
