// RUN: hocket-opt %s --hocket-kern-to-exec | FileCheck %s

// A sum beside which something is computed has the stream of its axis; one
// whose result is wanted at once stays on stream 0.

module {
step.mesh ["dp", "tp"] sizes [2, 2]
kern.variable @w : tensor<8x8xf32> {kind = #kern.variable_kind<parameter>}
kern.variable @w.grad : tensor<8x8xf32> {kind = #kern.variable_kind<gradient>, of = @w}

kern.kernel @cast [4 x 8] (%t: tensor<4x8xi32> as full) -> (tensor<4x8xf32> as full) {
  kern.yield %t : f32
}
kern.kernel @double [4 x 8] (%a: tensor<4x8xf32> as full) -> (tensor<4x8xf32> as full) {
  %0 = arith.addf %a, %a : f32
  kern.yield %0 : f32
}

// CHECK: exec.sequence @forward{{.*}} {
// CHECK-NEXT: exec.host input "tokens"
// CHECK-NEXT: exec.launch @cast
// CHECK-NEXT: exec.gemm {{.*}} into %[[Y:[^ ]*]]
// CHECK-NEXT: exec.collective all_reduce %[[Y]] to %[[O:[^ ]*]] over ["tp"]
// CHECK-NOT: stream
// CHECK: exec.host output "loss" %[[O]]
kern.fragment F @forward(%t: tensor<4x8xi32> from host "tokens") -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %x = kern.launch @cast(%t) : (tensor<4x8xi32>) -> tensor<4x8xf32>
  %w = kern.read @w : tensor<8x8xf32>
  %y = kern.gemm %x, %w {k = 8 : i64, m = 4 : i64, n = 8 : i64} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %o = kern.collective all_reduce %y over ["tp"] : tensor<4x8xf32> to tensor<4x8xf32>
  kern.output %o, "loss" : tensor<4x8xf32>
  kern.return %o, %x : tensor<4x8xf32>, tensor<4x8xf32>
}

// The sum of the input's gradient starts before the weight's gradient is
// computed, though it was written behind it. Its stream waits for the operand,
// stream 0 for the sum: two events, and none for the end, which follows.

// CHECK: exec.sequence @backward{{.*}} {
// CHECK-NEXT: exec.gemm {{.*}} into %[[D:[^ ]*]] {
// CHECK-NEXT: exec.record 0 on 0
// CHECK-NEXT: exec.wait 0 on 1
// CHECK-NEXT: exec.collective all_reduce %[[D]] to %[[S:[^ ]*]] over ["tp"] {stream = 1 : i64}
// CHECK-NEXT: exec.record 1 on 1
// CHECK-NEXT: exec.gemm
// CHECK-NEXT: exec.wait 1 on 0
// CHECK-NEXT: exec.launch @double(%[[S]]
// CHECK-NEXT: exec.gemm
// CHECK-NEXT: {{^    }$}}
kern.fragment B @backward(%t: tensor<4x8xi32> from F argument 0, %x: tensor<4x8xf32> from F result 1) {
  %w = kern.read @w : tensor<8x8xf32>
  %d = kern.gemm %x, %w {k = 8 : i64, m = 4 : i64, n = 8 : i64} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %g = kern.gemm %x, %x {k = 4 : i64, m = 8 : i64, n = 8 : i64, transpose_a} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  kern.accumulate %g, @w.grad : tensor<8x8xf32>
  %s = kern.collective all_reduce %d over ["tp"] : tensor<4x8xf32> to tensor<4x8xf32>
  %e = kern.launch @double(%s) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %h = kern.gemm %e, %x {k = 4 : i64, m = 8 : i64, n = 8 : i64, transpose_a} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  kern.accumulate %h, @w.grad : tensor<8x8xf32>
  kern.return
}
kern.schedule "train_step" slots 1 [#kern.action<@forward microbatch 0 slot 0>, #kern.action<@backward microbatch 0 slot 0>, #kern.action<@forward microbatch 1 slot 0>, #kern.action<@backward microbatch 1 slot 0>]
}
