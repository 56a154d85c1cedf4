//===- NarrowPlansTest.cpp - Plans in bf16 --------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// In bf16 plans round in other places, and one rank does so too: with another
/// size of microbatch, with attention or layers computed again. How far apart
/// such runs of one rank are tells the band that plans must stay in; as these
/// are a few samples of it, it is taken to be twice as wide.
///
//===----------------------------------------------------------------------===//

#include "test/end_to_end/TrainedPlans.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::test;

namespace {

const char *const precision = "precision: BF16";

/// The greatest relative differences of two runs.
struct Difference {
  double loss = 0, norm = 0, state = 0;
};

Difference operator|(const Difference &a, const Difference &b) {
  return {std::max(a.loss, b.loss), std::max(a.norm, b.norm),
          std::max(a.state, b.state)};
}

Difference differenceOf(const Outcome &a, const Outcome &b) {
  Difference difference;
  EXPECT_EQ(a.losses.size(), b.losses.size());
  EXPECT_EQ(a.state.size(), b.state.size());
  for (size_t i = 0; i < std::min(a.losses.size(), b.losses.size()); ++i) {
    double loss = std::abs(a.losses[i] / b.losses[i] - 1),
           norm = std::abs(a.norms[i] / b.norms[i] - 1);
    difference = difference | Difference{loss, norm, 0};
  }
  for (const auto &[name, values] : b.state)
    if (a.state.count(name))
      difference.state = std::max(difference.state,
                                  relativeDistance(a.state.at(name), values));
  return difference;
}

class NarrowPlans : public TrainedPlans,
                    public testing::WithParamInterface<const ModelRow *> {
protected:
  Outcome run(const PlanRow &plan) {
    train(compile(*GetParam(), plan, precision), steps, plan.name);
    return HasFatalFailure() ? Outcome() : outcomeOf(plan.name, steps);
  }
};

TEST_P(NarrowPlans, StayWithinTheBandOfOneRank) {
  const PlanRow variants[] = {{"One", "", 2},
                              {"Whole", "", 1},
                              {"Three", "", 3},
                              {"Four", "", 4},
                              {"Six", "", 6},
                              {"Selective", "", 2, "--recompute selective"},
                              {"Full", "", 2, "--recompute full"}};
  std::vector<Outcome> ones;
  for (const PlanRow &plan : variants)
    ones.push_back(run(plan));
  Difference band;
  for (const Outcome &one : ones)
    for (const Outcome &other : ones)
      band = band | differenceOf(one, other);
  EXPECT_GT(band.loss, 0);
  EXPECT_LT(band.loss, 1e-2);
  for (const PlanRow &plan : narrowPlans()) {
    Difference plans = differenceOf(run(plan), ones.front());
    EXPECT_LE(plans.loss, 2 * band.loss) << plan.name;
    EXPECT_LE(plans.norm, 2 * band.norm) << plan.name;
    EXPECT_LE(plans.state, 2 * band.state) << plan.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, NarrowPlans, testing::Values(&gpt, &llama),
                         [](const auto &info) {
                           return std::string(info.param->name);
                         });

} // namespace
