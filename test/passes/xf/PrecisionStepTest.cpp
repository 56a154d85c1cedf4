//===- PrecisionStepTest.cpp - Training steps in 16 bits ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The tiny model in bf16 and fp16 with every result rounded to its type,
/// against the same model without rounding; and the life of the loss scale.
///
//===----------------------------------------------------------------------===//

#include "test/passes/xf/TinyTraining.h"

#include <gtest/gtest.h>

#include <memory>

using namespace mlir;
using namespace hocket::xf;

namespace {
/// A step in f32 without any rounding: what 16 bits are compared with.
class PrecisionStep : public testing::Test {
protected:
  void SetUp() override {
    exact = std::make_unique<TinyTraining>(TinyOptions{.element = "f32"});
    ASSERT_TRUE(exact->valid);
    ASSERT_TRUE(succeeded(exact->run()));
  }

  static TinyOptions halves(const char *lossScale) {
    return {.precision = "fp16", .lossScale = lossScale, .element = "f32"};
  }

  /// Rounding errors of a few dozen ops in sequence, of numbers with `bits`
  /// bits of mantissa.
  static double bound(int bits) { return 20 * std::ldexp(1, -bits); }

  /// Every gradient of `other`, divided by `scale`, is within `bound`.
  void compareGradients(TinyTraining &other, double scale, double bound) {
    for (const std::string &name : exact->parameters) {
      ReferenceTensor gradient = other.variable(name + ".grad");
      for (double &value : gradient.values)
        value /= scale;
      EXPECT_LT(relativeError(gradient, exact->variable(name + ".grad")), bound)
          << name;
    }
  }

  std::unique_ptr<TinyTraining> exact;
};
} // namespace

TEST_F(PrecisionStep, Bf16IsWithinItsRounding) {
  TinyTraining training({.precision = "bf16", .element = "f32"});
  ASSERT_TRUE(training.valid);
  training.context.rounding = Rounding::All;
  ASSERT_TRUE(succeeded(training.run()));
  compareGradients(training, 1, bound(8));
  EXPECT_NEAR(training.context.outputs["loss"][0][0],
              exact->context.outputs["loss"][0][0], 2e-2);
}

TEST_F(PrecisionStep, WorkingCopiesFollowTheirParameters) {
  TinyTraining training({.precision = "bf16", .element = "f32"});
  ASSERT_TRUE(training.valid);
  training.context.rounding = Rounding::All;
  ReferenceTensor before = training.variable("q0");
  ASSERT_TRUE(succeeded(training.run()));
  const ReferenceTensor &after = training.variable("q0");
  EXPECT_NE(before.values, after.values);
  auto bf16 = BFloat16Type::get(&training.reference.context);
  for (int64_t i = 0; i < after.size(); ++i)
    EXPECT_EQ(training.variable("q0.working")[i], roundTo(bf16, after[i]));
}

TEST_F(PrecisionStep, Fp16ScalesTheLossAndUnscalesTheGradients) {
  TinyTraining training(halves("1024.0"));
  ASSERT_TRUE(training.valid);
  training.context.rounding = Rounding::All;
  ASSERT_TRUE(succeeded(training.run()));
  compareGradients(training, 1024, bound(11));
  double norm = exact->context.outputs["grad_norm"][0][0];
  EXPECT_NEAR(training.context.outputs["grad_norm"][0][0], norm,
              bound(11) * norm);
  EXPECT_EQ(training.context.outputs["loss_scale"][0][0], 1024);
  EXPECT_EQ(training.variable("state.good_steps")[0], 1);
  ASSERT_TRUE(succeeded(training.run()));
  EXPECT_EQ(training.variable("state.loss_scale")[0], 2048);
}

TEST_F(PrecisionStep, Fp16SkipsAnOverflowAndHalvesTheScale) {
  TinyTraining training(halves("1.0e9"));
  ASSERT_TRUE(training.valid);
  training.context.rounding = Rounding::All;
  ReferenceTensor before = training.variable("q0");
  auto f32 = Float32Type::get(&training.reference.context);
  for (double &value : before.values)
    value = roundTo(f32, value);
  ASSERT_TRUE(succeeded(training.run()));
  EXPECT_EQ(training.context.outputs["skipped"][0][0], 1);
  EXPECT_EQ(training.variable("state.loss_scale")[0], 0.5e9);
  EXPECT_EQ(training.variable("state.optimizer_step")[0], 0);
  EXPECT_EQ(training.variable("q0").values, before.values);
}
