// A module gets the plan that is asked for, in the place of its own.
// RUN: hocket-opt %s --xf-set-plan=plan=tp=2,zero=1 | FileCheck %s
// RUN: hocket-opt %s | FileCheck %s --check-prefix=OWN
// RUN: not hocket-opt %s --xf-set-plan=plan=tp=2,zp=1 2>&1 | FileCheck %s --check-prefix=KEY
// RUN: not hocket-opt %s --xf-set-plan=plan=v=2 2>&1 | FileCheck %s --check-prefix=RULE

// CHECK: module attributes {plan.step = #plan.step<"pp=1,dp=1,tp=2,mbs=1,zero=1">}
// OWN: module attributes {plan.step = #plan.step<"pp=1,dp=2,tp=1,mbs=1,sp=1">}
// KEY: error: plan: zp is no key; write pp, dp,
// RULE: error: S18: plan.virtual_stages is 2, which has no use on one pipeline rank
module attributes {plan.step = #plan.step<"sp=1,dp=2">} {
}
