//===- Passes.td - From ops of the model to kernels --------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_CONVERSION_PIPETOKERN_PASSES
#define HOCKET_PASSES_CONVERSION_PIPETOKERN_PASSES

include "mlir/Pass/PassBase.td"

def ConvertPipeToKern : Pass<"convert-pipe-to-kern", "::mlir::ModuleOp"> {
  let summary = "turns ops of the model into kernels";
  let description = [{
    Every op of the model becomes a fused region with that op's formula
    (`kern.rows`, `kern.columns`), a GEMM (`kern.gemm`), a call of a
    hand-written kernel (`kern.library`) or a view. Variables, reads and writes
    become their counterparts, `xf.training` a `step.training` and `dist.mesh` a
    `step.mesh`. `pipe.fragment` and its function become a `kern.fragment`,
    and `pipe.schedule` a `kern.schedule` of these. Ops of other dialects stay.

    ```mlir
    %z = xf.add %x, %y : (tensor<8x64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
    ```

    becomes

    ```mlir
    %z = kern.rows "add" [8 x 64] (%a = %x as full : tensor<8x64xf32>, %b = %y as col : tensor<64xf32>) -> (tensor<8x64xf32> as full) {
      %0 = arith.addf %a, %b : f32
      kern.yield %0 : f32
    }
    ```
  }];
  let statistics = [
    Statistic<"converted", "converted", "Number of ops converted">];
  let dependentDialects = ["::hocket::kern::KernDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

#endif
