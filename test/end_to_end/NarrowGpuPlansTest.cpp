//===- NarrowGpuPlansTest.cpp - Narrow types on emulated GPUs -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// In bf16 GPUs multiply on tensor cores: attention by warps with heads of 16,
/// by warpgroups with heads of 64 (the emulated GPUs are Hopper's). Losses,
/// norms and state stay within the band of the cpu target (NarrowRuns.h) of
/// what one rank of it does. So they do with operands of 8 bits, be it that
/// cuBLASLt multiplies them or, where a size does not suit it, that they are
/// widened; and with those of blocks, which always are.
///
//===----------------------------------------------------------------------===//

#include "test/emulator/EmulatedGpus.h"
#include "test/end_to_end/support/NarrowRuns.h"

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
  const char *training;
  /// Of its linear ops with operands of 8 bits, if there are any: which are
  /// GEMMs of such on GPUs.
  enum class F8 { None, Some, All } f8 = F8::None;
};

/// Whether GEMMs have operands of 8 bits, and whether such are widened.
std::pair<bool, bool> f8Of(const program::Program &program) {
  bool multiplies = false, widens = false;
  for (const program::Role &role : program.roles())
    for (const program::Sequence &sequence : role.sequences())
      for (const program::Instruction &instruction : sequence.instructions())
        multiplies |=
            instruction.has_gemm() && instruction.gemm().has_scale_a();
  for (const program::Kernel &kernel : program.kernels())
    widens |= kernel.description().find("widen") != std::string::npos;
  return {multiplies, widens};
}

class NarrowGpuPlans : public NarrowRuns,
                       public testing::WithParamInterface<Row> {
protected:
  void SetUp() override {
    TrainedPlans::SetUp();
    useEmulatedGpus({.count = 2});
  }

  static constexpr uint64_t fewSteps = 4;

  Outcome run(const PlanRow &plan, const std::string &target) {
    SharedProgram program =
        compile(GetParam().model, plan, GetParam().training, target);
    Row::F8 f8 = GetParam().f8;
    if (target == "cuda")
      EXPECT_EQ(f8Of(*program),
                std::pair(f8 != Row::F8::None, f8 == Row::F8::Some));
    train(program, fewSteps, target + plan.name);
    return HasFatalFailure() ? Outcome()
                             : outcomeOf(target + plan.name, fewSteps);
  }
};

TEST_P(NarrowGpuPlans, StayWithinTheBandOfTheCpuTarget) {
  PlanRow one = {"One", "", 2};
  const char *training = GetParam().training;
  Difference band = bandOf(compile(GetParam().model, one, training), fewSteps),
             greatest;
  EXPECT_GT(band.loss, 0);
  bool narrow = std::string(training).find("fp8") != std::string::npos;
  EXPECT_LT(band.loss, narrow ? 1e-2 : 1e-3);
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

constexpr char bf16[] = "precision: BF16";
constexpr char mxfp8[] = "precision: BF16 fp8_format: HYBRID fp8_recipe: MXFP8";
constexpr char blockwise[] =
    "precision: BF16 fp8_format: HYBRID fp8_recipe: BLOCKWISE";
constexpr char fp8[] = "precision: BF16 fp8_format: HYBRID";

// clang-format off
const Row rows[] = {
    {{"HeadsOf16", GPT "hidden: 32 heads: 2 ffn: 72 "},
     {{"One", "", 2}, {"Dp2", "dp=2", 2}, {"Tp2", "tp=2", 2}}, bf16},
    {{"HeadsOf64", GPT "hidden: 64 heads: 1 ffn: 72 "},
     {{"One", "", 2}}, bf16},
    {{"EightBits", GPT "hidden: 32 heads: 2 ffn: 64 "},
     {{"One", "", 2}, {"Dp2", "dp=2", 2}, {"Tp2", "tp=2", 2}}, fp8,
     Row::F8::All},
    {{"Blocks", GPT "hidden: 64 heads: 2 ffn: 128 "},
     {{"One", "", 2}, {"Dp2", "dp=2", 2}, {"Tp2", "tp=2", 2}}, mxfp8},
    {{"BlocksOfExperts",
      GPT "hidden: 64 heads: 2 mlp_bias: false "
          "moe { experts: 4 top_k: 2 ffn: 64 router_dtype: FP32 } "},
     {{"One", "", 2}, {"Ep2", "dp=2,ep=2", 2}}, mxfp8},
    {{"SquareBlocks", GPT "hidden: 144 heads: 2 ffn: 200 "},
     {{"One", "", 2}, {"Dp2", "dp=2", 2}}, blockwise},
    {{"EightBitsThatDoNotFit", GPT "hidden: 32 heads: 2 ffn: 72 "},
     {{"One", "", 2}}, fp8, Row::F8::Some},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(Emulated, NarrowGpuPlans, testing::ValuesIn(rows),
                         [](const auto &info) {
                           return std::string(info.param.model.name);
                         });

} // namespace
