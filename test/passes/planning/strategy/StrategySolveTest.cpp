//===- StrategySolveTest.cpp - Choices beside every choice ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/strategy/StrategySolve.h"
#include "passes/planning/strategy/StrategyValidator.h"

#include <gtest/gtest.h>
#include <random>

using namespace hocket;
using namespace hocket::planning;

namespace {

constexpr StrategyAlgorithm allAlgorithms[] = {StrategyAlgorithm::Greedy,
                                               StrategyAlgorithm::Search,
                                               StrategyAlgorithm::Exact};

struct Kind {
  int64_t nodes = 6, mostCost = 20;
  /// Of 100: edges that exist, and their costs that no one may pay.
  int64_t edges = 50, forbidden = 0;
  /// The limit, of 100 of what all use at most together.
  int64_t limit = 40;
};

constexpr int64_t forbiddenCost = 1'000'000'000'000'000'000;

StrategyProblem randomProblem(std::mt19937 &random, const Kind &kind) {
  auto below = [&](int64_t end) { return int64_t(random() % uint64_t(end)); };
  StrategyProblem problem;
  int64_t most = 0;
  for (int64_t i = 0; i < kind.nodes; ++i) {
    StrategyNode &node = problem.nodes.emplace_back();
    node.begin = below(8);
    node.end = node.begin + below(6);
    for (int64_t s = 1 + below(4); s > 0; --s) {
      node.costs.push_back(below(kind.mostCost));
      node.usages.push_back(below(12));
    }
    most += *std::max_element(node.usages.begin(), node.usages.end());
  }
  for (int64_t i = 0; i < kind.nodes; ++i)
    for (int64_t j = 0; j < kind.nodes; ++j) {
      if (i == j || below(200) >= kind.edges)
        continue;
      StrategyEdge edge{i, j, {}};
      for (size_t pair = 0; pair < problem.nodes[size_t(i)].costs.size() *
                                       problem.nodes[size_t(j)].costs.size();
           ++pair)
        edge.costs.push_back(
            below(100) < kind.forbidden ? forbiddenCost : below(kind.mostCost));
      problem.edges.push_back(std::move(edge));
    }
  problem.usageLimit = most * kind.limit / 100;
  return problem;
}

/// The cost of the cheapest choice that the validator lets pass, or -1.
int64_t leastCost(const StrategyProblem &problem) {
  StrategyChoice choice(problem.nodes.size());
  int64_t least = -1;
  while (true) {
    if (auto verdict = validateStrategies(problem, choice);
        verdict.ok() && (least < 0 || verdict->cost < least))
      least = verdict->cost;
    size_t digit = 0;
    for (; digit < choice.size(); ++digit) {
      if (size_t(++choice[digit]) < problem.nodes[digit].costs.size())
        break;
      choice[digit] = 0;
    }
    if (digit == choice.size())
      return least;
  }
}

/// That a plan says of its choice what is so, and nothing that is not.
void expectHonest(const StrategyProblem &problem, const StrategyPlan &plan,
                  int64_t least) {
  auto verdict = validateStrategies(problem, plan.choice);
  EXPECT_EQ(verdict.ok(), plan.fits);
  if (plan.fits) {
    EXPECT_EQ(verdict->cost, plan.cost);
    EXPECT_GE(plan.cost, least);
    EXPECT_LE(plan.bound, least);
  }
  if (plan.isFinal) {
    EXPECT_EQ(plan.fits, least >= 0);
    EXPECT_EQ(plan.gap(), 0);
  }
}

class StrategyKinds : public testing::TestWithParam<Kind> {};

TEST_P(StrategyKinds, AgreeWithEveryChoice) {
  std::mt19937 random(7);
  int fitting = 0;
  for (int trial = 0; trial < 60; ++trial) {
    SCOPED_TRACE(trial);
    StrategyProblem problem = randomProblem(random, GetParam());
    ASSERT_TRUE(checkStrategyProblem(problem).ok());
    int64_t least = leastCost(problem);
    fitting += least >= 0;
    for (StrategyAlgorithm algorithm : allAlgorithms) {
      StrategyOptions options;
      options.algorithm = algorithm;
      StrategyPlan plan = solveStrategies(problem, options);
      expectHonest(problem, plan, least);
      if (algorithm != StrategyAlgorithm::Exact)
        continue;
      EXPECT_TRUE(plan.isFinal);
      EXPECT_EQ(plan.fits ? plan.cost : -1, least);
    }
  }
  // The kind asks something: there are choices that fit.
  EXPECT_GT(fitting, 10);
}

INSTANTIATE_TEST_SUITE_P(
    Random, StrategyKinds,
    testing::Values(Kind{}, Kind{1}, Kind{7, 5}, Kind{7, 20, 15},
                    Kind{6, 20, 100}, Kind{7, 20, 50, 20}, Kind{7, 20, 50, 60},
                    Kind{6, 1'000'000'000'000}, Kind{7, 20, 50, 0, 100},
                    Kind{7, 1, 50, 0, 30}, Kind{6, forbiddenCost, 60, 10}));

TEST(StrategySolve, NothingToChooseCostsNothing) {
  StrategyPlan plan = solveStrategies({});
  EXPECT_TRUE(plan.fits && plan.isFinal);
  EXPECT_EQ(plan.cost, 0);
}

TEST(StrategySolve, WhatCannotFitIsProvedNotTo) {
  StrategyProblem problem;
  problem.nodes = {{0, 2, {1, 2}, {5, 6}, "", {}},
                   {1, 3, {1, 2}, {5, 6}, "", {}}};
  problem.usageLimit = 9;
  StrategyPlan plan = solveStrategies(problem);
  EXPECT_FALSE(plan.fits);
  EXPECT_TRUE(plan.isFinal);
  problem.usageLimit = 10;
  EXPECT_EQ(solveStrategies(problem).cost, 2);
}

TEST(StrategySolve, LargerProblemsComeWithABoundThatSearchingNearlyReaches) {
  std::mt19937 random(3);
  StrategyProblem problem = randomProblem(random, {120, 1000, 2, 0, 20});
  StrategyOptions greedy{StrategyAlgorithm::Greedy, 0, 0, {}};
  StrategyOptions search{StrategyAlgorithm::Search, 400, 0, {}};
  StrategyPlan first = solveStrategies(problem, greedy);
  StrategyPlan plan = solveStrategies(problem, search);
  ASSERT_TRUE(plan.fits);
  ASSERT_TRUE(validateStrategies(problem, plan.choice).ok());
  EXPECT_LE(plan.cost, first.cost);
  EXPECT_LE(first.bound, plan.bound);
  EXPECT_LE(plan.bound, plan.cost);
  EXPECT_LT(plan.gap(), 0.05);
  EXPECT_EQ(solveStrategies(problem, search).choice, plan.choice);
}

TEST(StrategySolve, StopsWhenItsTimeIsOver) {
  std::mt19937 random(5);
  StrategyProblem problem = randomProblem(random, {200, 1000, 4, 0, 20});
  int looks = 0;
  StrategyOptions options;
  options.expired = [&] { return ++looks > 100; };
  StrategyPlan plan = solveStrategies(problem, options);
  EXPECT_LT(looks, 110);
  EXPECT_EQ(validateStrategies(problem, plan.choice).ok(), plan.fits);
}

TEST(StrategyValidator, AddsUpAndSaysWhatIsWrong) {
  StrategyProblem problem;
  problem.nodes = {{30, 70, {15}, {10}, "", {}},
                   {40, 70, {55, 65}, {25, 30}, "", {}},
                   {70, 80, {1}, {34}, "", {}}};
  problem.edges = {{1, 0, {30, 40}}};
  problem.usageLimit = 35;
  auto verdict = validateStrategies(problem, {0, 0, 0});
  ASSERT_TRUE(verdict.ok());
  EXPECT_EQ(verdict->cost, 15 + 55 + 1 + 30);
  EXPECT_EQ(verdict->peak, 35);
  auto messageOf = [&](const StrategyChoice &choice) {
    return std::string(validateStrategies(problem, choice).status().message());
  };
  EXPECT_EQ(messageOf({0, 1, 0}), "at time 40 40 is used, and the limit is 35");
  EXPECT_EQ(messageOf({0, 0}), "a choice for 2 nodes; there are 3");
  EXPECT_EQ(messageOf({0, 2, 0}), "node 1 has strategy 2; there are 2");
  EXPECT_EQ(messageOf({0, -1, 0}), "node 1 has strategy -1; there are 2");
}

} // namespace
