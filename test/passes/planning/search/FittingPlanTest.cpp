//===- FittingPlanTest.cpp - Search with bytes that are measured ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/search/FittingPlan.h"
#include "runtime/cluster/Systems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket::planning {
namespace {

CostProblem problemOf(int64_t devices) {
  CostProblem problem;
  ModelShape &model = problem.model;
  model.layers = 16;
  model.hidden = 4096;
  model.heads = model.kvHeads = 32;
  model.headDim = 128;
  model.ffn = 4 * model.hidden;
  model.vocab = 51200;
  problem.step = {2048, 64};
  problem.system = *cluster::systemNamed("h100");
  problem.devices = devices;
  return problem;
}

/// Every plan, fastest first, with its loss in any number of chunks.
std::vector<PricedPlan> allPlans(const CostProblem &problem) {
  SearchOptions all;
  all.top = INT64_MAX;
  all.chunksAbove = 0;
  return searchExhaustively(problem, {}, all).best;
}

/// The time of the first plan that fits by `bytesOf`.
int64_t
fastestFitting(const CostProblem &problem, int64_t memory,
               const std::function<int64_t(const PricedPlan &)> &bytesOf) {
  for (const PricedPlan &plan : allPlans(problem))
    if (bytesOf(plan) <= memory)
      return plan.cost.nanoseconds();
  return -1;
}

TEST(FittingPlan, ExactPricesTakeOneLayout) {
  CostProblem problem = problemOf(16);
  PlanSearch search(problem, {});
  FittingOptions options;
  options.memory = int64_t(40) << 30;
  options.doubt = 0;
  FittingResult result =
      findFittingPlan(search, options,
                      [](const PricedPlan &plan) { return plan.cost.bytes(); });
  ASSERT_TRUE(result.found);
  EXPECT_EQ(result.measured.size(), 1u);
  EXPECT_EQ(result.gap(), 0);
  SearchOptions same;
  same.memory = options.memory;
  EXPECT_EQ(result.best().plan, search.run(same).best[0].plan);
}

/// Where bytes are a multiple of the price that depends on the kind, what is
/// left out would not have fitted: the result is what measuring all finds.
TEST(FittingPlan, LeavesNothingOutThatFits) {
  CostProblem problem = problemOf(16);
  auto bytesOf = [](const PricedPlan &plan) {
    int64_t percent = 110 + 15 * (plan.plan.chunks % 3) +
                      (plan.plan.recompute == Recompute::Full ? 20 : 0) +
                      (plan.plan.schedule.empty() ? 0 : 70);
    return plan.cost.bytes() / 100 * percent;
  };
  for (int64_t gibibytes : {60, 40, 24, 16}) {
    FittingOptions options;
    options.memory = gibibytes << 30;
    options.mostMeasured = 500;
    PlanSearch search(problem, {});
    FittingResult result = findFittingPlan(search, options, bytesOf);
    ASSERT_TRUE(result.found) << gibibytes;
    EXPECT_LE(bytesOf(result.best()), options.memory);
    EXPECT_EQ(result.best().cost.nanoseconds(),
              fastestFitting(problem, options.memory, bytesOf));
    for (size_t i = 0; i + 1 < result.measured.size(); ++i)
      EXPECT_GT(*result.measured[i].bytes, options.memory);
    EXPECT_LE(result.bound, result.best().cost.nanoseconds());
  }
}

/// Programs that need more than their price: where that is too much, their loss
/// is in chunks.
TEST(FittingPlan, LeavesNoChunksOutThatFit) {
  CostProblem problem = problemOf(4);
  problem.compiled = true;
  problem.model.hidden = 1024;
  problem.model.heads = problem.model.kvHeads = 8;
  problem.model.ffn = 4096;
  problem.model.vocab = 262144;
  problem.step = {2048, 16};
  auto bytesOf = [](const PricedPlan &plan) {
    return plan.cost.bytes() / 100 * 106;
  };
  PlanSearch search(problem, {});
  int64_t chunked = 0;
  for (int64_t mebibytes = 3000; mebibytes < 12000; mebibytes += 700) {
    FittingOptions options;
    options.memory = mebibytes << 20;
    options.mostMeasured = 500;
    FittingResult result = findFittingPlan(search, options, bytesOf);
    int64_t expected = fastestFitting(problem, options.memory, bytesOf);
    ASSERT_EQ(result.found, expected >= 0) << mebibytes;
    if (result.found) {
      EXPECT_EQ(result.best().cost.nanoseconds(), expected) << mebibytes;
      chunked += result.best().plan.lossChunks > 1;
    }
  }
  EXPECT_GT(chunked, 0);
}

TEST(FittingPlan, StatesWhatItLeftOut) {
  CostProblem problem = problemOf(16);
  PlanSearch search(problem, {});
  FittingOptions options;
  options.memory = int64_t(40) << 30;
  options.mostMeasured = 500;
  // Twice the price: those of a known kind above half of the memory are left
  // out.
  FittingResult result =
      findFittingPlan(search, options, [](const PricedPlan &plan) {
        return 2 * plan.cost.bytes();
      });
  ASSERT_TRUE(result.found);
  EXPECT_GT(result.skipped, 0);
  EXPECT_LT(result.bound, result.best().cost.nanoseconds());
  EXPECT_GT(result.gap(), 0);
}

TEST(FittingPlan, GoesPastPlansThatAreRefused) {
  CostProblem problem = problemOf(16);
  PlanSearch search(problem, {});
  FittingOptions options;
  options.memory = int64_t(40) << 30;
  options.mostMeasured = 500;
  auto measure = [](const PricedPlan &plan) -> StatusOr<int64_t> {
    if (plan.plan.pp == 1)
      return invalidArgument("several stages only");
    return plan.cost.bytes();
  };
  FittingResult result = findFittingPlan(search, options, measure);
  ASSERT_TRUE(result.found);
  EXPECT_GT(result.best().plan.pp, 1);
  EXPECT_THAT(result.measured, testing::SizeIs(testing::Gt(1u)));
  EXPECT_FALSE(result.measured.front().bytes.ok());
}

TEST(FittingPlan, SaysSoWhereNothingFits) {
  CostProblem problem = problemOf(16);
  PlanSearch search(problem, {});
  FittingOptions options;
  options.memory = int64_t(40) << 30;
  options.mostMeasured = 3;
  int64_t calls = 0;
  FittingResult result =
      findFittingPlan(search, options, [&](const PricedPlan &) {
        ++calls;
        return StatusOr<int64_t>(int64_t(41) << 30);
      });
  EXPECT_FALSE(result.found);
  EXPECT_EQ(calls, int64_t(result.measured.size()));
  EXPECT_LE(calls, 3);
  EXPECT_EQ(result.gap(), 0);
}

} // namespace
} // namespace hocket::planning
