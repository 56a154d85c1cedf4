//===- LoweredStepTest.cpp - A step of kernels against its reference ------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A small model becomes a training step, is converted to kernels and fused.
/// Two steps of it are run beside the reference evaluation of the ops that it
/// was converted from: losses, gradients, parameters and optimizer state must
/// agree, with and without fusion.
///
//===----------------------------------------------------------------------===//

#include "test/dialects/xf/ReferenceFixture.h"
#include "test/passes/kern/KernInterpreter.h"

#include "dialects/dist/IR/Dist.h"
#include "dialects/pipe/IR/Pipe.h"
#include "passes/conversion/Passes.h"
#include "passes/conversion/PipeToKern/PipeToKern.h"
#include "passes/kern/Passes.h"
#include "passes/xf/Passes.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace hocket;
using xf::ReferenceTensor;

namespace {

/// Two layers with every kind of op that has a gradient of its own, dropout
/// with and without an instance, a tied table, positions longer than the
/// sequence.
constexpr const char *model = R"(
xf.training {clip_norm = 0.05, global_batch_size = 4 : i64, micro_batch_size = 2 : i64, model_name = "tiny", optimizer = OPTIMIZER, precision = #xf.precision<fp32>, runtime = {}, sequence_length = 4 : i64}
xf.variable @table : tensor<12x16xf32> {decay, kind = #xf.variable_kind<parameter>}
xf.variable @positions : tensor<7x16xf32> {kind = #xf.variable_kind<parameter>}
xf.variable @n0 : tensor<16xf32> {kind = #xf.variable_kind<parameter>}
xf.variable @q0 : tensor<16x16xf32> {decay, kind = #xf.variable_kind<parameter>}
xf.variable @qb0 : tensor<16xf32> {kind = #xf.variable_kind<parameter>}
xf.variable @k0 : tensor<8x16xf32> {decay, kind = #xf.variable_kind<parameter>}
xf.variable @g0 : tensor<24x16xf32> {decay, kind = #xf.variable_kind<parameter>}
xf.variable @d0 : tensor<16x24xf32> {decay, kind = #xf.variable_kind<parameter>}
xf.variable @fw : tensor<16xf32> {kind = #xf.variable_kind<parameter>}
xf.variable @fb : tensor<16xf32> {kind = #xf.variable_kind<parameter>}

func.func private @layer(%x: tensor<2x4x16xf32>, %i: i32, %t: tensor<4x4x2xf32>, %n: tensor<16xf32>, %q: tensor<16x16xf32>, %qb: tensor<16xf32>, %k: tensor<8x16xf32>, %g: tensor<24x16xf32>, %d: tensor<16x24xf32>) -> tensor<2x4x16xf32> {
  %h = xf.norm %x, %n {kind = #xf.norm_kind<rms>, epsilon = 1.0e-5} : (tensor<2x4x16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
  %q0 = xf.linear %h, %q, %qb : (tensor<2x4x16xf32>, tensor<16x16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
  %q1 = xf.reshape %q0 : (tensor<2x4x16xf32>) -> tensor<2x4x2x8xf32>
  %q2 = xf.rope %q1, %t : (tensor<2x4x2x8xf32>, tensor<4x4x2xf32>) -> tensor<2x4x2x8xf32>
  %k0 = xf.linear %h, %k : (tensor<2x4x16xf32>, tensor<8x16xf32>) -> tensor<2x4x8xf32>
  %k1 = xf.reshape %k0 : (tensor<2x4x8xf32>) -> tensor<2x4x1x8xf32>
  %k2 = xf.rope %k1, %t : (tensor<2x4x1x8xf32>, tensor<4x4x2xf32>) -> tensor<2x4x1x8xf32>
  %o, %lse = xf.attention %q2, %k2, %k1, %i {causal, window = 3, scale = 0.5, dropout = 0.2, stream = 1 : i32} : (tensor<2x4x2x8xf32>, tensor<2x4x1x8xf32>, tensor<2x4x1x8xf32>, i32) -> (tensor<2x4x2x8xf32>, tensor<2x2x4xf32>)
  %o1 = xf.reshape %o : (tensor<2x4x2x8xf32>) -> tensor<2x4x16xf32>
  %o2 = xf.dropout %o1, %i {rate = 0.2, stream = 2 : i32} : (tensor<2x4x16xf32>, i32) -> tensor<2x4x16xf32>
  %x1 = xf.add %x, %o2 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
  %g0 = xf.linear %x1, %g : (tensor<2x4x16xf32>, tensor<24x16xf32>) -> tensor<2x4x24xf32>
  %a = xf.activation %g0 {kind = #xf.activation_kind<gelu>} : (tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
  %u = xf.gated %g0, %a {kind = #xf.activation_kind<silu>} : (tensor<2x4x24xf32>, tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
  %y = xf.linear %u, %d : (tensor<2x4x24xf32>, tensor<16x24xf32>) -> tensor<2x4x16xf32>
  %r = xf.activation %y {kind = #xf.activation_kind<gelu_tanh>} : (tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
  %x2 = xf.add %x1, %r : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
  return %x2 : tensor<2x4x16xf32>
}

func.func @forward(%tokens: tensor<2x4xi32>, %labels: tensor<2x4xi32>) -> tensor<f32> {
  %table = xf.read @table : tensor<12x16xf32>
  %p = xf.read @positions : tensor<7x16xf32>
  %e = xf.embedding %tokens, %table : (tensor<2x4xi32>, tensor<12x16xf32>) -> tensor<2x4x16xf32>
  %p1 = xf.prefix %p : (tensor<7x16xf32>) -> tensor<4x16xf32>
  %e1 = xf.add %e, %p1 : (tensor<2x4x16xf32>, tensor<4x16xf32>) -> tensor<2x4x16xf32>
  %x0 = xf.dropout %e1 {rate = 0.1, stream = 1 : i32} : (tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
  %t = xf.rope_table {inverse_frequencies = array<f64: 1.0, 0.3, 0.1, 0.03>} : () -> tensor<4x4x2xf32>
  %n0 = xf.read @n0 : tensor<16xf32>
  %q0 = xf.read @q0 : tensor<16x16xf32>
  %qb0 = xf.read @qb0 : tensor<16xf32>
  %k0 = xf.read @k0 : tensor<8x16xf32>
  %g0 = xf.read @g0 : tensor<24x16xf32>
  %d0 = xf.read @d0 : tensor<16x24xf32>
  %i0 = arith.constant 0 : i32
  %x1 = call @layer(%x0, %i0, %t, %n0, %q0, %qb0, %k0, %g0, %d0) : (tensor<2x4x16xf32>, i32, tensor<4x4x2xf32>, tensor<16xf32>, tensor<16x16xf32>, tensor<16xf32>, tensor<8x16xf32>, tensor<24x16xf32>, tensor<16x24xf32>) -> tensor<2x4x16xf32>
  %i1 = arith.constant 1 : i32
  %x2 = call @layer(%x1, %i1, %t, %n0, %q0, %qb0, %k0, %g0, %d0) : (tensor<2x4x16xf32>, i32, tensor<4x4x2xf32>, tensor<16xf32>, tensor<16x16xf32>, tensor<16xf32>, tensor<8x16xf32>, tensor<24x16xf32>, tensor<16x24xf32>) -> tensor<2x4x16xf32>
  %fw = xf.read @fw : tensor<16xf32>
  %fb = xf.read @fb : tensor<16xf32>
  %y = xf.norm %x2, %fw, %fb {kind = #xf.norm_kind<layer>, epsilon = 1.0e-5} : (tensor<2x4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
  %logits = xf.linear %y, %table : (tensor<2x4x16xf32>, tensor<12x16xf32>) -> tensor<2x4x12xf32>
  %loss, %lse = xf.cross_entropy %logits, %labels {valid_vocab = 11 : i64} : (tensor<2x4x12xf32>, tensor<2x4xi32>) -> (tensor<f32>, tensor<2x4xf32>)
  return %loss : tensor<f32>
}
)";

constexpr const char *adamw = "#xf.adamw<beta1 = 0.9, beta2 = 0.95, epsilon = "
                              "1.0e-8, weight_decay = 0.1>";

std::string modelWith(StringRef optimizer) {
  std::string text = model;
  size_t at = text.find("OPTIMIZER");
  return text.replace(at, 9, optimizer.str());
}

xf::Microbatch batchOf(int64_t from) {
  xf::Microbatch batch{ReferenceTensor({2, 4}), ReferenceTensor({2, 4})};
  for (int64_t i = 0; i < 8; ++i) {
    batch.tokens[i] = static_cast<double>((from * 7 + i * 5 + 1) % 11);
    batch.labels[i] = static_cast<double>((from * 3 + i * 4 + 2) % 11);
  }
  batch.labels[from] = -1;
  return batch;
}

/// A step as the reference has it, and as kernels.
class Steps {
public:
  /// `library` computes the GEMMs, where there is fusion.
  Steps(StringRef optimizer, bool fused, StringRef library = "") {
    context.loadDialect<dist::DistDialect, kern::KernDialect, pipe::PipeDialect,
                        math::MathDialect>();
    reference = parse.parse(modelWith(optimizer));
    PassManager build(&context);
    build.addPass(xf::createXfPrecision());
    build.addPass(xf::createXfBuildEvaluate());
    build.addPass(xf::createXfAutodiff());
    build.addPass(xf::createXfBuildStep());
    valid = reference && succeeded(build.run(*reference));
    if (!valid)
      return;
    kernels = OwningOpRef<ModuleOp>(reference->clone());
    valid = lower(fused, library);
    fill();
  }

  /// Runs step `number` both ways.
  void run(uint32_t number) {
    for (xf::EvaluationContext *each : {&expected, &actual})
      each->step = number;
    ASSERT_TRUE(succeeded(xf::interpretStep(
        *reference->getOps<xf::StepOp>().begin(), batches, expected)));
    test::KernInterpreter(*kernels, actual).run("train_step", batches);
  }

  xf::ReferenceContext parse;
  MLIRContext &context = parse.context;
  OwningOpRef<ModuleOp> reference, kernels;
  xf::EvaluationContext expected, actual;
  std::vector<xf::Microbatch> batches{batchOf(0), batchOf(1)};
  bool valid = false;

private:
  bool lower(bool fused, StringRef library) {
    PassManager passes(&context);
    passes.addPass(createConvertXfToDist());
    passes.addPass(createConvertDistToPipe());
    passes.addPass(createConvertPipeToKern());
    if (fused) {
      passes.addPass(createKernFuseLoss());
      KernFuseGemmEpilogueOptions gemms;
      gemms.library = library.str();
      passes.addPass(createKernFuseGemmEpilogue(gemms));
      passes.addPass(createKernFuseRows());
      passes.addPass(createKernFuseColumns());
      passes.addPass(createCanonicalizerPass());
      passes.addPass(createCSEPass());
    }
    passes.addPass(createKernOutlineKernels());
    passes.addPass(createVerifyKern());
    return succeeded(passes.run(*kernels));
  }

  void fill() {
    xf::FixedNumbers numbers(3);
    for (auto variable : reference->getOps<xf::VariableOp>()) {
      ReferenceTensor tensor = xf::zerosOf(variable.getType());
      if (variable.getKind() == xf::VariableKind::Parameter)
        numbers.fill(tensor);
      if (variable.getKind() != xf::VariableKind::Gradient)
        expected.variables[variable.getSymName()] = tensor;
    }
    expected.seed = 5;
    expected.inputs["learning_rate"] =
        ReferenceTensor(ArrayRef<int64_t>{}, 0.01);
    actual = expected;
  }
};

struct Case {
  const char *name, *optimizer;
  bool fused;
  const char *library = "";
};

class LoweredSteps : public testing::TestWithParam<Case> {};

} // namespace

TEST_P(LoweredSteps, EqualsTheReference) {
  Steps steps(GetParam().optimizer, GetParam().fused, GetParam().library);
  ASSERT_TRUE(steps.valid);
  for (uint32_t step = 0; step < 2; ++step) {
    steps.run(step);
    for (auto &[name, values] : steps.expected.outputs) {
      const auto &found = steps.actual.outputs[name];
      ASSERT_EQ(found.size(), values.size()) << name.str();
      for (size_t i = 0; i < found.size(); ++i)
        EXPECT_NEAR(found[i][0], values[i][0], 1e-5 * std::abs(values[i][0]))
            << name.str() << " " << i;
    }
    for (auto &entry : steps.expected.variables) {
      ASSERT_EQ(steps.actual.variables[entry.first()].size(),
                entry.second.size());
      EXPECT_LT(xf::relativeError(steps.actual.variables[entry.first()],
                                  entry.second),
                1e-4)
          << entry.first().str() << " after step " << step;
    }
  }
}

TEST(LoweredStep, FusionLaunchesLess) {
  Steps plain(adamw, false), fused(adamw, true);
  ASSERT_TRUE(plain.valid && fused.valid);
  auto launchesOf = [](ModuleOp module) {
    int count = 0;
    for (auto function : module.getOps<func::FuncOp>())
      function.walk([&](kern::LaunchOp) { ++count; });
    return count;
  };
  // Of a layer, forward for training and for evaluation, and backward.
  EXPECT_LE(launchesOf(*fused.kernels), launchesOf(*plain.kernels) * 3 / 4);
}

INSTANTIATE_TEST_SUITE_P(
    Plans, LoweredSteps,
    testing::Values(
        Case{"adamw",
             "#xf.adamw<beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, "
             "weight_decay = 0.1>",
             false},
        Case{"adamw_fused",
             "#xf.adamw<beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, "
             "weight_decay = 0.1>",
             true},
        Case{"adamw_cublaslt",
             "#xf.adamw<beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, "
             "weight_decay = 0.1>",
             true, "cublaslt"},
        Case{"sgd_fused", "#xf.sgd<momentum = 0.9, weight_decay = 0.1>", true}),
    [](const testing::TestParamInfo<Case> &info) {
      return std::string(info.param.name);
    });
