//===- StepDialect.td - The step dialect -------------------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_STEP_STEPDIALECT
#define HOCKET_DIALECTS_STEP_STEPDIALECT

include "mlir/IR/OpBase.td"

def Step_Dialect : Dialect {
  let name = "step";
  let cppNamespace = "::hocket::step";
  let summary = "What several levels say of a step";
  let description = [{
    No level of its own: the kinds of variables, fragments, collectives and
    epilogues, where the values of a fragment come from and go to, and what a
    module says of its devices and of training. A level passes them on as they
    are, so that no conversion translates them.
  }];
  let useDefaultAttributePrinterParser = 1;
}

#endif
