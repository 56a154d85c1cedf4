// RUN: hocket-opt %s --hocket-kern-to-exec | FileCheck %s

// A rank of two stages keeps three microbatches of stage 0 at once, and two of
// stage 1, but never more than four of both: four frames take fewer bytes than
// the five copies of rings, so as much as both keep of a microbatch stands in
// them. What stage 0 keeps beyond that stays in a ring of three.

module {
kern.kernel @cast [16 x 8] (%t: tensor<16x8xi32> as full) -> (tensor<16x8xf32> as full) {
  kern.yield %t : f32
}
kern.kernel @narrow [4 x 8] (%t: tensor<4x8xi32> as full) -> (tensor<4x8xf32> as full) {
  kern.yield %t : f32
}

// CHECK: exec.role @role0
// CHECK: exec.buffer "small" at {{.*}} kind activations live [[FIRST:[0-9]+]] to [[LAST:[0-9]+]] {by_microbatch, residual, slot_stride = 256 : i64, slots = 3 : i64} : memref<4x8xf32>
// CHECK: %[[FRAMES:.*]] = exec.buffer "frames" at [[AT:[0-9]+]] kind activations live [[FIRST]] to [[LAST]] {residual, slot_stride = 512 : i64, slots = 4 : i64} : memref<512xi8>
// CHECK: exec.buffer "first" within %[[FRAMES]] at [[AT]] kind activations live [[FIRST]] to [[LAST]] {residual, slot_stride = 512 : i64, slots = 4 : i64} : memref<16x8xf32> in memref<512xi8>
// CHECK: exec.buffer "second" within %[[FRAMES]] at [[AT]] kind activations live [[FIRST]] to [[LAST]] {residual, slot_stride = 512 : i64, slots = 4 : i64} : memref<16x8xf32> in memref<512xi8>
// CHECK: exec.entry "train_step" [@forward_0, @forward_0, @forward_0, @forward_1, @backward_0, @forward_1, @backward_0, @backward_0, @backward_1, @backward_1, @forward_1, @backward_1, @update_0]
// CHECK-SAME: microbatches [0, 1, 2, 0, 0, 1, 1, 2, 0, 1, 2, 2, 0] slots [0, 1, 2, 3, 0, 0, 1, 2, 3, 0, 0, 0, 0]

kern.fragment F @forward_0(%t: tensor<16x8xi32> from host "tokens", %s: tensor<4x8xi32> from host "labels") -> (tensor<16x8xf32>, tensor<4x8xf32>) stage 0 {
  %x = kern.launch @cast(%t) : (tensor<16x8xi32>) -> tensor<16x8xf32> loc("first")
  %y = kern.launch @narrow(%s) : (tensor<4x8xi32>) -> tensor<4x8xf32> loc("small")
  kern.return %x, %y : tensor<16x8xf32>, tensor<4x8xf32>
}
kern.fragment B @backward_0(%x: tensor<16x8xf32> from F result 0, %y: tensor<4x8xf32> from F result 1) stage 0 {
  kern.output %x, "loss" : tensor<16x8xf32>
  kern.output %y, "loss" : tensor<4x8xf32>
  kern.return
}
kern.fragment F @forward_1(%t: tensor<16x8xi32> from host "tokens") -> (tensor<16x8xf32>) stage 1 {
  %x = kern.launch @cast(%t) : (tensor<16x8xi32>) -> tensor<16x8xf32> loc("second")
  kern.return %x : tensor<16x8xf32>
}
kern.fragment B @backward_1(%x: tensor<16x8xf32> from F result 0) stage 1 {
  kern.output %x, "loss" : tensor<16x8xf32>
  kern.return
}
kern.fragment U @update_0() stage 0 {
  kern.return
}
kern.schedule "train_step" slots 4 [#kern.action<@forward_0 microbatch 0 slot 0>, #kern.action<@forward_0 microbatch 1 slot 1>, #kern.action<@forward_0 microbatch 2 slot 2>, #kern.action<@forward_1 microbatch 0 slot 3>, #kern.action<@backward_0 microbatch 0 slot 0>, #kern.action<@forward_1 microbatch 1 slot 0>, #kern.action<@backward_0 microbatch 1 slot 1>, #kern.action<@backward_0 microbatch 2 slot 2>, #kern.action<@backward_1 microbatch 0 slot 3>, #kern.action<@backward_1 microbatch 1 slot 0>, #kern.action<@forward_1 microbatch 2 slot 0>, #kern.action<@backward_1 microbatch 2 slot 0>, #kern.action<@update_0 microbatch 0 slot 0>]
}
