// RUN: hocket-opt %s --split-input-file --xf-set-plan=plan=bucket_bytes=600 --exec-order-collectives | FileCheck %s
// RUN: hocket-opt %s --split-input-file --exec-order-collectives | FileCheck %s --check-prefix=APART

// The sum of the input's gradient needs nothing of the weight's gradient.

exec.role @early ranks [0, 1] {
  %x = exec.buffer "x" kind activations : memref<8x8xf32>
  %d = exec.buffer "d" kind activations : memref<8x8xf32>
  %g = exec.buffer "g" kind activations : memref<8x8xf32>
  %s = exec.buffer "s" kind activations : memref<8x8xf32>
  // CHECK: exec.gemm %x, %x into %d
  // CHECK-NEXT: exec.collective all_reduce %d to %s
  // CHECK-NEXT: exec.gemm %x, %x into %g
  // APART: exec.gemm %x, %x into %d
  // APART-NEXT: exec.collective all_reduce %d to %s
  // APART-NEXT: exec.gemm %x, %x into %g
  exec.sequence @backward fragment B {
    exec.gemm %x, %x into %d {k = 8 : i64, m = 8 : i64, n = 8 : i64} : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
    exec.gemm %x, %x into %g {k = 8 : i64, m = 8 : i64, n = 8 : i64} : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
    exec.collective all_reduce %d to %s over ["tp"] : memref<8x8xf32>, memref<8x8xf32>
  }
}

// -----

// Sharded parameters: those of one layer together, and a layer ahead of their
// use. Nothing crosses a layer.

exec.role @gathers ranks [0, 1] {
  %a = exec.buffer "a" kind parameters {persistent} : memref<8xf32>
  %b = exec.buffer "b" kind parameters {persistent} : memref<8xf32>
  %c = exec.buffer "c" kind parameters {persistent} : memref<8xf32>
  %aw = exec.buffer "aw" kind activations : memref<16xf32>
  %bw = exec.buffer "bw" kind activations : memref<16xf32>
  %cw = exec.buffer "cw" kind activations : memref<16xf32>
  %y = exec.buffer "y" kind activations : memref<16xf32>
  // CHECK: exec.collective all_gather %a, %b to %aw, %bw over ["dp"] {layer = "layers.0"}
  // CHECK-NEXT: exec.collective all_gather %c to %cw over ["dp"] {layer = "layers.1"}
  // CHECK-NEXT: exec.launch @k(%aw)
  // CHECK-NEXT: exec.launch @k(%bw)
  // CHECK-NEXT: exec.launch @k(%cw)
  // APART: exec.collective all_gather %a to %aw
  // APART-NEXT: exec.launch @k(%aw)
  // APART-NEXT: exec.collective all_gather %b to %bw
  exec.sequence @forward fragment F {
    exec.collective all_gather %a to %aw over ["dp"] {layer = "layers.0"} : memref<8xf32>, memref<16xf32>
    exec.launch @k(%aw) to (%y) : (memref<16xf32>) -> memref<16xf32>
    exec.collective all_gather %b to %bw over ["dp"] {layer = "layers.0"} : memref<8xf32>, memref<16xf32>
    exec.launch @k(%bw) to (%y) : (memref<16xf32>) -> memref<16xf32>
    exec.collective all_gather %c to %cw over ["dp"] {layer = "layers.1"} : memref<8xf32>, memref<16xf32>
    exec.launch @k(%cw) to (%y) : (memref<16xf32>) -> memref<16xf32>
  }
}

// -----

// Gradients that are only stored: their stores come behind the bucket.

exec.role @stores ranks [0, 1] {
  %ag = exec.buffer "a.grad" kind gradients {persistent} : memref<8xf32>
  %bg = exec.buffer "b.grad" kind gradients {persistent} : memref<8xf32>
  %a = exec.buffer "a" kind activations : memref<16xf32>
  %b = exec.buffer "b" kind activations : memref<16xf32>
  %as = exec.buffer "as" kind activations : memref<8xf32>
  %bs = exec.buffer "bs" kind activations : memref<8xf32>
  // CHECK: exec.launch @k() to (%a)
  // CHECK-NEXT: exec.launch @k() to (%b)
  // CHECK-NEXT: exec.collective reduce_scatter %a, %b to %as, %bs
  // CHECK-NEXT: exec.accumulate %as to %a.grad
  // CHECK-NEXT: exec.accumulate %bs to %b.grad
  // APART: exec.launch @k() to (%a)
  // APART-NEXT: exec.collective reduce_scatter %a to %as
  // APART-NEXT: exec.accumulate %as to %a.grad
  exec.sequence @backward fragment B {
    exec.launch @k() to (%a) : () -> memref<16xf32>
    exec.collective reduce_scatter %a to %as over ["dp"] : memref<16xf32>, memref<8xf32>
    exec.accumulate %as to %ag {accumulate = #exec.accumulation<add_unless_first>} : memref<8xf32>, memref<8xf32>
    exec.launch @k() to (%b) : () -> memref<16xf32>
    exec.collective reduce_scatter %b to %bs over ["dp"] : memref<16xf32>, memref<8xf32>
    exec.accumulate %bs to %bg {accumulate = #exec.accumulation<add_unless_first>} : memref<8xf32>, memref<8xf32>
  }
}
