// What is no plan.
// RUN: hocket-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{plan: tp=two is not a number from 0 to 1048576}}
module attributes {plan.step = #plan.step<"tp=two">} {}

// -----

// expected-error@+1 {{S38: plan.expert_tensor_parallel is 3, which does not divide plan.tensor_parallel (8)}}
module attributes {plan.step = #plan.step<"tp=8,etp=3">} {}

// -----

// expected-error@+1 {{`plan.step` must be a #plan.step}}
module attributes {plan.step = "tp=8"} {}

// -----

// expected-error@+1 {{the plan dialect has one attribute, plan.step of a module, not "plan.steps"}}
module attributes {plan.steps = #plan.step<"tp=8">} {}

// -----

// expected-error@+1 {{the plan dialect has one attribute, plan.step of a module, not "plan.step"}}
func.func private @f() attributes {plan.step = #plan.step<"tp=8">}
