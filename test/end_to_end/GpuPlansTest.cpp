//===- GpuPlansTest.cpp - Models trained on emulated GPUs -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Executables of `--target cuda`, on GPUs that do everything as early or as
/// late as they may (test/emulator), against the cpu target: losses of ten
/// steps and all state at the end, in fp32.
///
//===----------------------------------------------------------------------===//

#include "test/emulator/EmulatedGpus.h"
#include "test/end_to_end/TrainedPlans.h"

#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::test;

namespace {

class GpuPlans : public TrainedPlans,
                 public testing::WithParamInterface<PlanCase> {
protected:
  void SetUp() override {
    TrainedPlans::SetUp();
    useEmulatedGpus({.count = 4});
  }
};

TEST_P(GpuPlans, TrainTheModelOfTheCpuTarget) {
  auto [model, plan] = GetParam();
  const Outcome &one = oneRank(*model, plan->microbatches);
  train(compile(*model, *plan, "precision: FP32", "cuda"), steps, "gpu");
  if (!HasFatalFailure())
    expectSame(outcomeOf("gpu", steps), one);
}

const PlanRow plans[] = {
    {"One", "", 2},
};

std::vector<PlanCase> cases() {
  std::vector<PlanCase> list;
  for (const ModelRow *model : {&gpt, &llama})
    for (const PlanRow &plan : plans)
      list.push_back({model, &plan});
  return list;
}

INSTANTIATE_TEST_SUITE_P(Emulated, GpuPlans, testing::ValuesIn(cases()),
                         [](const auto &info) { return info.param.name(); });

} // namespace
