//===- NarrowPlansTest.cpp - Plans in bf16 --------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// In bf16 plans round in other places, and what one rounding changes the next
/// ones spread. So do they on one rank: weights that differ by less than the
/// unit roundoff of bf16 (2^-9, of each) are the same weights to every product,
/// but runs that begin with them end apart, by some ten times that, and by
/// nearly as much if the weights differ by a hundredth of it. A run in bf16 is
/// repeatable to that and no better. The band is the greatest distance of any
/// two of eight such runs of one rank; every plan stays within it of one rank
/// that does as many microbatches.
///
//===----------------------------------------------------------------------===//

#include "runtime/executor/Executor.h"
#include "test/end_to_end/TrainedPlans.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <iostream>
#include <random>

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

std::ostream &operator<<(std::ostream &out, const Difference &difference) {
  return out << "loss " << difference.loss << ", norm " << difference.norm
             << ", state " << difference.state;
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

/// Every weight by at most the unit roundoff of bf16; they are f32.
void move(Executor &executor, unsigned seed) {
  std::mt19937 random(seed);
  for (const program::ParameterSlice &slice : executor.role().slices()) {
    if (slice.state() != "value")
      continue;
    std::vector<float> values(executor.sliceBytes(slice) / sizeof(float));
    uint64_t bytes = values.size() * sizeof(float);
    ASSERT_TRUE(executor.readSlice(slice, 0, values.data(), bytes).ok());
    for (float &value : values)
      value *= 1 + (float(random()) * 0x1p-31F - 1) * 0x1p-9F;
    ASSERT_TRUE(executor.writeSlice(slice, 0, values.data(), bytes).ok());
  }
}

class NarrowPlans : public TrainedPlans,
                    public testing::WithParamInterface<const ModelRow *> {
protected:
  Outcome run(const PlanRow &plan) {
    train(compile(*GetParam(), plan, precision), steps, plan.name);
    return HasFatalFailure() ? Outcome() : outcomeOf(plan.name, steps);
  }

  /// One rank whose first weights are moved at random.
  Outcome runMoved(const SharedProgram &program, unsigned seed) {
    std::string name = "moved" + std::to_string(seed);
    TrainingOptions options;
    options.steps = steps;
    options.logFile = folder + "/" + name + ".jsonl";
    options.saveDir = folder + "/" + name;
    options.started = [&](Executor &executor) { move(executor, seed); };
    train(program, std::move(options));
    return HasFatalFailure() ? Outcome() : outcomeOf(name, steps);
  }
};

TEST_P(NarrowPlans, StayWithinTheBandOfOneRank) {
  SharedProgram program = compile(*GetParam(), {"One", "", 2}, precision);
  std::vector<Outcome> moved;
  for (unsigned seed = 0; seed < 8; ++seed)
    moved.push_back(runMoved(program, seed));
  Difference band;
  for (const Outcome &a : moved)
    for (const Outcome &b : moved)
      band = band | differenceOf(a, b);
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
