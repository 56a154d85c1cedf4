// RUN: hocket-opt %s --hocket-kern-to-exec | FileCheck %s
// RUN: sed -e 's/, #kern.action<@backward microbatch 1 slot 0>//' %s | hocket-opt --hocket-kern-to-exec | FileCheck %s --check-prefix=ONE

// A GEMM adds to the weight's gradient, and overwrites the bias's: the first
// goes straight to its variable, the second only where one microbatch is all.

kern.variable @x : tensor<4x8xf32> {kind = #kern.variable_kind<state>}
kern.variable @w.grad : tensor<8x8xf32> {kind = #kern.variable_kind<gradient>, of = @w}
kern.variable @b.grad : tensor<8xf32> {kind = #kern.variable_kind<gradient>, of = @b}

// CHECK: %[[X:.*]] = exec.buffer "x"
// CHECK: %[[W:.*]] = exec.buffer "w.grad"
// CHECK: %[[B:.*]] = exec.buffer "b.grad"
// CHECK: exec.sequence @backward fragment B {
// CHECK-NEXT: exec.gemm %[[X]], %[[X]] into %[[W]] bias_gradient %[[S:.*]] {accumulate = #exec.accumulation<add_unless_first>
// CHECK-NEXT: exec.accumulate %[[S]] to %[[B]] {accumulate = #exec.accumulation<add_unless_first>
// CHECK-NEXT: {{^ *[}]$}}

// ONE: %[[X:.*]] = exec.buffer "x"
// ONE: %[[W:.*]] = exec.buffer "w.grad"
// ONE: %[[B:.*]] = exec.buffer "b.grad"
// ONE: exec.sequence @backward fragment B {
// ONE-NEXT: exec.gemm %[[X]], %[[X]] into %[[W]] bias_gradient %[[B]] {k
// ONE-NEXT: {{^ *[}]$}}
kern.fragment B @backward() {
  %x = kern.read @x : tensor<4x8xf32>
  %g, %s = kern.gemm %x, %x {bias_gradient, k = 4 : i64, m = 8 : i64, n = 8 : i64, transpose_a} : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>)
  kern.accumulate %g, @w.grad : tensor<8x8xf32>
  kern.accumulate %s, @b.grad : tensor<8xf32>
  kern.return
}
kern.schedule "train_step" slots 1 [#kern.action<@backward microbatch 0 slot 0>, #kern.action<@backward microbatch 1 slot 0>]
