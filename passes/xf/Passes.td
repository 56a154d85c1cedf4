//===- Passes.td - Passes over the transformer dialect -----*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_XF_PASSES
#define HOCKET_PASSES_XF_PASSES

include "mlir/Pass/PassBase.td"

def XfSetPlan : Pass<"xf-set-plan", "::mlir::ModuleOp"> {
  let summary = "gives a module its plan";
  let description = [{
    Puts a plan in the short form in the place of the module's own. The compiler
    does without: a front end says the plan. It is for modules that are written by
    hand, and for trying another plan on one that was dumped.

    ```mlir
    module {}
    // becomes, with `plan=tp=2,zero=1`
    module attributes {plan.step = #plan.step<"pp=1,dp=1,tp=2,mbs=1,zero=1">} {}
    ```
  }];
  let options = [
    Option<"plan", "plan", "std::string", "", "The plan, as in tp=2,zero=1">];
  let dependentDialects = ["::hocket::plan::PlanDialect"];
}

def XfPrecision : Pass<"xf-precision", "::mlir::ModuleOp"> {
  let summary = "makes the forward pass compute in the training's precision";
  let description = [{
    Runs on the forward functions before autodiff. With `fp32` nothing changes.
    With `bf16` and `fp16` every parameter that is not a norm's gets a `working`
    copy in that type, which the forward pass reads in its place; activations
    follow the type of what they are computed of. Statistics (log-sum-exp), the
    loss, norm weights and the rotary table stay in f32.

    ```mlir
    %w = xf.read @head.weight : tensor<32x8xf32>
    %y = xf.linear %x, %w : (tensor<4x8xf32>, tensor<32x8xf32>) -> tensor<4x32xf32>
    // becomes
    xf.variable @head.weight.working : tensor<32x8xbf16> {kind = #xf.variable_kind<working>, of = @head.weight}
    %w = xf.read @head.weight.working : tensor<32x8xbf16>
    %y = xf.linear %x, %w : (tensor<4x8xbf16>, tensor<32x8xbf16>) -> tensor<4x32xbf16>
    ```
  }];
  let statistics = [Statistic<"numWorking", "working-copies",
                              "variables that hold a parameter's copy">];
  let dependentDialects = ["::hocket::xf::XfDialect"];
}

def XfQuantize : Pass<"xf-quantize", "::mlir::ModuleOp"> {
  let summary = "lets the layers' linear ops multiply in 8 bits";
  let description = [{
    With `fp8` in `xf.training`, after `xf-precision` and before autodiff: every
    `xf.linear` of a called function gets operands of type f8E4M3FN, each with a
    scale, its largest magnitude over the type's largest number ("current
    scaling": of this very tensor). What several GEMMs read is quantized
    once. The head, which no called function holds, routers and experts' grouped
    GEMMs stay as they are.

    With `fp8 = #xf.fp8_recipe<blockwise>` or `mxfp8` the operands are put in
    blocks of codes with a scale each instead (`xf.quantize_blocks`), and what
    these stand for is multiplied: they are bf16 numbers. So are those of experts'
    grouped GEMMs. Weights keep their working copies in bf16.

    A weight that comes straight from its `working` copy is quantized where that
    is made, once a step: the copy takes 8 bits, and its scale becomes a
    `working` variable and an argument.

    ```mlir
    func.func private @layer(%x: tensor<4x8xbf16>, %w: tensor<8x8xbf16>) -> tensor<4x8xbf16> {
      %y = xf.linear %x, %w : (tensor<4x8xbf16>, tensor<8x8xbf16>) -> tensor<4x8xbf16>
    // becomes
    func.func private @layer(%x: tensor<4x8xbf16>, %w: tensor<8x8xf8E4M3FN>, %t: tensor<f32>) -> tensor<4x8xbf16> {
      %a = xf.amax %x : (tensor<4x8xbf16>) -> tensor<f32>
      %s = xf.quantize_scale %a {format = f8E4M3FN} : (tensor<f32>) -> tensor<f32>
      %q = xf.quantize %x, %s : (tensor<4x8xbf16>, tensor<f32>) -> tensor<4x8xf8E4M3FN>
      %y = xf.linear %q, %w scales(%s, %t) : (tensor<4x8xf8E4M3FN>, tensor<8x8xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<4x8xbf16>
    ```
  }];
  let statistics = [
    Statistic<"numGemms", "gemms", "GEMMs with 8-bit operands">,
    Statistic<"numWeights", "weights", "working copies of 8 bits">];
  let dependentDialects = ["::hocket::xf::XfDialect"];
}

def XfLowRank : Pass<"xf-low-rank", "::mlir::ModuleOp"> {
  let summary = "gives linear layers the adapters that xf.low_rank asks for";
  let description = [{
    LoRA (arXiv 2106.09685). Beside every linear op whose weight is a parameter of a
    target's role, in functions that train, validate and write: the input, dropped
    at random where the function trains, times a matrix A of `[rank, in]`, times
    `alpha / rank`, times B of `[out, rank]`, added to the result. The matrices are
    parameters `<name>.lora_A.weight`, uniform at first as PEFT draws them, and
    `<name>.lora_B.weight`, zero at first. All other parameters become `frozen`.

    The one of the two matrices that has the dim along which ranks split the layer
    has the layer's role and is split with it; the other is whole.

    After `xf-precision` and `xf-quantize`: adapters multiply in the compute
    precision, whatever the layer's own GEMM does.

    ```mlir
    xf.low_rank {alpha = 8.0, dropout = 0.0, rank = 2 : i64, targets = [#xf.parameter_role<query>]}
    %w = xf.read @q.weight : tensor<8x8xf32>
    %y = xf.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    // becomes
    %w = xf.read @q.weight : tensor<8x8xf32>
    %y = xf.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %a = xf.read @q.lora_A.weight : tensor<2x8xf32>
    %b = xf.read @q.lora_B.weight : tensor<8x2xf32>
    %u = xf.linear %x, %a : (tensor<4x8xf32>, tensor<2x8xf32>) -> tensor<4x2xf32>
    %s = xf.constant {value = 4.0} : () -> tensor<f32>
    %v = xf.multiply %u, %s : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x2xf32>
    %m = xf.linear %v, %b : (tensor<4x2xf32>, tensor<8x2xf32>) -> tensor<4x8xf32>
    %z = xf.add %y, %m : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let statistics = [Statistic<"numAdapters", "adapters",
                              "linear ops with an adapter">];
  let dependentDialects = ["::hocket::xf::XfDialect",
                           "::mlir::arith::ArithDialect"];
}

def XfNarrowFrozen : Pass<"xf-narrow-frozen", "::mlir::ModuleOp"> {
  let summary = "keeps no wide copy of what is not trained";
  let description = [{
    After `xf-precision` and `xf-quantize`: a `frozen` parameter of which the step
    reads a working copy alone takes the type in which the model computes, for no
    update adds small numbers to it. A copy of that type goes; one of 8 bits is made
    of the narrow parameter.

    ```mlir
    xf.variable @w : tensor<8x8xf32> {frozen, kind = #xf.variable_kind<parameter>}
    xf.variable @w.working : tensor<8x8xbf16> {kind = #xf.variable_kind<working>, of = @w}
    %w = xf.read @w.working : tensor<8x8xbf16>
    // becomes
    xf.variable @w : tensor<8x8xbf16> {frozen, kind = #xf.variable_kind<parameter>}
    %w = xf.read @w : tensor<8x8xbf16>
    ```
  }];
  let statistics = [Statistic<"numNarrowed", "narrowed",
                              "frozen parameters without a wide copy">];
  let dependentDialects = ["::hocket::xf::XfDialect"];
}

def XfBuildEvaluate : Pass<"xf-build-evaluate", "::mlir::ModuleOp"> {
  let summary = "makes the function that validates: forward without dropout";
  let description = [{
    Copies `@forward` to `@evaluate`, without dropout and without what it
    accumulates. A function that it calls and that has either is copied to
    `<name>_evaluate`; the others are shared. The copy returns the loss that the
    host sees, to which forward may add others for its gradient.

    ```mlir
    func.func @forward(%t: tensor<4xi32>, %l: tensor<4xi32>) -> tensor<f32> {
      ...
      %y = xf.dropout %x {rate = 0.1, stream = 2 : i32} : (tensor<4x8xf32>) -> tensor<4x8xf32>
      %loss, %lse = xf.cross_entropy %y, %l ...
      return %loss : tensor<f32>
    }
    // gives, beside it,
    func.func @evaluate(%t: tensor<4xi32>, %l: tensor<4xi32>) -> tensor<f32> {
      ...
      %loss, %lse = xf.cross_entropy %x, %l ...
      xf.output %loss, "loss" : tensor<f32>
      return %loss : tensor<f32>
    }
    ```
  }];
  let dependentDialects = ["::hocket::xf::XfDialect"];
}

def XfAutodiff : Pass<"xf-autodiff", "::mlir::ModuleOp"> {
  let summary = "builds the backward pass";
  let description = [{
    Makes of `@forward(tokens, labels) -> loss` a `@forward` that also returns
    residuals and a `@backward(tokens, labels, residuals...)` that accumulates
    the gradient of every parameter that was read. A called function `@layer`
    is differentiated once, however often it is called, into `@layer_forward`
    (its results, then residuals) and `@layer_backward` (arguments that are
    still needed, residuals, gradients of the results; it returns gradients of
    the arguments). `xf.backward` of the first names the second.

    Of frozen parameters there is no gradient, nor of what comes of these alone:
    below the lowest trained layer there is no backward pass, and such layers are
    called as they are. Layers of which other arguments are trained are
    differentiated apart, into `@layer_1_forward` and `@layer_1_backward`.

    A residual is a value of the forward pass that the backward pass reads. What
    is kept and what is computed again follows `recompute` of `xf.training`:
    `none` keeps all but views; `selective` computes the plan's
    `recompute_modules` again (RecomputePolicy.h), where none are named norms,
    activations and what else is pointwise; `full` keeps of a called function
    only its arguments. Ops that compute again carry the attribute `recomputed`. What
    differs from stage to stage (`auto`, and `full` of some layers or several
    together) is left to `pipe-recompute`, and everything is kept here.

    ```mlir
    func.func private @layer(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
      %h = xf.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
      %y = xf.activation %h {kind = #xf.activation_kind<gelu>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
      return %y : tensor<4x8xf32>
    }
    // becomes
    func.func private @layer_forward(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
      ...
      return %y, %h : tensor<4x8xf32>, tensor<4x8xf32>
    }
    func.func private @layer_backward(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %h: tensor<4x8xf32>, %dy: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8x8xf32>) {
      %dh = xf.activation_gradient %dy, %h {kind = #xf.activation_kind<gelu>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
      %dx = xf.linear_input_gradient %dh, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
      %dw = xf.linear_weight_gradient %dh, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
      return %dx, %dw : tensor<4x8xf32>, tensor<8x8xf32>
    }
    ```
  }];
  let statistics = [
    Statistic<"numFunctions", "functions", "functions differentiated">,
    Statistic<"numResiduals", "residuals", "values kept for the backward pass">,
    Statistic<"numRecomputed", "recomputed", "ops that compute again">];
  let dependentDialects = ["::hocket::xf::XfDialect"];
}

def XfBuildStep : Pass<"xf-build-step", "::mlir::ModuleOp"> {
  let summary = "adds the optimizer's update and the training step";
  let description = [{
    After autodiff: adds the optimizer's state for every parameter that has a
    gradient, `@update` (norm of all gradients, scale, update of each parameter,
    refresh of working copies, biases of `xf.balance`; nothing changes where a
    gradient is not finite),
    `@prepare` where there are working copies, and the `xf.step`.

    ```mlir
    xf.variable @w : tensor<8x8xf32> {kind = #xf.variable_kind<parameter>}
    xf.variable @w.grad : tensor<8x8xf32> {kind = #xf.variable_kind<gradient>, of = @w}
    // gives, beside them,
    xf.variable @w.exp_avg : tensor<8x8xf32> {init = #xf.init<zeros>, kind = #xf.variable_kind<optimizer_state>, of = @w, slot = "exp_avg"}
    func.func @update() {
      %lr = xf.input "learning_rate" : tensor<f32>
      %g = xf.read @w.grad : tensor<8x8xf32>
      %norm, %bad = xf.global_norm %g ...
      ...
    }
    xf.step microbatches(2) forward(@forward) backward(@backward) update(@update) evaluate(@evaluate)
    ```
  }];
  let statistics = [Statistic<"numUpdates", "updates", "parameters updated">];
  let dependentDialects = ["::hocket::xf::XfDialect",
                           "::mlir::func::FuncDialect"];
}

def XfSizeMicrobatch : Pass<"xf-size-microbatch", "::mlir::ModuleOp"> {
  let summary = "gives tensors the sizes that the plan has for them";
  let description = [{
    A model is written for any number of sequences at a time, as a front end
    does it for one, and for one run of tokens that has all experts. This pass
    gives dims of sequences as many as all data ranks of the plan compute at a
    time, or serve, experts as many runs and as much room as the ranks have, and
    the training its number of microbatches. It follows dims by the ops' factor
    rules, so a new op needs nothing here. Where no ranks share a sequence, what
    is looked up at all of its positions is the first rows of the table. This is
    the first thing that happens beyond `xf`; where the module has no plan,
    nothing does.

    ```mlir
    %y = xf.linear %x, %w : (tensor<1x256x64xf32>, tensor<64x64xf32>) -> tensor<1x256x64xf32>
    // With dp=4,mbs=2 it becomes
    %y = xf.linear %x, %w : (tensor<8x256x64xf32>, tensor<64x64xf32>) -> tensor<8x256x64xf32>
    ```
  }];
  let dependentDialects = ["::hocket::xf::XfDialect",
                           "::mlir::func::FuncDialect"];
}

def VerifyXf : Pass<"verify-xf", "::mlir::ModuleOp"> {
  let summary = "checks that a module is a whole training step";
  let description = [{
    Beyond what each op checks: there is one training and one step (X61), functions
    hold ops of this level (X62), every parameter that is not frozen has one
    gradient (X63), and the step adds to every gradient and writes every such
    parameter and all of the optimizer's state (X64), and a step's sequences are some number of times what the
    plan's data ranks compute at a time (X65).

    ```mlir
    xf.variable @w : tensor<8xf32> {kind = #xf.variable_kind<parameter>} // error: X63: has 0 gradients
    ```
  }];
}

#endif
