//===- TrainingStepTest.cpp - The built step against differences and by hand
//===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Gradients are compared with central differences of the loss, updates with
/// ones written out here.
///
//===----------------------------------------------------------------------===//

#include "test/passes/xf/TinyTraining.h"

#include <gtest/gtest.h>

#include <utility>

using namespace mlir;
using namespace hocket::xf;

namespace {
class RecomputeTest : public testing::TestWithParam<const char *> {};
} // namespace

TEST_P(RecomputeTest, GradientsEqualFiniteDifferencesOfTheLoss) {
  TinyTraining training({.recompute = GetParam()});
  ASSERT_TRUE(training.valid);
  llvm::StringMap<ReferenceTensor> before = training.context.variables;
  ASSERT_TRUE(succeeded(training.run()));
  llvm::StringMap<ReferenceTensor> after = training.context.variables;
  training.context.variables = before;

  constexpr double h = 1e-5;
  for (const std::string &name : training.parameters) {
    ReferenceTensor &values = training.variable(name);
    ReferenceTensor differences = values;
    for (int64_t i = 0; i < values.size(); ++i) {
      double value = values[i];
      values[i] = value + h;
      double up = training.loss(0) + training.loss(1);
      values[i] = value - h;
      differences[i] = (up - training.loss(0) - training.loss(1)) / (2 * h);
      values[i] = value;
    }
    EXPECT_LT(relativeError(after[name + ".grad"], differences), 1e-6) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, RecomputeTest,
                         testing::Values("none", "selective", "full"),
                         [](const testing::TestParamInfo<const char *> &info) {
                           return std::string(info.param);
                         });

TEST(TrainingStep, RecomputingChangesNoBit) {
  TinyTraining none;
  ASSERT_TRUE(none.valid);
  ASSERT_TRUE(succeeded(none.run()));
  size_t residuals = none.function("forward").getNumResults();
  for (const char *mode : {"selective", "full"}) {
    TinyTraining other({.recompute = mode});
    ASSERT_TRUE(other.valid);
    ASSERT_TRUE(succeeded(other.run()));
    EXPECT_LT(other.function("forward").getNumResults(), residuals) << mode;
    residuals = other.function("forward").getNumResults();
    for (const std::string &name : none.parameters) {
      EXPECT_EQ(other.variable(name + ".grad").values,
                none.variable(name + ".grad").values)
          << mode << " " << name;
      EXPECT_EQ(other.variable(name).values, none.variable(name).values);
    }
  }
}

TEST(TrainingStep, RecomputingModulesChangesNoBit) {
  TinyTraining none;
  ASSERT_TRUE(none.valid);
  ASSERT_TRUE(succeeded(none.run()));
  size_t layers = none.function("layer_forward").getNumResults();
  for (const char *modules : {"core_attn", "layernorm", "mlp", "activation",
                              "pointwise", "core_attn/mlp/layernorm"}) {
    TinyTraining other({.recompute = "selective", .modules = modules});
    ASSERT_TRUE(other.valid) << modules;
    ASSERT_TRUE(succeeded(other.run()));
    EXPECT_LT(other.function("layer_forward").getNumResults(), layers)
        << modules;
    for (const std::string &name : none.parameters)
      EXPECT_EQ(other.variable(name + ".grad").values,
                none.variable(name + ".grad").values)
          << modules << " " << name;
  }
}

/// The norm of all gradients of a step, and what they are multiplied by.
static std::pair<double, double> clipping(TinyTraining &training) {
  double sum = 0;
  for (const std::string &name : training.parameters)
    for (double g : training.variable(name + ".grad").values)
      sum += g / 2 * (g / 2);
  double norm = std::sqrt(sum);
  return {norm, 0.5 * std::min(1.0, 0.05 / (norm + 1e-6))};
}

static bool decays(llvm::StringRef name) {
  return !name.starts_with("n") && !name.starts_with("f") &&
         !name.starts_with("qb") && name != "positions";
}

TEST(TrainingStep, UpdatesAsAdamWDoes) {
  TinyTraining training;
  ASSERT_TRUE(training.valid);
  llvm::StringMap<ReferenceTensor> p = training.context.variables, m, v;
  for (int step = 1; step <= 3; ++step) {
    training.context.step = step - 1;
    training.context.outputs.clear();
    ASSERT_TRUE(succeeded(training.run()));
    auto [norm, scale] = clipping(training);
    EXPECT_NEAR(training.context.outputs["grad_norm"][0][0], norm, 1e-12);
    EXPECT_EQ(training.context.outputs["skipped"][0][0], 0);
    EXPECT_EQ(training.context.outputs["loss"].size(), 2u);
    for (const std::string &name : training.parameters) {
      const ReferenceTensor &g = training.variable(name + ".grad");
      m.try_emplace(name, ReferenceTensor(g.shape));
      v.try_emplace(name, ReferenceTensor(g.shape));
      for (int64_t i = 0; i < g.size(); ++i) {
        double gi = g[i] * scale;
        m[name][i] = 0.9 * m[name][i] + 0.1 * gi;
        v[name][i] = 0.95 * v[name][i] + 0.05 * gi * gi;
        double mHat = m[name][i] / (1 - std::pow(0.9, step));
        double vHat = v[name][i] / (1 - std::pow(0.95, step));
        p[name][i] -= 0.1 * (decays(name) ? 0.1 : 0) * p[name][i];
        p[name][i] -= 0.1 * mHat / (std::sqrt(vHat) + 1e-8);
      }
      EXPECT_LT(relativeError(training.variable(name), p[name]), 1e-12) << name;
    }
  }
}

TEST(TrainingStep, UpdatesAsSgdDoes) {
  TinyTraining training(
      {.optimizer = "#xf.sgd<momentum = 0.9, weight_decay = 0.1>"});
  ASSERT_TRUE(training.valid);
  llvm::StringMap<ReferenceTensor> p = training.context.variables, b;
  for (int step = 0; step < 2; ++step) {
    training.context.step = step;
    ASSERT_TRUE(succeeded(training.run()));
    double scale = clipping(training).second;
    for (const std::string &name : training.parameters) {
      const ReferenceTensor &g = training.variable(name + ".grad");
      b.try_emplace(name, ReferenceTensor(g.shape));
      for (int64_t i = 0; i < g.size(); ++i) {
        b[name][i] = 0.9 * b[name][i] + g[i] * scale +
                     (decays(name) ? 0.1 : 0) * p[name][i];
        p[name][i] -= 0.1 * b[name][i];
      }
      EXPECT_LT(relativeError(training.variable(name), p[name]), 1e-12) << name;
    }
  }
}

TEST(TrainingStep, SkipsWhatIsNotFinite) {
  TinyTraining training;
  ASSERT_TRUE(training.valid);
  training.variable("fb")[0] = std::nan("");
  llvm::StringMap<ReferenceTensor> before = training.context.variables;
  ASSERT_TRUE(succeeded(training.run()));
  EXPECT_EQ(training.context.outputs["skipped"][0][0], 1);
  EXPECT_EQ(training.variable("state.optimizer_step")[0], 0);
  for (llvm::StringRef name : {"table", "q0", "q0.exp_avg", "d1"})
    EXPECT_EQ(training.variable(name).values, before[name].values);
}

TEST(TrainingStep, EvaluatesWithoutDropout) {
  TinyTraining training;
  ASSERT_TRUE(training.valid);
  auto evaluate = [&](uint64_t seed) {
    training.context.seed = seed;
    auto results =
        interpret(training.function("evaluate"),
                  {training.batches[0].tokens, training.batches[0].labels},
                  training.context);
    return succeeded(results) ? (*results)[0][0] : HUGE_VAL;
  };
  double loss = evaluate(1);
  EXPECT_EQ(loss, evaluate(2));
  training.context.seed = 1;
  double dropped = training.loss(0);
  training.context.seed = 2;
  EXPECT_NE(dropped, training.loss(0));
  EXPECT_NE(dropped, loss);
}
