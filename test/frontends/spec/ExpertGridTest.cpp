//===- ExpertGridTest.cpp - Ranks that hold different experts -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/Check.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace hocket::spec;

namespace {

Plan planOf(int64_t data, int64_t context, int64_t tensor, int64_t share) {
  Plan plan;
  plan.set_data_parallel(data);
  plan.set_context_parallel(context);
  plan.set_tensor_parallel(tensor);
  plan.set_expert_tensor_parallel(share);
  return plan;
}

/// Every divisor of the ranks is spread over them, and nothing else is.
TEST(ExpertGrid, SpreadsWhatDividesTheRanks) {
  for (int64_t data : {1, 2, 3, 4, 6, 12})
    for (int64_t context : {1, 2, 4, 6, 9})
      for (int64_t groups : {1, 2, 3, 8})
        for (int64_t share : {1, 2}) {
          Plan plan = planOf(data, context, groups * share, share);
          for (int64_t experts = 1; experts <= 72; ++experts) {
            plan.set_expert_parallel(experts);
            std::optional<ExpertGrid> grid = expertGrid(plan);
            ASSERT_EQ(grid.has_value(), data * context * groups % experts == 0)
                << plan.ShortDebugString();
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
  Plan plan = planOf(6, 4, 4, 2);
  plan.set_expert_parallel(12);
  EXPECT_EQ(planAxes(plan), "dp=2,ep=3,cp=4,tp=4");
  plan.set_expert_parallel(4);
  EXPECT_EQ(planAxes(plan), "dp=6,cp=4,tp=4");
}

} // namespace
