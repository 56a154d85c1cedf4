// RUN: hocket-opt %s | hocket-opt | FileCheck %s

// CHECK: exec.role @all ranks [0] arena 8192 lower_bound 8192 {
exec.role @all ranks [0] arena 8192 lower_bound 8192 {
  // CHECK: %[[W:.*]] = exec.buffer "w" at 0 kind "parameters" live 0 to 9 {persistent} : memref<8x8xf32>
  %w = exec.buffer "w" at 0 kind "parameters" live 0 to 9 {persistent} : memref<8x8xf32>
  // CHECK: %[[X:.*]] = exec.buffer "x" at 256 kind "activations" live 0 to 2 {slot_stride = 256 : i64, slots = 2 : i64} : memref<4x8xf32>
  %x = exec.buffer "x" at 256 kind "activations" live 0 to 2 {slot_stride = 256 : i64, slots = 2 : i64} : memref<4x8xf32>
  // CHECK: exec.buffer "z" within %[[X]] at 256 kind "activations" live 0 to 2 {slot_stride = 256 : i64, slots = 2 : i64} : memref<4x8xf32> in memref<4x8xf32>
  %z = exec.buffer "z" within %x at 256 kind "activations" live 0 to 2 {slot_stride = 256 : i64, slots = 2 : i64} : memref<4x8xf32> in memref<4x8xf32>
  // CHECK: exec.buffer "r" at 2048 kind "activations" live 0 to 2 {by_microbatch, slot_stride = 256 : i64, slots = 3 : i64} : memref<4x8xf32>
  %r = exec.buffer "r" at 2048 kind "activations" live 0 to 2 {by_microbatch, slot_stride = 256 : i64, slots = 3 : i64} : memref<4x8xf32>
  %y = exec.buffer "y" at 1024 kind "temporaries" live 1 to 2 : memref<4x8xf32>
  %q = exec.buffer "q" at 1280 kind "activations" live 1 to 2 : memref<8x8xf8E5M2>
  %v = exec.buffer "v" at 1536 kind "activations" live 1 to 2 : memref<8x8xf8E4M3FN>
  %s = exec.buffer "s" at 1792 kind "activations" live 1 to 2 : memref<f32>
  // CHECK: exec.parameter "w" state "value" in %[[W]] {info = {}} : memref<8x8xf32>
  exec.parameter "w" state "value" in %w {info = {}} : memref<8x8xf32>
  // CHECK: exec.sequence @forward {
  exec.sequence @forward {
    // CHECK: exec.host "input" "x" %[[X]] : memref<4x8xf32>
    exec.host "input" "x" %x : memref<4x8xf32>
    // CHECK: exec.gemm %[[X]], %[[W]] into %[[Y:.*]] {accumulate = 1 : i64, k = 8 : i64, m = 4 : i64, n = 8 : i64, transpose_b} : memref<4x8xf32>, memref<8x8xf32>, memref<4x8xf32>
    exec.gemm %x, %w into %y {accumulate = 1 : i64, k = 8 : i64, m = 4 : i64, n = 8 : i64, transpose_b} : memref<4x8xf32>, memref<8x8xf32>, memref<4x8xf32>
    // CHECK: exec.gemm %{{.*}}, %{{.*}} into %{{.*}} scale_a %[[S:.*]] scale_b %[[S]] {k = 8 : i64, m = 4 : i64, n = 8 : i64} : memref<8x8xf8E5M2>, memref<8x8xf8E4M3FN>, memref<4x8xf32>, memref<f32>, memref<f32>
    exec.gemm %q, %v into %y scale_a %s scale_b %s {k = 8 : i64, m = 4 : i64, n = 8 : i64} : memref<8x8xf8E5M2>, memref<8x8xf8E4M3FN>, memref<4x8xf32>, memref<f32>, memref<f32>
    // CHECK: exec.launch @scale(%[[X]], %[[Y]]) {kernel_inputs = 1 : i64} : memref<4x8xf32>, memref<4x8xf32>
    exec.launch @scale(%x, %y) {kernel_inputs = 1 : i64} : memref<4x8xf32>, memref<4x8xf32>
    // CHECK: exec.library "rope"(%[[X]]) {floats = array<f64: 5.000000e-01>, integers = array<i64: 1>, random} : memref<4x8xf32>
    exec.library "rope"(%x) {floats = array<f64: 0.5>, integers = array<i64: 1>, random} : memref<4x8xf32>
    // CHECK: exec.copy %[[X]] to %[[Y]] : memref<4x8xf32>, memref<4x8xf32>
    exec.copy %x to %y : memref<4x8xf32>, memref<4x8xf32>
  }
  // CHECK: exec.entry "train_step" [@forward] microbatches [0] slots [1]
  exec.entry "train_step" [@forward] microbatches [0] slots [1]
}
