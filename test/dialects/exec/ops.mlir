// RUN: hocket-opt %s | hocket-opt | FileCheck %s

// CHECK: exec.role @all ranks [0] arena 8192 lower_bound 8192 {
exec.role @all ranks [0] arena 8192 lower_bound 8192 {
  // CHECK: %[[W:.*]] = exec.buffer "w" at 0 kind parameters live 0 to 9 {persistent} : memref<8x8xf32>
  %w = exec.buffer "w" at 0 kind parameters live 0 to 9 {persistent} : memref<8x8xf32>
  // CHECK: %[[X:.*]] = exec.buffer "x" at 256 kind activations live 0 to 2 {slot_stride = 256 : i64, slots = 2 : i64} : memref<4x8xf32>
  %x = exec.buffer "x" at 256 kind activations live 0 to 2 {slot_stride = 256 : i64, slots = 2 : i64} : memref<4x8xf32>
  // CHECK: exec.buffer "z" within %[[X]] at 256 kind activations live 0 to 2 {slot_stride = 256 : i64, slots = 2 : i64} : memref<4x8xf32> in memref<4x8xf32>
  %z = exec.buffer "z" within %x at 256 kind activations live 0 to 2 {slot_stride = 256 : i64, slots = 2 : i64} : memref<4x8xf32> in memref<4x8xf32>
  // CHECK: exec.buffer "r" at 2048 kind activations live 0 to 2 {by_microbatch, slot_stride = 256 : i64, slots = 3 : i64} : memref<4x8xf32>
  %r = exec.buffer "r" at 2048 kind activations live 0 to 2 {by_microbatch, slot_stride = 256 : i64, slots = 3 : i64} : memref<4x8xf32>
  %y = exec.buffer "y" at 1024 kind temporaries live 1 to 2 : memref<4x8xf32>
  %q = exec.buffer "q" at 1280 kind activations live 1 to 2 : memref<8x8xf8E5M2>
  %v = exec.buffer "v" at 1536 kind activations live 1 to 2 : memref<8x8xf8E4M3FN>
  %s = exec.buffer "s" at 1792 kind activations live 1 to 2 : memref<f32>
  // CHECK: exec.parameter "w" state "value" in %[[W]] {info = #step.variable_info<>} : memref<8x8xf32>
  exec.parameter "w" state "value" in %w {info = #step.variable_info<>} : memref<8x8xf32>
  // CHECK: exec.sequence @forward {
  exec.sequence @forward {
    // CHECK: exec.host input "x" %[[X]] : memref<4x8xf32>
    exec.host input "x" %x : memref<4x8xf32>
    // CHECK: exec.gemm %[[X]], %[[W]] into %[[Y:.*]] {accumulate = #exec.accumulation<add>, k = 8 : i64, m = 4 : i64, n = 8 : i64, transpose_b} : memref<4x8xf32>, memref<8x8xf32>, memref<4x8xf32>
    exec.gemm %x, %w into %y {accumulate = #exec.accumulation<add>, k = 8 : i64, m = 4 : i64, n = 8 : i64, transpose_b} : memref<4x8xf32>, memref<8x8xf32>, memref<4x8xf32>
    // CHECK: exec.gemm %{{.*}}, %{{.*}} into %{{.*}} scale_a %[[S:.*]] scale_b %[[S]] {k = 8 : i64, m = 4 : i64, n = 8 : i64} : memref<8x8xf8E5M2>, memref<8x8xf8E4M3FN>, memref<4x8xf32>, memref<f32>, memref<f32>
    exec.gemm %q, %v into %y scale_a %s scale_b %s {k = 8 : i64, m = 4 : i64, n = 8 : i64} : memref<8x8xf8E5M2>, memref<8x8xf8E4M3FN>, memref<4x8xf32>, memref<f32>, memref<f32>
    // CHECK: exec.launch @scale(%[[X]]) to (%[[Y]]) : (memref<4x8xf32>) -> memref<4x8xf32>
    exec.launch @scale(%x) to (%y) : (memref<4x8xf32>) -> memref<4x8xf32>
    // CHECK: exec.library "rope"(%[[X]]) to (%[[Y]]) {floats = array<f64: 5.000000e-01>, in_place = array<i64: 0>, integers = array<i64: 1>, random} : (memref<4x8xf32>) -> memref<4x8xf32>
    exec.library "rope"(%x) to (%y) {floats = array<f64: 0.5>, in_place = array<i64: 0>, integers = array<i64: 1>, random} : (memref<4x8xf32>) -> memref<4x8xf32>
    // CHECK: exec.copy %[[X]] to %[[Y]] : memref<4x8xf32>, memref<4x8xf32>
    exec.copy %x to %y : memref<4x8xf32>, memref<4x8xf32>
  }
  // CHECK: exec.entry "train_step" [@forward] microbatches [0] slots [1]
  exec.entry "train_step" [@forward] microbatches [0] slots [1]
}

// Before streams, lifetimes and addresses are chosen.

// CHECK: exec.role @one ranks [2, 3] pipeline_rank 1 streams ["tp", "gradients"] {
exec.role @one ranks [2, 3] pipeline_rank 1 streams ["tp", "gradients"] {
  // CHECK: exec.buffer "g" kind gradients {persistent} : memref<8xf32>
  %g = exec.buffer "g" kind gradients {persistent} : memref<8xf32>
  // CHECK: exec.buffer "frames" kind activations {residual, slots = 2 : i64} : memref<512xi8>
  %f = exec.buffer "frames" kind activations {residual, slots = 2 : i64} : memref<512xi8>
  // CHECK: exec.buffer "h" within %frames at 256 kind working_copies {residual, slots = 2 : i64} : memref<8xf32> in memref<512xi8>
  %h = exec.buffer "h" within %f at 256 kind working_copies {residual, slots = 2 : i64} : memref<8xf32> in memref<512xi8>
  // CHECK: exec.sequence @backward.0 fragment B stage 1 of "backward" {
  exec.sequence @backward.0 fragment B stage 1 of "backward" {
    // CHECK: exec.transfer(%h, %g) over ["pp"] {peers = array<i64: 1, 1>, sends = array<i1: true, false>, tags = array<i64: 3, 3>} : memref<8xf32>, memref<8xf32>
    exec.transfer(%h, %g) over ["pp"] {peers = array<i64: 1, 1>, sends = array<i1: true, false>, tags = array<i64: 3, 3>} : memref<8xf32>, memref<8xf32>
    // CHECK: exec.accumulate %h to %g {accumulate = #exec.accumulation<add_unless_first>} : memref<8xf32>, memref<8xf32>
    exec.accumulate %h to %g {accumulate = #exec.accumulation<add_unless_first>} : memref<8xf32>, memref<8xf32>
  }
  // CHECK: exec.sequence @gradients0 fragment B stage 1 of "backward" bucket {
  exec.sequence @gradients0 fragment B stage 1 of "backward" bucket {
    // CHECK: exec.collective all_reduce %g to %g over ["dp"] {layer = "layers.0", stream = 2 : i64, why = "summed"} : memref<8xf32>, memref<8xf32>
    exec.collective all_reduce %g to %g over ["dp"] {layer = "layers.0", stream = 2 : i64, why = "summed"} : memref<8xf32>, memref<8xf32>
  }
  // CHECK: exec.buffer "rows" kind activations : memref<4x4xf32>
  %x = exec.buffer "rows" kind activations : memref<4x4xf32>
  %r = exec.buffer "ranges" kind activations : memref<4x2xi32>
  // CHECK: exec.sequence @forward.0 {
  exec.sequence @forward.0 {
    // CHECK: exec.exchange %rows to %h by %ranges, %ranges over ["ep"] width 4 {returns} : memref<4x4xf32>, memref<8xf32>, memref<4x2xi32>, memref<4x2xi32>
    exec.exchange %x to %h by %r, %r over ["ep"] width 4 {returns} : memref<4x4xf32>, memref<8xf32>, memref<4x2xi32>, memref<4x2xi32>
  }
  // CHECK: exec.entry "train_step" [@backward.0, @gradients0] microbatches [0, 0] slots [0, 0]
  exec.entry "train_step" [@backward.0, @gradients0] microbatches [0, 0] slots [0, 0]
}
