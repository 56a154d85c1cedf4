//===- StageBalanceTest.cpp - Layers shared out over stages ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/StageBalance.h"
#include "test/passes/planning/PlanningFiles.h"

#include <cmath>
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

/// The cheapest worst stage of all cuts, from `first` and `stage` on.
double exhaustive(const StageBalanceProblem &problem, int64_t stage,
                  size_t first) {
  double cost = stage == 0 ? problem.embedding : 0;
  double best = std::numeric_limits<double>::infinity();
  if (stage + 1 == problem.stages) {
    if (problem.layers.size() - first < static_cast<size_t>(problem.least))
      return best;
    for (size_t i = first; i < problem.layers.size(); ++i)
      cost += problem.layers[i];
    return cost + problem.head;
  }
  for (size_t last = first; last <= problem.layers.size(); ++last) {
    if (last > first)
      cost += problem.layers[last - 1];
    if (last - first >= static_cast<size_t>(problem.least))
      best =
          std::min(best, std::max(cost, exhaustive(problem, stage + 1, last)));
  }
  return best;
}

TEST(StageBalance, IsOptimal) {
  unsigned seed = std::random_device()();
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  for (int i = 0; i < 500; ++i) {
    StageBalanceProblem problem;
    problem.stages = int64_t(1 + random() % 5);
    problem.least = random() % 2;
    problem.embedding = double(random() % 8) / 2;
    problem.head = double(random() % 8) / 2;
    size_t layers = problem.stages * problem.least + random() % 6;
    for (size_t layer = 0; layer < layers; ++layer)
      problem.layers.push_back(double(random() % 8) / 4);
    StatusOr<StageCut> cut = balanceStages(problem);
    ASSERT_TRUE(cut.ok()) << cut.status().message();
    Status verdict = validateStageCut(problem, *cut);
    ASSERT_TRUE(verdict.ok()) << verdict.message();
    ASSERT_DOUBLE_EQ(cut->worst, exhaustive(problem, 0, 0))
        << writeStageBalance(problem);
  }
}

TEST(StageBalance, FilesAreBalancedAndWrittenBackTheSame) {
  size_t count = 0;
  for (const PlanningFile &file : planningFiles("balance", ".balance")) {
    ++count;
    StatusOr<StageBalanceProblem> problem =
        readStageBalance(file.name, file.text);
    ASSERT_TRUE(problem.ok()) << problem.status().message();
    std::string text = writeStageBalance(*problem);
    if (file.text.find('#') == std::string::npos)
      EXPECT_EQ(text, file.text);
    StatusOr<StageBalanceProblem> again = readStageBalance("again", text);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(*again, *problem);
    StatusOr<StageCut> cut = balanceStages(*problem);
    ASSERT_TRUE(cut.ok()) << cut.status().message();
    EXPECT_TRUE(validateStageCut(*problem, *cut).ok());
  }
  EXPECT_GE(count, 2u);
}

TEST(StageBalance, GivesTheLastStageFewerLayers) {
  StageBalanceProblem problem{std::vector<double>(12, 1), 0.25, 2.5, 4, 1};
  StatusOr<StageCut> cut = balanceStages(problem);
  ASSERT_TRUE(cut.ok());
  EXPECT_THAT(cut->counts, ElementsAre(3, 4, 4, 1));
  EXPECT_DOUBLE_EQ(cut->worst, 4);
}

TEST(StageBalance, SpreadsWhatIsLeft) {
  StageBalanceProblem problem{std::vector<double>(10, 1), 0, 0, 4, 1};
  StatusOr<StageCut> cut = balanceStages(problem);
  ASSERT_TRUE(cut.ok());
  EXPECT_DOUBLE_EQ(cut->worst, 3);
  for (int64_t count : cut->counts)
    EXPECT_THAT(count, ::testing::AnyOf(2, 3));
}

TEST(StageBalance, IsQuickForThousandsOfLayers) {
  StageBalanceProblem problem;
  problem.stages = 1024;
  for (int i = 0; i < 8192; ++i)
    problem.layers.push_back(1 + i % 7);
  StatusOr<StageCut> cut = balanceStages(problem);
  ASSERT_TRUE(cut.ok());
  EXPECT_TRUE(validateStageCut(problem, *cut).ok());
}

TEST(StageBalance, ListsAreTakenOrRefused) {
  StageBalanceProblem problem{{1, 2, 3, 4, 5}, 1, 2, 3, 1};
  StatusOr<StageCut> cut = listedStages(problem, {2, 2, 1});
  ASSERT_TRUE(cut.ok()) << cut.status().message();
  EXPECT_DOUBLE_EQ(cut->worst, 7);
  EXPECT_TRUE(validateStageCut(problem, *cut).ok());
  auto reason = [&](const std::vector<int64_t> &counts) {
    return listedStages(problem, counts).status().message();
  };
  EXPECT_EQ(reason({2, 3}), "Q41: expected the layers of 3 stages, found 2");
  EXPECT_EQ(reason({2, 0, 3}), "Q41: stage 1 has 0 layers; expected 1 to 5");
  EXPECT_EQ(reason({2, 2, 3}),
            "Q41: the stages have 7 layers, the model 5: 2 too many");
  EXPECT_EQ(reason({1, 1, 1}),
            "Q41: the stages have 3 layers, the model 5: 2 too few");
}

TEST(StageBalance, RefusesWhatIsNoProblem) {
  StageBalanceProblem problem{{1, 1}, 0, 0, 3, 1};
  EXPECT_EQ(balanceStages(problem).status().message(),
            "Q40: 2 layers are too few for 3 stages of at least one: use at "
            "most 2 stages");
  problem.stages = 0;
  EXPECT_THAT(balanceStages(problem).status().message(), StartsWith("Q40"));
  problem = {{1, std::nan("")}, 0, 0, 2, 1};
  EXPECT_THAT(balanceStages(problem).status().message(),
              HasSubstr("Q40: a cost is not within 0 to 1e15"));
  EXPECT_THAT(
      readStageBalance("b", "stage-balance\nlayers 1 -2").status().message(),
      StartsWith("b:2:10: Q30: expected a number from 0"));
  EXPECT_THAT(
      readStageBalance("b", "stage-balance\nstages 2\n").status().message(),
      StartsWith("b:3:1: Q40: 0 layers are too few"));
}

TEST(StageBalance, ValidatorSeesWrongCuts) {
  StageBalanceProblem problem{{1, 2, 3}, 0, 0, 2, 1};
  EXPECT_TRUE(validateStageCut(problem, {{2, 1}, 3}).ok());
  EXPECT_FALSE(validateStageCut(problem, {{2, 1}, 4}).ok());
  EXPECT_FALSE(validateStageCut(problem, {{3, 0}, 6}).ok());
  EXPECT_FALSE(validateStageCut(problem, {{1, 1}, 2}).ok());
  EXPECT_FALSE(validateStageCut(problem, {{3}, 6}).ok());
  EXPECT_FALSE(validateStageCut(problem, {{2, 2}, 3}).ok());
}

} // namespace
