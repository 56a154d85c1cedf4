// RUN: hocket-opt %s --split-input-file --exec-count-copies | FileCheck %s

// A ring by microbatch for what a stage keeps of two at once; two copies of what
// it receives; one of what nothing keeps.

exec.role @rings ranks [0] pipeline_rank 0 {
  // CHECK: exec.buffer "h" kind activations {by_microbatch, residual, slots = 2 : i64} : memref<8xf32>
  %h = exec.buffer "h" kind activations {residual} : memref<8xf32>
  // CHECK: exec.buffer "d" kind transfers {by_microbatch, slots = 2 : i64} : memref<8xf32>
  %d = exec.buffer "d" kind transfers : memref<8xf32>
  // CHECK: exec.buffer "t" kind activations : memref<8xf32>
  %t = exec.buffer "t" kind activations : memref<8xf32>
  exec.sequence @forward_0 fragment F stage 0 {
    exec.launch @k() to (%h) : () -> memref<8xf32>
  }
  exec.sequence @backward_0 fragment B stage 0 {
    exec.transfer(%d) over ["pp"] {peers = array<i64: 1>, sends = array<i1: false>, tags = array<i64: 1>} : memref<8xf32>
    exec.launch @k(%h, %d) to (%t) : (memref<8xf32>, memref<8xf32>) -> memref<8xf32>
  }
  exec.entry "train_step" [@forward_0, @forward_0, @backward_0, @forward_0, @backward_0, @backward_0] microbatches [0, 1, 0, 2, 1, 2] slots [0, 1, 0, 0, 1, 0]
}

// -----

// Two stages keep three and two microbatches, but never more than four of both:
// four frames take fewer bytes than five copies.

exec.role @frames ranks [0] pipeline_rank 0 {
  // CHECK: exec.buffer "small" kind activations {by_microbatch, residual, slots = 3 : i64} : memref<32xf32>
  // CHECK-NEXT: %frames = exec.buffer "frames" kind activations {residual, slots = 4 : i64} : memref<512xi8>
  // CHECK-NEXT: exec.buffer "first" within %frames at 0 kind activations {residual, slots = 4 : i64} : memref<128xf32> in memref<512xi8>
  // CHECK-NEXT: exec.buffer "second" within %frames at 0 kind activations {residual, slots = 4 : i64} : memref<128xf32> in memref<512xi8>
  %a = exec.buffer "first" kind activations {residual} : memref<128xf32>
  %s = exec.buffer "small" kind activations {residual} : memref<32xf32>
  %b = exec.buffer "second" kind activations {residual} : memref<128xf32>
  exec.sequence @forward_0 fragment F stage 0 {
    exec.launch @k() to (%a, %s) : () -> (memref<128xf32>, memref<32xf32>)
  }
  exec.sequence @backward_0 fragment B stage 0 {
    exec.host output "a" %a : memref<128xf32>
    exec.host output "s" %s : memref<32xf32>
  }
  exec.sequence @forward_1 fragment F stage 1 {
    exec.launch @k() to (%b) : () -> memref<128xf32>
  }
  exec.sequence @backward_1 fragment B stage 1 {
    exec.host output "b" %b : memref<128xf32>
  }
  exec.entry "train_step" [@forward_0, @forward_0, @forward_0, @forward_1, @backward_0, @forward_1, @backward_0, @backward_0, @backward_1, @backward_1, @forward_1, @backward_1] microbatches [0, 1, 2, 0, 0, 1, 1, 2, 0, 1, 2, 2] slots [0, 1, 2, 3, 0, 0, 1, 2, 3, 0, 0, 0]
}

// -----

// With one stage, a copy for each slot of the schedule.

exec.role @slots ranks [0] {
  // CHECK: exec.buffer "h" kind activations {residual, slots = 2 : i64} : memref<8xf32>
  %h = exec.buffer "h" kind activations {residual} : memref<8xf32>
  exec.sequence @forward fragment F {
    exec.launch @k() to (%h) : () -> memref<8xf32>
  }
  exec.entry "train_step" [@forward, @forward] microbatches [0, 1] slots [0, 1]
}
