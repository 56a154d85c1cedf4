// RUN: hocket-opt %s --split-input-file --exec-pack-weights | FileCheck %s

// A bf16 working copy that GEMMs alone multiply by is packed once, and nothing
// keeps it. One that is looked up too stays beside its packed form; one that is
// multiplied by the other way round, or is of f32, stays as it is.

exec.role @serves ranks [0] {
  %w = exec.buffer "w" kind parameters {persistent} : memref<48x8xf32>
  // CHECK: %w.working = exec.buffer "w.working" kind activations : memref<48x8xbf16>
  // CHECK: %w.working.packed = exec.buffer "w.working.packed" kind working_copies {persistent} : memref<1024xi8>
  %ww = exec.buffer "w.working" kind working_copies {persistent} : memref<48x8xbf16>
  // CHECK: %e.working = exec.buffer "e.working" kind working_copies {persistent} : memref<48x8xbf16>
  // CHECK: exec.buffer "e.working.packed" kind working_copies {persistent} : memref<1024xi8>
  %ew = exec.buffer "e.working" kind working_copies {persistent} : memref<48x8xbf16>
  // CHECK-NOT: packed"
  %tw = exec.buffer "t.working" kind working_copies {persistent} : memref<8x48xbf16>
  %x = exec.buffer "x" kind activations : memref<1x8xbf16>
  %y = exec.buffer "y" kind activations : memref<1x48xbf16>
  %i = exec.buffer "i" kind inputs : memref<1x1xi32>
  // CHECK: exec.sequence @prepare fragment P {
  // CHECK-NEXT: exec.launch @cast(%w) to (%w.working)
  // CHECK-NEXT: exec.library "gemm_pack"(%w.working) to (%w.working.packed) {floats = array<f64>, integers = array<i64: 2, 48, 8, 1>} : (memref<48x8xbf16>) -> memref<1024xi8>
  // CHECK-NEXT: exec.launch @cast(%w) to (%e.working)
  // CHECK-NEXT: exec.library "gemm_pack"(%e.working) to (%e.working.packed)
  // CHECK-NEXT: exec.launch @cast(%w) to (%t.working)
  exec.sequence @prepare fragment P {
    exec.launch @cast(%w) to (%ww) : (memref<48x8xf32>) -> memref<48x8xbf16>
    exec.launch @cast(%w) to (%ew) : (memref<48x8xf32>) -> memref<48x8xbf16>
    exec.launch @cast(%w) to (%tw) : (memref<48x8xf32>) -> memref<8x48xbf16>
  }
  // CHECK: exec.library "embedding"(%i, %e.working)
  // CHECK: exec.gemm %x, %w.working.packed into %y {b_packed, k = 8 : i64, m = 1 : i64, n = 48 : i64, transpose_b}
  // CHECK: exec.gemm %x, %e.working.packed into %y {b_packed,
  // CHECK: exec.gemm %x, %t.working into %y {k = 8 : i64, m = 1 : i64, n = 48 : i64} :
  // CHECK: exec.gemm %x, %w into %y {k = 8 : i64, m = 1 : i64, n = 48 : i64, transpose_b} :
  exec.sequence @decode fragment D {
    exec.library "embedding"(%i, %ew) to (%x) {floats = array<f64>, integers = array<i64: 2, 2, 1, 48, 8>} : (memref<1x1xi32>, memref<48x8xbf16>) -> memref<1x8xbf16>
    exec.gemm %x, %ww into %y {k = 8 : i64, m = 1 : i64, n = 48 : i64, transpose_b} : memref<1x8xbf16>, memref<48x8xbf16>, memref<1x48xbf16>
    exec.gemm %x, %ew into %y {k = 8 : i64, m = 1 : i64, n = 48 : i64, transpose_b} : memref<1x8xbf16>, memref<48x8xbf16>, memref<1x48xbf16>
    exec.gemm %x, %tw into %y {k = 8 : i64, m = 1 : i64, n = 48 : i64} : memref<1x8xbf16>, memref<8x48xbf16>, memref<1x48xbf16>
    exec.gemm %x, %w into %y {k = 8 : i64, m = 1 : i64, n = 48 : i64, transpose_b} : memref<1x8xbf16>, memref<48x8xf32>, memref<1x48xbf16>
  }
  exec.entry "decode" [@decode] microbatches [0] slots [0]
  exec.entry "prepare" [@prepare] microbatches [0] slots [0]
}

// -----

// Weights that change in every step stay as they are.

exec.role @trains ranks [0] {
  // CHECK: exec.buffer "w.working" kind working_copies {persistent} : memref<48x8xbf16>
  // CHECK-NOT: packed
  %w = exec.buffer "w" kind parameters {persistent} : memref<48x8xf32>
  %ww = exec.buffer "w.working" kind working_copies {persistent} : memref<48x8xbf16>
  %x = exec.buffer "x" kind activations : memref<1x8xbf16>
  %y = exec.buffer "y" kind activations : memref<1x48xbf16>
  exec.sequence @prepare fragment P {
    exec.launch @cast(%w) to (%ww) : (memref<48x8xf32>) -> memref<48x8xbf16>
  }
  exec.sequence @forward fragment F {
    exec.gemm %x, %ww into %y {k = 8 : i64, m = 1 : i64, n = 48 : i64, transpose_b} : memref<1x8xbf16>, memref<48x8xbf16>, memref<1x48xbf16>
  }
  exec.entry "train_step" [@forward] microbatches [0] slots [0]
  exec.entry "prepare" [@prepare] microbatches [0] slots [0]
}
