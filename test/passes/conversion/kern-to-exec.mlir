// RUN: hocket-opt %s --split-input-file --convert-kern-to-exec | FileCheck %s

// A layer that is called twice is two stretches of one line. Every value has a
// buffer of its own; what forward leaves for backward is a residual, and so are
// its inputs. Kernels stay as they are.

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
// CHECK: exec.role @role0 ranks [0] {
// CHECK-NEXT: %[[W:.*]] = exec.buffer "w" kind parameters {persistent} : memref<8x8xf32>
// CHECK-NEXT: %[[G:.*]] = exec.buffer "w.grad" kind gradients {persistent} : memref<8x8xf32>
// CHECK-NEXT: %[[T:.*]] = exec.buffer "tokens" kind inputs {residual} : memref<4x8xi32>
// CHECK-NEXT: %[[X:.*]] = exec.buffer "cast" kind activations : memref<4x8xf32>
// CHECK-NEXT: %[[Y:.*]] = exec.buffer "layers.0.double" kind activations : memref<4x8xf32>
// CHECK-NEXT: %[[H:.*]] = exec.buffer "layers.1.double" kind activations {residual} : memref<4x8xf32>
// CHECK-NEXT: %[[O:.*]] = exec.buffer "gemm" kind activations : memref<4x8xf32>
// CHECK: exec.parameter "w" state "value" in %[[W]]
// CHECK-NOT: exec.parameter
// CHECK: exec.sequence @forward fragment F {
// CHECK-NEXT: exec.host input "tokens" %[[T]]
// CHECK-NEXT: exec.launch @cast(%[[T]]) to (%[[X]])
// CHECK-NEXT: exec.launch @double(%[[X]]) to (%[[Y]])
// CHECK-NEXT: exec.launch @double(%[[Y]]) to (%[[H]])
// CHECK-NEXT: exec.gemm %[[H]], %[[W]] into %[[O]] {
// CHECK-NEXT: exec.host output "loss" %[[O]]
// CHECK-NEXT: {{^    }$}}
// CHECK-NEXT: exec.sequence @backward fragment B {
// CHECK-NEXT: exec.gemm %[[H]], %[[H]] into %[[D:[^ ]*]] {
// CHECK-NEXT: exec.accumulate %[[D]] to %[[G]] {accumulate = #exec.accumulation<add_unless_first>}
// CHECK-NEXT: {{^    }$}}
// CHECK-NEXT: exec.entry "train_step" [@forward, @backward, @forward, @backward] microbatches [0, 0, 1, 1] slots [0, 0, 0, 0]
kern.fragment F @forward(%t: tensor<4x8xi32> from host "tokens") -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %x = kern.launch @cast(%t) : (tensor<4x8xi32>) -> tensor<4x8xf32>
  %y = func.call @layer(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("layers.0")
  %h = func.call @layer(%y) : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("layers.1")
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

// A role for each pipeline rank, with what its functions use. What they receive
// stands at their beginning, what they send at their end.

module {
step.mesh ["pp", "tp"] sizes [2, 2]
kern.variable @a : tensor<8x8xf32> {kind = #kern.variable_kind<parameter>}
kern.variable @b : tensor<8x8xf32> {kind = #kern.variable_kind<working>}

// CHECK: exec.role @role0 ranks [0, 1] pipeline_rank 0 {
// CHECK-NEXT: exec.buffer "a" kind parameters
// CHECK-NEXT: exec.buffer "x" kind inputs
// CHECK-NEXT: %[[S:.*]] = exec.buffer "gemm" kind activations
// CHECK: exec.sequence @forward_0 fragment F stage 0 {
// CHECK: exec.gemm
// CHECK-NEXT: exec.transfer(%[[S]]) over ["pp"] {peers = array<i64: 1>, sends = array<i1: true>, tags = array<i64: 7>}
// CHECK: exec.role @role1 ranks [2, 3] pipeline_rank 1 {
// CHECK-NEXT: exec.buffer "b" kind working_copies
// CHECK-NEXT: %[[R:.*]] = exec.buffer "forward_1.receive" kind transfers {residual} : memref<8x8xf32>
// CHECK: exec.sequence @forward_1 fragment F stage 1 {
// CHECK-NEXT: exec.transfer(%[[R]]) over ["pp"] {peers = array<i64: 0>, sends = array<i1: false>, tags = array<i64: 7>}
// CHECK-NEXT: exec.gemm %[[R]], %b
kern.fragment F @forward_0(%t: tensor<8x8xf32> from host "x") -> (tensor<8x8xf32> to rank 1 tag 7) stage 0 {
  %w = kern.read @a : tensor<8x8xf32>
  %y = kern.gemm %t, %w {k = 8 : i64, m = 8 : i64, n = 8 : i64} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  kern.return %y : tensor<8x8xf32>
}
kern.fragment F @forward_1(%x: tensor<8x8xf32> from rank 0 tag 7) -> (tensor<8x8xf32>) stage 1 {
  %w = kern.read @b : tensor<8x8xf32>
  %o = kern.gemm %x, %w {k = 8 : i64, m = 8 : i64, n = 8 : i64} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  kern.output %o, "loss" : tensor<8x8xf32>
  kern.return %x : tensor<8x8xf32>
}
kern.fragment B @backward_1(%x: tensor<8x8xf32> from F result 0) stage 1 {
  kern.output %x, "x" : tensor<8x8xf32>
  kern.return
}
kern.schedule "train_step" slots 1 [#kern.action<@forward_0 microbatch 0 slot 0>]
kern.schedule "train_step" rank 1 slots 1 [#kern.action<@forward_1 microbatch 0 slot 0>, #kern.action<@backward_1 microbatch 0 slot 0>]
}

// -----

// Rows that ranks exchange, of four elements each.

// CHECK: exec.role @role0
// CHECK: %[[HERE:.*]] = exec.buffer "exchange" kind activations : memref<1x9x4xf32>
// CHECK: %[[BACK:.*]] = exec.buffer "exchange" kind activations : memref<1x6x4xf32>
// CHECK: exec.exchange %x to %[[HERE]] by %n, %s over ["ep"] width 4 : memref<1x6x4xf32>, memref<1x9x4xf32>, memref<1x8x2xi32>, memref<1x2x4x2xi32>
// CHECK-NEXT: exec.exchange %[[HERE]] to %[[BACK]] by %n, %s over ["ep"] width 4 {returns} : memref<1x9x4xf32>, memref<1x6x4xf32>, memref<1x8x2xi32>, memref<1x2x4x2xi32>
kern.fragment F @forward(%x: tensor<1x6x4xf32> from host "x", %n: tensor<1x8x2xi32> from host "n", %s: tensor<1x2x4x2xi32> from host "s") stage 0 {
  %here = kern.exchange %x, %n, %s over ["ep"] : (tensor<1x6x4xf32>, tensor<1x8x2xi32>, tensor<1x2x4x2xi32>) -> tensor<1x9x4xf32>
  %back = kern.exchange %here, %n, %s over ["ep"] {returns} : (tensor<1x9x4xf32>, tensor<1x8x2xi32>, tensor<1x2x4x2xi32>) -> tensor<1x6x4xf32>
  kern.output %back, "loss" : tensor<1x6x4xf32>
  kern.return
}
kern.schedule "train_step" slots 1 [#kern.action<@forward microbatch 0 slot 0>]
