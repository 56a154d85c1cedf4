//===- GpuPlansTest.cpp - Models trained on emulated GPUs -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Executables of `--target cuda`, on GPUs that do everything as early or as
/// late as they may (test/emulator), against one rank of the cpu target: losses
/// of a few steps and all state at the end, in fp32.
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

  static constexpr uint64_t fewSteps = 4;

  /// What one rank of the cpu target does; found out once.
  const Outcome &onCpu(const ModelRow &model, int64_t microbatches) {
    static std::map<std::pair<std::string, int64_t>, Outcome> known;
    auto [entry, isNew] = known.try_emplace({model.fields, microbatches});
    if (isNew) {
      train(compile(model, {"One", "", microbatches}, precision), fewSteps,
            "cpu");
      entry->second = outcomeOf("cpu", fewSteps);
    }
    return entry->second;
  }

  static constexpr char precision[] = "precision: FP32";
};

TEST_P(GpuPlans, TrainTheModelOfTheCpuTarget) {
  auto [model, plan] = GetParam();
  const Outcome &one = onCpu(*model, plan->microbatches);
  train(compile(*model, *plan, precision, "cuda"), fewSteps, "gpu");
  if (!HasFatalFailure())
    expectSame(outcomeOf("gpu", fewSteps), one);
}

// clang-format off
const PlanRow plans[] = {
    {"One",      "",                2},
    {"Dp2",      "dp=2",            2},
    {"Dp2Zero3", "dp=2",            2, "--zero 3"},
    {"Tp2Sp",    "tp=2",            2, "--sequence-parallel"},
    {"Pp2",      "pp=2",            2},
    {"Dp2Tp2",   "dp=2,tp=2",       2},
    {"Pp2Tp2",   "pp=2,tp=2",       2, "--sequence-parallel"},
    {"Pp2Dp2",   "pp=2,dp=2",       2, "--zero 2"},
    {"Pp4",      "pp=4",            4},
};
// clang-format on

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
