//===- CheckpointLayoutsTest.cpp - Each layout loads every other ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A run is saved under each of sixteen layouts and goes on under each of
/// them. Two steps tell: the first loss depends on the weights, the second on
/// the optimizer's state as well.
///
//===----------------------------------------------------------------------===//

#include "test/end_to_end/support/TrainedPlans.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::test;

namespace {

class CheckpointLayouts : public TrainedPlans {
protected:
  static constexpr uint64_t saved = 3, more = 2;
};

TEST_F(CheckpointLayouts, LoadFromEachOther) {
  std::vector<SharedProgram> programs;
  for (const PlanRow &layout : checkpointLayouts()) {
    programs.push_back(compile(experts, layout, "precision: FP32"));
    train(programs.back(), saved, layout.name);
    ASSERT_FALSE(HasFatalFailure()) << layout.name;
  }
  ASSERT_EQ(programs.size(), 18U);
  train(programs[0], saved + more, "one");
  Outcome expected = outcomeOf("one", 0);
  for (auto *numbers : {&expected.losses, &expected.norms})
    numbers->erase(numbers->begin(), numbers->begin() + saved);
  for (const PlanRow &from : checkpointLayouts())
    for (size_t to = 0; to < programs.size(); ++to) {
      SCOPED_TRACE(std::string(from.name) + " into " +
                   checkpointLayouts()[to].name);
      train(programs[to], saved + more, "", from.name);
      ASSERT_FALSE(HasFatalFailure());
      Outcome actual = outcomeOf("", 0);
      for (auto *numbers : {&actual.losses, &actual.norms})
        numbers->erase(numbers->begin(), numbers->end() - more);
      expectSame(actual, expected);
    }
}

} // namespace
