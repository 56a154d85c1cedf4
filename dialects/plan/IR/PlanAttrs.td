//===- PlanAttrs.td - The plan of a step -------------------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_PLAN_PLANATTRS
#define HOCKET_DIALECTS_PLAN_PLANATTRS

include "dialects/plan/IR/PlanDialect.td"
include "mlir/IR/AttrTypeBase.td"

def Plan_StepAttr : AttrDef<Plan_Dialect, "Step"> {
  let mnemonic = "step";
  let summary = "the plan of one training step";
  let description = [{
    A plan in the short form that `--plan` takes (dialects/plan/ParallelPlan.h).
    What is left out has its default.

    ```mlir
    module attributes {plan.step = #plan.step<"pp=2,dp=2,tp=2,mbs=1,zero=1,sp=1">} {}
    ```
  }];
  let parameters = (ins "::hocket::plan::ParallelPlan":$plan);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif
