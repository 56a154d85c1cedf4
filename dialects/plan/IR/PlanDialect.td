//===- PlanDialect.td - The plan dialect -------------------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_PLAN_PLANDIALECT
#define HOCKET_DIALECTS_PLAN_PLANDIALECT

include "mlir/IR/OpBase.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::hocket::plan";
  let summary = "How a step is spread over devices";
  let description = [{
    No level of its own, and no ops: the module's attribute `plan.step` says, from
    the front end to the last pass, how the step is to be spread. Every pass that
    depends on the plan reads it there, so that a module of any level says all
    that the levels below it need.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
}

#endif
