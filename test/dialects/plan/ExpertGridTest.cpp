//===- ExpertGridTest.cpp - Ranks that hold different experts -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/ParallelPlan.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace hocket::plan;

namespace {

ParallelPlan planOf(int64_t dp, int64_t cp, int64_t tp, int64_t share) {
  ParallelPlan plan;
  plan.dp = dp;
  plan.cp = cp;
  plan.tp = tp;
  plan.expertTp = share;
  return plan;
}

/// Every divisor of the ranks is spread over them, and nothing else is.
TEST(ExpertGrid, SpreadsWhatDividesTheRanks) {
  for (int64_t data : {1, 2, 3, 4, 6, 12})
    for (int64_t context : {1, 2, 4, 6, 9})
      for (int64_t groups : {1, 2, 3, 8})
        for (int64_t share : {1, 2}) {
          ParallelPlan plan = planOf(data, context, groups * share, share);
          for (int64_t experts = 1; experts <= 72; ++experts) {
            plan.ep = experts;
            std::optional<ExpertGrid> grid = expertGrid(plan);
            ASSERT_EQ(grid.has_value(), data * context * groups % experts == 0)
                << printPlan(plan);
            if (!grid)
              continue;
            ASSERT_EQ(grid->tensor * grid->context * grid->data, experts);
            ASSERT_EQ(groups % grid->tensor, 0);
            ASSERT_EQ(context % grid->context, 0);
            ASSERT_EQ(data % grid->data, 0);
            // Nothing goes far that could stay near.
            ASSERT_EQ(grid->tensor, std::gcd(experts, groups));
            ASSERT_EQ(grid->context, std::gcd(experts / grid->tensor, context));
          }
        }
}

TEST(ExpertGrid, IsTheAxisOfTheMesh) {
  ParallelPlan plan = planOf(6, 4, 4, 2);
  plan.ep = 12;
  EXPECT_EQ(printAxes(plan), "dp=2,ep=3,cp=4,tp=4");
  plan.ep = 4;
  EXPECT_EQ(printAxes(plan), "dp=6,cp=4,tp=4");
}

} // namespace
