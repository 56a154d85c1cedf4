//===- TrainingStepTest.cpp - The built step against differences and by hand
//===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A model of two layers goes through the passes; the reference evaluator then
/// runs its step. Gradients are compared with central differences of its loss,
/// updates with ones written out here.
///
//===----------------------------------------------------------------------===//

#include "test/dialects/xf/ReferenceFixture.h"

#include "passes/xf/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace hocket::xf;

namespace {
/// A model of two layers with everything that has a gradient of its own kind:
/// tied embedding, learned positions, grouped attention with rotary positions
/// and dropout, biases, a gated layer, both norms.
constexpr const char *model = R"(
xf.training {clip_norm = 0.05, global_batch_size = 4 : i64, micro_batch_size = 2 : i64, model_name = "tiny", optimizer = OPTIMIZER, precision = #xf.precision<fp32>, recompute = #xf.recompute<RECOMPUTE>, runtime = {}, sequence_length = 3 : i64}
xf.variable @table : tensor<7x8xf64> {decay, kind = #xf.variable_kind<parameter>}
xf.variable @positions : tensor<5x8xf64> {kind = #xf.variable_kind<parameter>}
xf.variable @n0 : tensor<8xf64> {kind = #xf.variable_kind<parameter>}
xf.variable @q0 : tensor<8x8xf64> {decay, kind = #xf.variable_kind<parameter>}
xf.variable @qb0 : tensor<8xf64> {kind = #xf.variable_kind<parameter>}
xf.variable @k0 : tensor<4x8xf64> {decay, kind = #xf.variable_kind<parameter>}
xf.variable @g0 : tensor<6x8xf64> {decay, kind = #xf.variable_kind<parameter>}
xf.variable @d0 : tensor<8x6xf64> {decay, kind = #xf.variable_kind<parameter>}
xf.variable @n1 : tensor<8xf64> {kind = #xf.variable_kind<parameter>}
xf.variable @q1 : tensor<8x8xf64> {decay, kind = #xf.variable_kind<parameter>}
xf.variable @qb1 : tensor<8xf64> {kind = #xf.variable_kind<parameter>}
xf.variable @k1 : tensor<4x8xf64> {decay, kind = #xf.variable_kind<parameter>}
xf.variable @g1 : tensor<6x8xf64> {decay, kind = #xf.variable_kind<parameter>}
xf.variable @d1 : tensor<8x6xf64> {decay, kind = #xf.variable_kind<parameter>}
xf.variable @fw : tensor<8xf64> {kind = #xf.variable_kind<parameter>}
xf.variable @fb : tensor<8xf64> {kind = #xf.variable_kind<parameter>}

func.func private @layer(%x: tensor<2x3x8xf64>, %i: i32, %t: tensor<3x2x2xf64>, %n: tensor<8xf64>, %q: tensor<8x8xf64>, %qb: tensor<8xf64>, %k: tensor<4x8xf64>, %g: tensor<6x8xf64>, %d: tensor<8x6xf64>) -> tensor<2x3x8xf64> {
  %h = xf.norm %x, %n {kind = #xf.norm_kind<rms>, epsilon = 1.0e-5} : (tensor<2x3x8xf64>, tensor<8xf64>) -> tensor<2x3x8xf64>
  %q0 = xf.linear %h, %q, %qb : (tensor<2x3x8xf64>, tensor<8x8xf64>, tensor<8xf64>) -> tensor<2x3x8xf64>
  %q1 = xf.reshape %q0 : (tensor<2x3x8xf64>) -> tensor<2x3x2x4xf64>
  %q2 = xf.rope %q1, %t : (tensor<2x3x2x4xf64>, tensor<3x2x2xf64>) -> tensor<2x3x2x4xf64>
  %k0 = xf.linear %h, %k : (tensor<2x3x8xf64>, tensor<4x8xf64>) -> tensor<2x3x4xf64>
  %k1 = xf.reshape %k0 : (tensor<2x3x4xf64>) -> tensor<2x3x1x4xf64>
  %k2 = xf.rope %k1, %t : (tensor<2x3x1x4xf64>, tensor<3x2x2xf64>) -> tensor<2x3x1x4xf64>
  %o, %lse = xf.attention %q2, %k2, %k1, %i {causal, scale = 0.5, dropout = 0.2, stream = 1 : i32} : (tensor<2x3x2x4xf64>, tensor<2x3x1x4xf64>, tensor<2x3x1x4xf64>, i32) -> (tensor<2x3x2x4xf64>, tensor<2x2x3xf64>)
  %o1 = xf.reshape %o : (tensor<2x3x2x4xf64>) -> tensor<2x3x8xf64>
  %o2 = xf.dropout %o1, %i {probability = 0.2, stream = 2 : i32} : (tensor<2x3x8xf64>, i32) -> tensor<2x3x8xf64>
  %x1 = xf.add %x, %o2 : (tensor<2x3x8xf64>, tensor<2x3x8xf64>) -> tensor<2x3x8xf64>
  %g0 = xf.linear %x1, %g : (tensor<2x3x8xf64>, tensor<6x8xf64>) -> tensor<2x3x6xf64>
  %a = xf.activation %g0 {kind = #xf.activation_kind<gelu>} : (tensor<2x3x6xf64>) -> tensor<2x3x6xf64>
  %u = xf.gated %g0, %a {kind = #xf.activation_kind<silu>} : (tensor<2x3x6xf64>, tensor<2x3x6xf64>) -> tensor<2x3x6xf64>
  %y = xf.linear %u, %d : (tensor<2x3x6xf64>, tensor<8x6xf64>) -> tensor<2x3x8xf64>
  %x2 = xf.add %x1, %y : (tensor<2x3x8xf64>, tensor<2x3x8xf64>) -> tensor<2x3x8xf64>
  return %x2 : tensor<2x3x8xf64>
}

func.func @forward(%tokens: tensor<2x3xi32>, %labels: tensor<2x3xi32>) -> tensor<f64> {
  %table = xf.read @table : tensor<7x8xf64>
  %p = xf.read @positions : tensor<5x8xf64>
  %e = xf.embedding %tokens, %table : (tensor<2x3xi32>, tensor<7x8xf64>) -> tensor<2x3x8xf64>
  %p1 = xf.prefix %p : (tensor<5x8xf64>) -> tensor<3x8xf64>
  %x0 = xf.add %e, %p1 : (tensor<2x3x8xf64>, tensor<3x8xf64>) -> tensor<2x3x8xf64>
  %t = xf.rope_table {inverse_frequencies = array<f64: 1.0, 0.3>} : () -> tensor<3x2x2xf64>
  %n0 = xf.read @n0 : tensor<8xf64>
  %q0 = xf.read @q0 : tensor<8x8xf64>
  %qb0 = xf.read @qb0 : tensor<8xf64>
  %k0 = xf.read @k0 : tensor<4x8xf64>
  %g0 = xf.read @g0 : tensor<6x8xf64>
  %d0 = xf.read @d0 : tensor<8x6xf64>
  %i0 = arith.constant 0 : i32
  %x1 = call @layer(%x0, %i0, %t, %n0, %q0, %qb0, %k0, %g0, %d0) : (tensor<2x3x8xf64>, i32, tensor<3x2x2xf64>, tensor<8xf64>, tensor<8x8xf64>, tensor<8xf64>, tensor<4x8xf64>, tensor<6x8xf64>, tensor<8x6xf64>) -> tensor<2x3x8xf64>
  %n1 = xf.read @n1 : tensor<8xf64>
  %q1 = xf.read @q1 : tensor<8x8xf64>
  %qb1 = xf.read @qb1 : tensor<8xf64>
  %k1 = xf.read @k1 : tensor<4x8xf64>
  %g1 = xf.read @g1 : tensor<6x8xf64>
  %d1 = xf.read @d1 : tensor<8x6xf64>
  %i1 = arith.constant 1 : i32
  %x2 = call @layer(%x1, %i1, %t, %n1, %q1, %qb1, %k1, %g1, %d1) : (tensor<2x3x8xf64>, i32, tensor<3x2x2xf64>, tensor<8xf64>, tensor<8x8xf64>, tensor<8xf64>, tensor<4x8xf64>, tensor<6x8xf64>, tensor<8x6xf64>) -> tensor<2x3x8xf64>
  %fw = xf.read @fw : tensor<8xf64>
  %fb = xf.read @fb : tensor<8xf64>
  %y = xf.norm %x2, %fw, %fb {kind = #xf.norm_kind<layer>, epsilon = 1.0e-5} : (tensor<2x3x8xf64>, tensor<8xf64>, tensor<8xf64>) -> tensor<2x3x8xf64>
  %logits = xf.linear %y, %table : (tensor<2x3x8xf64>, tensor<7x8xf64>) -> tensor<2x3x7xf64>
  %loss, %lse = xf.cross_entropy %logits, %labels {valid_vocab = 6 : i64} : (tensor<2x3x7xf64>, tensor<2x3xi32>) -> (tensor<f64>, tensor<2x3xf64>)
  return %loss : tensor<f64>
}
)";

constexpr const char *adamw = "#xf.adamw<beta1 = 0.9, beta2 = 0.95, epsilon = "
                              "1.0e-8, weight_decay = 0.1>";
constexpr const char *sgd = "#xf.sgd<momentum = 0.9, weight_decay = 0.1>";

std::string replaced(std::string text, llvm::StringRef word,
                     llvm::StringRef by) {
  size_t at = text.find(word.str());
  return text.replace(at, word.size(), by.str());
}

/// The model through the passes, with values for its parameters.
class Training {
public:
  Training(llvm::StringRef recompute, llvm::StringRef optimizer = adamw) {
    std::string text = replaced(replaced(model, "OPTIMIZER", optimizer),
                                "RECOMPUTE", recompute);
    module = reference.parse(text);
    PassManager passes(&reference.context);
    passes.addPass(createXfPrecision());
    passes.addPass(createXfBuildEvaluate());
    passes.addPass(createXfAutodiff());
    passes.addPass(createXfBuildStep());
    passes.addPass(createCanonicalizerPass());
    passes.addPass(createCSEPass());
    valid = module && succeeded(passes.run(*module));
    if (!valid)
      return;
    FixedNumbers numbers(3);
    for (auto variable : module->getOps<VariableOp>()) {
      ReferenceTensor tensor = zerosOf(variable.getType());
      if (variable.getKind() == VariableKind::Parameter) {
        numbers.fill(tensor);
        parameters.push_back(variable.getSymName().str());
      }
      if (variable.getKind() != VariableKind::Gradient)
        context.variables[variable.getSymName()] = tensor;
    }
    context.seed = 5;
    context.inputs["learning_rate"] = ReferenceTensor(ArrayRef<int64_t>{}, 0.1);
    for (int64_t i = 0; i < 2; ++i)
      batches.push_back({tokens(i), tokens(i + 1)});
  }

  func::FuncOp function(llvm::StringRef name) {
    return module->lookupSymbol<func::FuncOp>(name);
  }
  StepOp step() { return *module->getOps<StepOp>().begin(); }

  /// The loss of microbatch `index`, with its dropout.
  double loss(int64_t index) {
    context.microbatch = index;
    auto results =
        interpret(function("forward"),
                  {batches[index].tokens, batches[index].labels}, context);
    return succeeded(results) ? (*results)[0][0] : HUGE_VAL;
  }

  ReferenceTensor &variable(llvm::StringRef name) {
    return context.variables[name];
  }

  ReferenceContext reference;
  OwningOpRef<ModuleOp> module;
  bool valid = false;
  EvaluationContext context;
  std::vector<std::string> parameters;
  std::vector<Microbatch> batches;

private:
  static ReferenceTensor tokens(int64_t from) {
    ReferenceTensor result({2, 3});
    for (int64_t i = 0; i < 6; ++i)
      result[i] = static_cast<double>((from * 6 + i * 5 + 1) % 6);
    return result;
  }
};

class RecomputeTest : public testing::TestWithParam<const char *> {};
} // namespace

TEST_P(RecomputeTest, GradientsEqualFiniteDifferencesOfTheLoss) {
  Training training(GetParam());
  ASSERT_TRUE(training.valid);
  llvm::StringMap<ReferenceTensor> before = training.context.variables;
  ASSERT_TRUE(succeeded(
      interpretStep(training.step(), training.batches, training.context)));
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
  Training none("none");
  ASSERT_TRUE(none.valid);
  ASSERT_TRUE(
      succeeded(interpretStep(none.step(), none.batches, none.context)));
  size_t residuals = none.function("forward").getNumResults();
  for (const char *mode : {"selective", "full"}) {
    Training other(mode);
    ASSERT_TRUE(other.valid);
    ASSERT_TRUE(
        succeeded(interpretStep(other.step(), other.batches, other.context)));
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

/// The norm of all gradients of a step, and what they are multiplied by.
static std::pair<double, double> clipping(Training &training) {
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
  Training training("none");
  ASSERT_TRUE(training.valid);
  llvm::StringMap<ReferenceTensor> p = training.context.variables, m, v;
  for (int step = 1; step <= 3; ++step) {
    training.context.step = step - 1;
    training.context.outputs.clear();
    ASSERT_TRUE(succeeded(
        interpretStep(training.step(), training.batches, training.context)));
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
  Training training("none", sgd);
  ASSERT_TRUE(training.valid);
  llvm::StringMap<ReferenceTensor> p = training.context.variables, b;
  for (int step = 0; step < 2; ++step) {
    training.context.step = step;
    ASSERT_TRUE(succeeded(
        interpretStep(training.step(), training.batches, training.context)));
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
  Training training("none");
  ASSERT_TRUE(training.valid);
  training.variable("fb")[0] = std::nan("");
  llvm::StringMap<ReferenceTensor> before = training.context.variables;
  ASSERT_TRUE(succeeded(
      interpretStep(training.step(), training.batches, training.context)));
  EXPECT_EQ(training.context.outputs["skipped"][0][0], 1);
  EXPECT_EQ(training.variable("state.optimizer_step")[0], 0);
  for (llvm::StringRef name : {"table", "q0", "q0.exp_avg", "d1"})
    EXPECT_EQ(training.variable(name).values, before[name].values);
}

TEST(TrainingStep, EvaluatesWithoutDropout) {
  Training training("none");
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
