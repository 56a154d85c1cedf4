//===- XfDialect.td - The transformer dialect --------------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_XF_XFDIALECT
#define HOCKET_DIALECTS_XF_XFDIALECT

include "mlir/IR/OpBase.td"

def Xf_Dialect : Dialect {
  let name = "xf";
  let cppNamespace = "::hocket::xf";
  let summary = "What is computed: transformers on global tensors";
  let description = [{
    Coarse operations with transformer meaning. Tensors are global: no op of
    this level knows about devices. A model is a set of `xf.variable`s and
    functions; a repeated layer is one function that is called once a layer.

    Every op implements four interfaces: its gradient, its factor rule (how it
    may be sharded), its cost, and its reference evaluation.
  }];
  let dependentDialects = ["::hocket::step::StepDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::arith::ArithDialect"];
  let useDefaultAttributePrinterParser = 1;
}

#endif
