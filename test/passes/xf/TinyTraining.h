//===- TinyTraining.h - A small model through the passes --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A model of two layers with everything that has a gradient of its own kind:
/// tied embedding, learned positions, grouped attention with rotary positions
/// and dropout, biases, an activation, a gated layer, both norms. The passes
/// make a training step of it, which the reference evaluator runs.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_PASSES_XF_TINYTRAINING_H
#define HOCKET_TEST_PASSES_XF_TINYTRAINING_H

#include "test/dialects/xf/ReferenceFixture.h"

#include "passes/xf/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace hocket::xf {

inline constexpr const char *tinyModel = R"(
xf.training {clip_norm = 0.05, global_batch_size = 4 : i64, micro_batch_size = 2 : i64, model_name = "tiny", optimizer = OPTIMIZER, LOSS_SCALEprecision = #xf.precision<PRECISION>, runtime = {}, sequence_length = 3 : i64}
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
  %o2 = xf.dropout %o1, %i {rate = 0.2, stream = 2 : i32} : (tensor<2x3x8xf64>, i32) -> tensor<2x3x8xf64>
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

/// What differs between tests.
struct TinyOptions {
  std::string recompute = "none";
  std::string modules = ""; ///< with selective, as "mlp/layernorm"
  std::string optimizer = "#xf.adamw<beta1 = 0.9, beta2 = 0.95, epsilon = "
                          "1.0e-8, weight_decay = 0.1>";
  std::string precision = "fp32";
  /// "": none; else the initial value.
  std::string lossScale = "";
  /// What the model is written in.
  std::string element = "f64";
};

class TinyTraining {
public:
  explicit TinyTraining(const TinyOptions &options = {}) {
    module = reference.parse(textOf(options));
    mlir::PassManager passes(&reference.context);
    XfSetPlanOptions plan;
    plan.plan = "recompute=" + options.recompute +
                (options.modules.empty() ? "" : ",modules=" + options.modules);
    passes.addPass(createXfSetPlan(plan));
    passes.addPass(createXfPrecision());
    passes.addPass(createXfBuildEvaluate());
    passes.addPass(createXfAutodiff());
    passes.addPass(createXfBuildStep());
    passes.addPass(mlir::createCanonicalizerPass());
    passes.addPass(mlir::createCSEPass());
    valid = module && mlir::succeeded(passes.run(*module));
    if (valid)
      setValues();
  }

  mlir::func::FuncOp function(llvm::StringRef name) {
    return module->lookupSymbol<mlir::func::FuncOp>(name);
  }
  StepOp step() { return *module->getOps<StepOp>().begin(); }

  mlir::LogicalResult run() { return interpretStep(step(), batches, context); }

  /// The loss of microbatch `index`, with its dropout.
  double loss(int64_t index) {
    context.microbatch = index;
    auto results =
        interpret(function("forward"),
                  {batches[index].tokens, batches[index].labels}, context);
    return mlir::succeeded(results) ? (*results)[0][0] : HUGE_VAL;
  }

  ReferenceTensor &variable(llvm::StringRef name) {
    return context.variables[name];
  }

  ReferenceContext reference;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  bool valid = false;
  EvaluationContext context;
  std::vector<std::string> parameters;
  std::vector<Microbatch> batches;

private:
  static void replace(std::string &text, llvm::StringRef word,
                      llvm::StringRef by) {
    for (size_t at = 0; (at = text.find(word.str(), at)) != std::string::npos;
         at += by.size())
      text.replace(at, word.size(), by.str());
  }

  static std::string textOf(const TinyOptions &options) {
    std::string text = tinyModel;
    replace(text, "OPTIMIZER", options.optimizer);
    replace(text, "PRECISION", options.precision);
    replace(text, "xf64>", "x" + options.element + ">");
    replace(text, "tensor<f64>", "tensor<" + options.element + ">");
    std::string scale;
    if (!options.lossScale.empty())
      scale = "loss_scale = #xf.loss_scale<initial = " + options.lossScale +
              ", growth_factor = 2.0, backoff_factor = 0.5, growth_interval = "
              "2, minimum = 1.0>, ";
    replace(text, "LOSS_SCALE", scale);
    return text;
  }

  static ReferenceTensor tokens(int64_t from) {
    ReferenceTensor result({2, 3});
    for (int64_t i = 0; i < 6; ++i)
      result[i] = static_cast<double>((from * 6 + i * 5 + 1) % 6);
    return result;
  }

  /// As the runtime does: initial values, zeros, then @prepare.
  void setValues() {
    FixedNumbers numbers(3);
    for (auto variable : module->getOps<VariableOp>()) {
      ReferenceTensor tensor = zerosOf(variable.getType());
      if (variable.getKind() == VariableKind::Parameter) {
        numbers.fill(tensor);
        parameters.push_back(variable.getSymName().str());
      } else if (InitAttr init = variable.getInitAttr()) {
        if (init.getValue())
          tensor[0] = init.getValue().getValueAsDouble();
      }
      if (variable.getKind() != VariableKind::Gradient)
        context.variables[variable.getSymName()] = tensor;
    }
    context.seed = 5;
    context.inputs["learning_rate"] =
        ReferenceTensor(llvm::ArrayRef<int64_t>{}, 0.1);
    for (int64_t i = 0; i < 2; ++i)
      batches.push_back({tokens(i), tokens(i + 1)});
    if (auto prepare = function("prepare"))
      valid = mlir::succeeded(interpret(prepare, {}, context));
  }
};

} // namespace hocket::xf

#endif // HOCKET_TEST_PASSES_XF_TINYTRAINING_H
