//===- PlanTest.cpp - What must not change the mathematics ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Recompute, fusion and the size of a microbatch decide how a step is run and
/// not what it computes; fp16 goes on after a step that overflows.
///
//===----------------------------------------------------------------------===//

#include "test/end_to_end/support/CompiledModel.h"
#include "test/end_to_end/support/ReferenceModel.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::test;

namespace {

std::string specOf(const std::string &model, const std::string &training) {
  return "model { layers: 3 hidden: 32 heads: 4 kv_heads: 2 vocab_size: 29 "
         "initializer { stddev: 0.2 } " +
         model +
         " }\ntraining { micro_batch_size: 2 global_batch_size: 4 "
         "sequence_length: 7 seed: 5 optimizer { adamw { eps: 1e-3 } } " +
         training + " }\n";
}

const std::string dropping =
    "dropout { attention: 0.2 residual: 0.3 embedding: 0.1 }";

const std::string llamaLike =
    dropping + " norm: RMS_NORM position: ROTARY activation: SWIGLU";

std::vector<data::Batch> batchesOf(uint64_t step) {
  return {fixedBatch(2 * step, 2, 7, 29), fixedBatch(2 * step + 1, 2, 7, 29)};
}

/// What three steps report and leave.
struct PlanOutcome {
  std::vector<StepNumbers> steps;
  ModelState state;
};

PlanOutcome train(CompiledModel &model, uint64_t steps = 3) {
  PlanOutcome outcome;
  for (uint64_t step = 0; step < steps; ++step)
    outcome.steps.push_back(model.run(step, 0.02, batchesOf(step)));
  outcome.state = model.state();
  return outcome;
}

PlanOutcome train(const std::string &spec, const CompileChoice &choice = {}) {
  CompiledModel model(compileProgram(spec, choice));
  return model.valid ? train(model) : PlanOutcome();
}

/// Equal but for the rounding of `band`, relative; 0: every bit.
void expectEqual(const PlanOutcome &a, const PlanOutcome &b, double band) {
  ASSERT_EQ(a.steps.size(), b.steps.size());
  ASSERT_FALSE(a.steps.empty());
  for (size_t i = 0; i < a.steps.size(); ++i) {
    ASSERT_EQ(a.steps[i].losses.size(), b.steps[i].losses.size());
    for (size_t j = 0; j < a.steps[i].losses.size(); ++j)
      EXPECT_NEAR(a.steps[i].losses[j], b.steps[i].losses[j],
                  band * b.steps[i].losses[j]);
    double norm = b.steps[i].numbers.at("grad_norm");
    EXPECT_NEAR(a.steps[i].numbers.at("grad_norm"), norm, band * norm);
  }
  ASSERT_EQ(a.state.size(), b.state.size());
  for (const auto &[name, values] : b.state) {
    std::vector<double> zeros(values.size());
    EXPECT_LE(distance(a.state.at(name), values),
              band * (distance(values, zeros) + 1e-2))
        << name;
  }
}

} // namespace

/// In f32 norms are always computed again, by kernels that sum in another order
/// than those of the forward pass.
TEST(Recompute, OfWholeLayersGivesTheSameBits) {
  CompileChoice choice{{"plan.recompute=FULL"}};
  std::string spec = specOf(llamaLike, "precision: BF16");
  expectEqual(train(spec, choice), train(spec), 0);
  spec = specOf(llamaLike, "precision: FP32");
  expectEqual(train(spec, choice), train(spec), 1e-5);
}

/// A kernel that computes something again need not round it as it would to
/// store it, so the bits are others.
TEST(Recompute, OfModulesChangesRoundingOnly) {
  std::string spec = specOf(llamaLike, "");
  PlanOutcome all = train(spec);
  CompileChoice choice{{"plan.recompute=SELECTIVE"}};
  expectEqual(train(spec, choice), all, 1e-5);
  for (const char *modules : {"CORE_ATTN", "LAYERNORM", "MLP", "ACTIVATION"}) {
    SCOPED_TRACE(modules);
    CompileChoice named{{"plan.recompute=SELECTIVE",
                         std::string("plan.recompute_modules=") + modules}};
    expectEqual(train(spec, named), all, 1e-5);
  }
  spec = specOf(llamaLike, "precision: BF16");
  expectEqual(train(spec, choice), train(spec), 0.1);
}

TEST(Fusion, ChangesRoundingOnly) {
  std::string spec = specOf(dropping, "");
  expectEqual(train(spec), train(spec, {{}, false}), 5e-5);
}

TEST(Repetition, GivesTheSameBits) {
  std::string spec = specOf(dropping, "precision: BF16");
  expectEqual(train(spec), train(spec), 0);
}

/// Random numbers are counted over the rows of the whole step, so that four
/// rows drop the same elements in one microbatch and in two. (Two programs are
/// loaded at once here.)
TEST(Microbatches, DropTheSameElements) {
  std::string spec = specOf(dropping, "clip_norm: 0");
  CompiledModel two(compileProgram(spec));
  CompiledModel one(compileProgram(spec, {{"training.micro_batch_size=4"}}));
  ASSERT_TRUE(two.valid && one.valid);
  // Every row has its label, so that a mean of means is the mean.
  std::vector<data::Batch> halves = batchesOf(0);
  data::Batch whole;
  for (data::Batch &half : halves) {
    std::replace(half.labels.begin(), half.labels.end(), -1, 3);
    whole.tokens.insert(whole.tokens.end(), half.tokens.begin(),
                        half.tokens.end());
    whole.labels.insert(whole.labels.end(), half.labels.begin(),
                        half.labels.end());
  }
  StepNumbers a = two.run(0, 0.01, halves), b = one.run(0, 0.01, {whole});
  EXPECT_NEAR((a.losses.at(0) + a.losses.at(1)) / 2, b.losses.at(0), 1e-5);
  EXPECT_NEAR(a.numbers.at("grad_norm"), b.numbers.at("grad_norm"),
              1e-5 * b.numbers.at("grad_norm"));
}

TEST(LossScale, AStepThatOverflowsIsSkipped) {
  std::string spec = specOf(
      "", "precision: FP16 loss_scale { initial: 1e10 backoff_factor: 1e-3 "
          "growth_interval: 2 growth_factor: 4 }");
  CompiledModel compiled(compileProgram(spec));
  ASSERT_TRUE(compiled.valid);
  ModelState first = compiled.state();
  ReferenceModel reference(compileXf(spec), 5, xf::Rounding::All, first);
  ASSERT_TRUE(reference.valid);
  double scale = 1e10;
  for (uint64_t step = 0; step < 5; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    StepNumbers actual = compiled.run(step, 0.02, batchesOf(step));
    StepNumbers expected = reference.run(step, 0.02, batchesOf(step));
    EXPECT_FLOAT_EQ(float(actual.numbers.at("loss_scale")), float(scale));
    bool skipped = step == 0 || step == 1;
    EXPECT_EQ(actual.numbers.at("skipped"), skipped);
    EXPECT_EQ(expected.numbers.at("skipped"), skipped);
    for (size_t i = 0; i < 2; ++i)
      EXPECT_NEAR(actual.losses.at(i), expected.losses.at(i), 5e-3);
    ModelState state = compiled.state();
    EXPECT_EQ(state.at("state.optimizer_step")[0], skipped ? 0 : step - 1.0);
    EXPECT_EQ(state.at("embedding.weight") == first.at("embedding.weight"),
              skipped);
    scale *= skipped ? 1e-3 : step == 3 ? 4 : 1;
  }
}
