//===- Passes.td - Analyses over the levels ----------------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_ANALYSIS_PASSES
#define HOCKET_PASSES_ANALYSIS_PASSES

include "mlir/Pass/PassBase.td"

def CountModelFlops : Pass<"count-model-flops", "::mlir::ModuleOp"> {
  let summary = "Count the model's FLOPs for one token";
  let description = [{
    Sums what `xf.linear` and `xf.attention` cost in `@forward` and the
    functions it calls, of `xf.state_scan` what Megatron-LM counts (seven for each
    number of a state and token), and of `xf.grouped_linear` the work for the
    experts that the router chose, not for rows that a capacity leaves empty, three
    times (a backward pass is two forward passes: a GEMM for the gradient of each
    operand), and divides by the tokens of a microbatch: the model FLOPs by which
    MFU is reckoned. Gradients that frozen parameters leave out do not count.
    Nothing else counts, recomputation included, and causal attention counts once.
    The module gets the attribute `hocket.flops_per_token`.

    ```mlir
    module { func.func @forward(...) { ... xf.linear ... } }
    // becomes
    module attributes {hocket.flops_per_token = 1.2e+04 : f64} { ... }
    ```
  }];
}

#endif
