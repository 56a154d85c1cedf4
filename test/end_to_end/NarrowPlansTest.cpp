//===- NarrowPlansTest.cpp - Plans in bf16 --------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Every plan in bf16 stays within the band of one rank (NarrowRuns.h) of one
/// rank that does as many microbatches.
///
//===----------------------------------------------------------------------===//

#include "test/end_to_end/NarrowRuns.h"

#include <gtest/gtest.h>
#include <iostream>

using namespace hocket;
using namespace hocket::test;

namespace {

class NarrowPlans : public NarrowRuns,
                    public testing::WithParamInterface<const ModelRow *> {
protected:
  Outcome run(const PlanRow &plan) {
    train(compile(*GetParam(), plan, precision), steps, plan.name);
    return HasFatalFailure() ? Outcome() : outcomeOf(plan.name, steps);
  }
};

TEST_P(NarrowPlans, StayWithinTheBandOfOneRank) {
  Difference band =
      bandOf(compile(*GetParam(), {"One", "", 2}, precision), steps);
  std::cout << "band: " << band << "\n";
  EXPECT_GT(band.loss, 0);
  EXPECT_LT(band.loss, 1e-3);
  std::map<int64_t, Outcome> ones;
  Difference greatest;
  for (const PlanRow &plan : narrowPlans(*GetParam())) {
    auto [one, isNew] = ones.try_emplace(plan.microbatches);
    if (isNew)
      one->second = run({"One", "", plan.microbatches});
    Difference plans = differenceOf(run(plan), one->second);
    EXPECT_LE(plans.loss, band.loss) << plan.name;
    EXPECT_LE(plans.norm, band.norm) << plan.name;
    EXPECT_LE(plans.state, band.state) << plan.name;
    greatest = greatest | plans;
  }
  std::cout << "plans: " << greatest << "\n";
}

INSTANTIATE_TEST_SUITE_P(Models, NarrowPlans,
                         testing::Values(&gpt, &llama, &experts),
                         [](const auto &info) {
                           return std::string(info.param->name);
                         });

} // namespace
