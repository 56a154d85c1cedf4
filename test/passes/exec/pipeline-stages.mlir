// RUN: hocket-opt %s --hocket-kern-to-exec | FileCheck %s

// Two stages on two pipeline ranks, each of two ranks of the mesh. Only what a
// rank's functions use is in its role.

module {
step.mesh ["pp", "tp"] sizes [2, 2]
kern.variable @a : tensor<8x8xf32> {kind = #kern.variable_kind<parameter>}
kern.variable @b : tensor<8x8xf32> {kind = #kern.variable_kind<parameter>}
kern.variable @b.grad : tensor<8x8xf32> {kind = #kern.variable_kind<gradient>, of = @b}

kern.kernel @cast [4 x 8] (%t: tensor<4x8xi32> as full) -> (tensor<4x8xf32> as full) {
  kern.yield %t : f32
}

// Rank 0 has two microbatches in flight: two copies of what it sends and of
// what it receives, which live as long as anything is on its way.

// CHECK: exec.role @role0 ranks [0, 1]
// CHECK-NOT: exec.buffer "b
// CHECK-DAG: %[[Y:.*]] = exec.buffer "tiny" at {{.*}} kind transfers live 0 to [[LAST:[0-9]+]] {by_microbatch, slot_stride = 256 : i64, slots = 2 : i64} : memref<4x8xf32>
// CHECK-DAG: %[[G:.*]] = exec.buffer "backward_0.receive" at {{.*}} kind transfers live 0 to [[LAST]] {by_microbatch, slot_stride = 256 : i64, slots = 2 : i64}
// CHECK: exec.sequence @forward_0{{.*}} {
// CHECK-NEXT: exec.host input "tokens"
// CHECK: exec.sequence @forward_0.send{{.*}} {
// CHECK-NEXT: exec.transfer(%[[Y]]) over ["pp"] {peers = array<i64: 1>, sends = array<i1: true>, stream = 1 : i64, tags = array<i64: 0>}
// CHECK: exec.sequence @backward_0.receive{{.*}} {
// CHECK-NEXT: exec.transfer(%[[G]]) over ["pp"] {peers = array<i64: 1>, sends = array<i1: false>, stream = 2 : i64, tags = array<i64: 1>}

// What is computed is sent once it is there, and what is received is read once
// it is there; the update comes behind all transfers. A receive is issued ahead
// of the fragment before its own: both receives of backward begin early, each
// into its own copy.

// CHECK: exec.sequence @[[READY:sync.r0s0.w0s1]]{{.*}} {
// CHECK-NEXT: exec.record 0 on 0
// CHECK-NEXT: exec.wait 0 on 1
// CHECK: exec.entry "train_step" [@[[BEGIN:[^,]*]], @forward_0, @[[READY]], @forward_0.send, @backward_0.receive, @{{[^,]*}}, @forward_0, @{{[^,]*}}, @forward_0.send, @backward_0.receive, @[[GOT:[^,]*]], @backward_0, @[[GOT1:[^,]*]], @backward_0, @[[ALL:[^,]*]], @update_0]
// CHECK-SAME: slots [0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 0, 0]

// CHECK: exec.role @role1 ranks [2, 3]
// CHECK-NOT: exec.buffer "a"
// CHECK: exec.buffer "b" {{.*}} {persistent}
// CHECK: exec.entry "train_step"
// CHECK-SAME: @forward_1.receive, @{{[^,]*}}, @forward_1, @backward_1, @{{[^,]*}}, @forward_1.receive, @{{[^,]*}}, @backward_1.send

kern.fragment F @forward_0(%t: tensor<4x8xi32> from host "tokens") -> (tensor<4x8xf32> to rank 1 tag 0) stage 0 {
  %x = kern.launch @cast(%t) : (tensor<4x8xi32>) -> tensor<4x8xf32>
  %w = kern.read @a : tensor<8x8xf32>
  %y = kern.gemm %x, %w {k = 8 : i64, m = 4 : i64, n = 8 : i64} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> loc("tiny")
  kern.return %y : tensor<4x8xf32>
}
kern.fragment B @backward_0(%d: tensor<4x8xf32> from rank 1 tag 1) stage 0 {
  %w = kern.read @a : tensor<8x8xf32>
  %0 = kern.gemm %d, %w {k = 8 : i64, m = 4 : i64, n = 8 : i64} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  kern.return
}
kern.fragment F @forward_1(%x: tensor<4x8xf32> from rank 0 tag 0) -> (tensor<4x8xf32>) stage 1 {
  %w = kern.read @b : tensor<8x8xf32>
  %o = kern.gemm %x, %w {k = 8 : i64, m = 4 : i64, n = 8 : i64} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  kern.output %o, "loss" : tensor<4x8xf32>
  kern.return %x : tensor<4x8xf32>
}
kern.fragment B @backward_1(%x: tensor<4x8xf32> from F result 0) -> (tensor<4x8xf32> to rank 0 tag 1) stage 1 {
  %g = kern.gemm %x, %x {k = 4 : i64, m = 8 : i64, n = 8 : i64, transpose_a} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  kern.accumulate %g, @b.grad : tensor<8x8xf32>
  %w = kern.read @b : tensor<8x8xf32>
  %d = kern.gemm %x, %w {k = 8 : i64, m = 4 : i64, n = 8 : i64} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  kern.return %d : tensor<4x8xf32>
}
kern.fragment U @update_0() stage 0 {
  kern.return
}
kern.fragment U @update_1() stage 1 {
  kern.return
}
kern.schedule "train_step" slots 2 [#kern.action<@forward_0 microbatch 0 slot 0>, #kern.action<@forward_0 microbatch 1 slot 1>, #kern.action<@backward_0 microbatch 0 slot 0>, #kern.action<@backward_0 microbatch 1 slot 1>, #kern.action<@update_0 microbatch 0 slot 0>]
kern.schedule "train_step" rank 1 slots 1 [#kern.action<@forward_1 microbatch 0 slot 0>, #kern.action<@backward_1 microbatch 0 slot 0>, #kern.action<@forward_1 microbatch 1 slot 0>, #kern.action<@backward_1 microbatch 1 slot 0>, #kern.action<@update_1 microbatch 0 slot 0>]
}
