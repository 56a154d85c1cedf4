//===- NarrowGpuPlansTest.cpp - Models in bf16 on emulated GPUs -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// In bf16 GPUs multiply on tensor cores: attention by warps with heads of 16,
/// by warp groups with heads of 64 (the emulated GPUs are Hopper's). Losses,
/// norms and state stay within the band of the cpu target (NarrowRuns.h) of
/// what one rank of it does.
///
//===----------------------------------------------------------------------===//

#include "test/emulator/EmulatedGpus.h"
#include "test/end_to_end/NarrowRuns.h"

#include <gtest/gtest.h>
#include <iostream>

using namespace hocket;
using namespace hocket::test;

namespace {

#define GPT                                                                    \
  "layers: 2 vocab_size: 61 max_positions: 32 activation: GELU_TANH "          \
  "attention_qkv_bias: false "

struct Row {
  ModelRow model;
  std::vector<PlanRow> plans;
};

class NarrowGpuPlans : public NarrowRuns,
                       public testing::WithParamInterface<Row> {
protected:
  void SetUp() override {
    TrainedPlans::SetUp();
    useEmulatedGpus({.count = 2});
  }

  static constexpr uint64_t fewSteps = 4;

  Outcome run(const PlanRow &plan, const std::string &target) {
    train(compile(GetParam().model, plan, precision, target), fewSteps,
          target + plan.name);
    return HasFatalFailure() ? Outcome()
                             : outcomeOf(target + plan.name, fewSteps);
  }
};

TEST_P(NarrowGpuPlans, StayWithinTheBandOfTheCpuTarget) {
  PlanRow one = {"One", "", 2};
  Difference band = bandOf(compile(GetParam().model, one, precision), fewSteps),
             greatest;
  EXPECT_GT(band.loss, 0);
  EXPECT_LT(band.loss, 1e-3);
  Outcome expected = run(one, "cpu");
  for (const PlanRow &plan : GetParam().plans) {
    Difference gpus = differenceOf(run(plan, "cuda"), expected);
    EXPECT_LE(gpus.loss, band.loss) << plan.name;
    EXPECT_LE(gpus.norm, band.norm) << plan.name;
    EXPECT_LE(gpus.state, band.state) << plan.name;
    greatest = greatest | gpus;
  }
  std::cout << "band: " << band << "\ngpus: " << greatest << "\n";
}

// clang-format off
const Row rows[] = {
    {{"HeadsOf16", GPT "hidden: 32 heads: 2 ffn: 72 "},
     {{"One", "", 2}, {"Dp2", "dp=2", 2}, {"Tp2", "tp=2", 2}}},
    {{"HeadsOf64", GPT "hidden: 64 heads: 1 ffn: 72 "},
     {{"One", "", 2}}},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(Emulated, NarrowGpuPlans, testing::ValuesIn(rows),
                         [](const auto &info) {
                           return std::string(info.param.model.name);
                         });

} // namespace
