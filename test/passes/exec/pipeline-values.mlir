// RUN: hocket-opt %s --split-input-file --hocket-kern-to-exec | FileCheck %s

// A layer that is called twice is two stretches of one line; the residual %h
// lives into backward, and the gradient goes straight to its variable.

kern.variable @w : tensor<8x8xf32> {kind = #kern.variable_kind<parameter>}
kern.variable @w.grad : tensor<8x8xf32> {kind = #kern.variable_kind<gradient>, of = @w}

kern.kernel @double [4 x 8] (%a: tensor<4x8xf32> as full) -> (tensor<4x8xf32> as full) {
  %0 = arith.addf %a, %a : f32
  kern.yield %0 : f32
}
kern.kernel @cast [4 x 8] (%a: tensor<4x8xi32> as full) -> (tensor<4x8xf32> as full) {
  kern.yield %a : f32
}

func.func private @layer(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = kern.launch @double(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK: kern.kernel @double
// CHECK-NOT: func.func
// CHECK: exec.role @role0 ranks [0] arena 4096 lower_bound 4096
// CHECK: %[[W:.*]] = exec.buffer "w" at 0 kind parameters live 3 to 3 {persistent} : memref<8x8xf32>
// CHECK: %[[G:.*]] = exec.buffer "w.grad" at 256 kind gradients live 5 to 5 {persistent} : memref<8x8xf32>
// CHECK: %[[X:.*]] = exec.buffer "tokens" at {{.*}} kind inputs live 0 to 1 {residual} : memref<4x8xi32>
// CHECK: %[[A:.*]] = exec.buffer "{{.*}}" at {{.*}} kind activations live 1 to 5 {residual} : memref<4x8xf32>
// CHECK: exec.parameter "w" state "value" in %[[W]]
// CHECK-NOT: exec.parameter
// CHECK: exec.sequence @forward{{.*}} {
// CHECK-NEXT: exec.host input "tokens" %[[X]]
// CHECK-NEXT: exec.launch @cast(%[[X]]) to (%[[A]])
// The two calls of the layer work in place: nothing else reads their inputs.
// CHECK-NEXT: exec.launch @double(%[[A]]) to (%[[A]])
// CHECK-NEXT: exec.gemm %[[A]], %[[W]] into %[[O:.*]] {
// CHECK-NEXT: exec.host output "loss" %[[O]]
// CHECK: exec.sequence @backward{{.*}} {
// CHECK-NEXT: exec.gemm %[[A]], %[[A]] into %[[G]] {accumulate = #exec.accumulation<add_unless_first>
// CHECK: exec.entry "train_step" [@forward, @backward, @forward, @backward] microbatches [0, 0, 1, 1] slots [0, 0, 0, 0]
kern.fragment F @forward(%t: tensor<4x8xi32> from host "tokens") -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %x = kern.launch @cast(%t) : (tensor<4x8xi32>) -> tensor<4x8xf32>
  %h = func.call @layer(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %w = kern.read @w : tensor<8x8xf32>
  %o = kern.gemm %h, %w {k = 8 : i64, m = 4 : i64, n = 8 : i64} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  kern.output %o, "loss" : tensor<4x8xf32>
  kern.return %o, %h : tensor<4x8xf32>, tensor<4x8xf32>
}
kern.fragment B @backward(%t: tensor<4x8xi32> from F argument 0, %h: tensor<4x8xf32> from F result 1) {
  %g = kern.gemm %h, %h {k = 4 : i64, m = 8 : i64, n = 8 : i64, transpose_a} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  kern.accumulate %g, @w.grad : tensor<8x8xf32>
  kern.return
}
kern.schedule "train_step" slots 1 [#kern.action<@forward microbatch 0 slot 0>, #kern.action<@backward microbatch 0 slot 0>, #kern.action<@forward microbatch 1 slot 0>, #kern.action<@backward microbatch 1 slot 0>]

// -----

// An update in place: the new value is written over the old one; a value that
// goes to two variables is copied to the second.

kern.variable @p : tensor<16xf32> {kind = #kern.variable_kind<parameter>}
kern.variable @q : tensor<16xf32> {kind = #kern.variable_kind<state>}
kern.kernel @half [1 x 16] (%a: tensor<16xf32> as full) -> (tensor<16xf32> as full) {
  %c = arith.constant 0.5 : f32
  %0 = arith.mulf %a, %c : f32
  kern.yield %0 : f32
}
// CHECK: %[[P:.*]] = exec.buffer "p"
// CHECK: %[[Q:.*]] = exec.buffer "q"
// CHECK: exec.sequence @update{{.*}} {
// CHECK-NEXT: exec.launch @half(%[[P]]) to (%[[P]])
// CHECK-NEXT: exec.copy %[[P]] to %[[Q]]
// CHECK-NEXT: {{^    }$}}
kern.fragment U @update() {
  %p = kern.read @p : tensor<16xf32>
  %n = kern.launch @half(%p) : (tensor<16xf32>) -> tensor<16xf32>
  kern.write %n, @p : tensor<16xf32>
  kern.write %n, @q : tensor<16xf32>
  kern.return
}
kern.schedule "train_step" slots 1 [#kern.action<@update microbatch 0 slot 0>]

// -----

// Kernels stay as they are.
// CHECK: kern.kernel @double
kern.kernel @double [8 x 64] (%a: tensor<8x64xf32> as full) -> (tensor<8x64xf32> as full) {
  %0 = arith.addf %a, %a : f32
  kern.yield %0 : f32
}
kern.variable @w : tensor<8x64xf32> {info = #step.variable_info<init = "normal", random_key = 7 : i32, shape = [8, 64], value = 2.000000e-02 : f64>, kind = #kern.variable_kind<parameter>}
kern.variable @w.grad : tensor<8x64xf32> {kind = #kern.variable_kind<gradient>, of = @w}

// A layer, called twice.
func.func private @layer(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %y = kern.launch @double(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}
kern.fragment F @forward(%tokens: tensor<2x4xi32> from host "tokens", %labels: tensor<2x4xi32> from host "labels") -> (tensor<8x64xf32>) {
  %w = kern.read @w : tensor<8x64xf32>
  %a = func.call @layer(%w) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %b = func.call @layer(%a) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  kern.return %b : tensor<8x64xf32>
}
kern.schedule "train_step" slots 1 [#kern.action<@forward microbatch 0 slot 0>]

// The layer is inlined twice. Its first result is a buffer that shares its
// place with the inputs, which are dead by then; its second is written over its
// first. Nothing needs more than the two variables and that buffer.
// CHECK: exec.role @role0 ranks [0] arena 8192 lower_bound 8192 {
// CHECK-DAG: %[[W:.*]] = exec.buffer "w" at 0 kind parameters {{.*}} {persistent} : memref<8x64xf32>
// CHECK-DAG: exec.buffer "w.grad" at 2048 kind gradients {persistent}
// CHECK-DAG: %[[TOKENS:.*]] = exec.buffer "tokens" at 4096 kind inputs live 0 to 0
// CHECK-DAG: %[[Y:.*]] = exec.buffer "double" at 4096 kind temporaries live 2 to 3
// CHECK: exec.parameter "w" state "value" in %[[W]]
// CHECK: exec.sequence @forward{{.*}} {
// CHECK-NEXT: exec.host input "tokens" %[[TOKENS]]
// CHECK-NEXT: exec.host input "labels"
// CHECK-NEXT: exec.launch @double(%[[W]]) to (%[[Y]])
// CHECK-NEXT: exec.launch @double(%[[Y]]) to (%[[Y]])
// CHECK-NEXT: {{^    }$}}
// CHECK: exec.entry "train_step" [@forward] microbatches [0] slots [0]

// CHECK-NOT: func.func
