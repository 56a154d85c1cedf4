//===- NarrowPlansTest.cpp - Plans in bf16 --------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Every plan in bf16 stays within the band of one rank (NarrowRuns.h) of one
/// rank that does as many microbatches. So do pipelines in fp16, whose ranks
/// keep one loss scale.
///
//===----------------------------------------------------------------------===//

#include "test/end_to_end/support/NarrowRuns.h"

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

class ScaledPlans : public NarrowRuns {};

/// Steps 1 and 2 overflow, wherever they do; the scale is the same on all
/// ranks, and falls and rises as on one.
TEST_F(ScaledPlans, SkipAndScaleAsOneRankDoes) {
  const std::string scaled =
      "precision: FP16 loss_scale { initial: 1e10 backoff_factor: 1e-3 "
      "growth_interval: 2 growth_factor: 4 }";
  const PlanRow plans[] = {
      {"Pp2", "pp=2", 2},
      {"Pp2Dp2Zero", "pp=2,dp=2", 2, "--zero 2"},
      {"ZeroBubbleV", "pp=2", 2, "--virtual-stages 2 --schedule zb-v"},
      {"Pp2Tp2", "pp=2,tp=2", 2, "--sequence-parallel"}};
  SharedProgram one = compile(gpt, {"One", "", 2}, scaled);
  Difference band = bandOf(one, steps);
  train(one, steps, "one");
  Outcome expected = outcomeOf("one", steps);
  // 1e10 and 1e7 are beyond fp16; after two good steps 1e4 is multiplied.
  EXPECT_EQ(expected.state.at("state.loss_scale").at(0), 4e4 * 4);
  EXPECT_EQ(expected.state.at("state.optimizer_step").at(0), steps - 2.0);
  for (const PlanRow &plan : plans) {
    ASSERT_NO_FATAL_FAILURE(
        train(compile(gpt, plan, scaled), steps, plan.name));
    Outcome actual = outcomeOf(plan.name, steps);
    Difference plans = differenceOf(actual, expected);
    EXPECT_LE(plans.loss, band.loss) << plan.name;
    EXPECT_LE(plans.norm, band.norm) << plan.name;
    EXPECT_LE(plans.state, band.state) << plan.name;
    for (const char *state :
         {"state.loss_scale", "state.good_steps", "state.optimizer_step"})
      EXPECT_EQ(actual.state.at(state), expected.state.at(state))
          << plan.name << " " << state;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, NarrowPlans,
                         testing::Values(&gpt, &llama, &experts,
                                         &expertsWithDropout),
                         [](const auto &info) {
                           return std::string(info.param->name);
                         });

} // namespace
