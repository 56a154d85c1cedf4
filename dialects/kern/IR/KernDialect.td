//===- KernDialect.td - The kernel dialect -----------------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_KERN_KERNDIALECT
#define HOCKET_DIALECTS_KERN_KERNDIALECT

include "mlir/IR/OpBase.td"

def Kern_Dialect : Dialect {
  let name = "kern";
  let cppNamespace = "::hocket::kern";
  let summary = "How one kernel computes";
  let description = [{
    A program of this level is fragments (`kern.fragment`), and functions that
    they call, over local tensors. Their ops are fused regions (`kern.rows`,
    `kern.columns`), GEMMs (`kern.gemm`), calls of hand-written kernels
    (`kern.library`) and reads and writes of variables.

    A fused region is scalar code over a two-dimensional iteration space of
    `rows x cols`. Every operand has an access: `full` (one element for each
    point), `tiled` (its fewer rows repeat), `row` (one element a row), `col`
    (one a column) or `scalar`. Element values are f32 inside, whatever they
    are in memory, and ops of `arith` and `math` compute on them, so that one
    table from op to text, or to vector code, is an emitter.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::hocket::step::StepDialect"];
  let useDefaultAttributePrinterParser = 1;
}

#endif
