// RUN: hocket-opt %s --xf-set-plan=plan=bucket_bytes=256 --exec-bucket-gradients | FileCheck %s

// Each gradient is split into shards of its columns, which are packed before they
// are scattered. A bucket packs into what the last but one packed, if that is of
// the type; into the one before it, which may still be read, it does not.

exec.role @role0 ranks [0, 1] {
  %ag = exec.buffer "a.grad" kind gradients {persistent} : memref<8x8xf32>
  %bg = exec.buffer "b.grad" kind gradients {persistent} : memref<8x8xf32>
  %cg = exec.buffer "c.grad" kind gradients {persistent} : memref<8x8xf32>
  %dg = exec.buffer "d.grad" kind gradients {persistent} : memref<4x16xf32>
  %eg = exec.buffer "e.grad" kind gradients {persistent} : memref<8x8xf32>
  %x = exec.buffer "x" kind inputs : memref<8x8xf32>
  %y = exec.buffer "y" kind inputs : memref<4x8xf32>
  %z = exec.buffer "z" kind inputs : memref<8x16xf32>
  // CHECK: exec.buffer "ap" kind gradients : memref<2x8x4xf32>
  // CHECK: exec.buffer "bp" kind gradients : memref<2x8x4xf32>
  // CHECK-NOT: exec.buffer "cp"
  // CHECK: exec.buffer "dp" kind gradients : memref<2x4x8xf32>
  // CHECK-NOT: exec.buffer "ep"
  %ap = exec.buffer "ap" kind activations : memref<2x8x4xf32>
  %bp = exec.buffer "bp" kind activations : memref<2x8x4xf32>
  %cp = exec.buffer "cp" kind activations : memref<2x8x4xf32>
  %dp = exec.buffer "dp" kind activations : memref<2x4x8xf32>
  %ep = exec.buffer "ep" kind activations : memref<2x8x4xf32>
  %as = exec.buffer "as" kind activations : memref<8x4xf32>
  %bs = exec.buffer "bs" kind activations : memref<8x4xf32>
  %cs = exec.buffer "cs" kind activations : memref<8x4xf32>
  %ds = exec.buffer "ds" kind activations : memref<4x8xf32>
  %es = exec.buffer "es" kind activations : memref<8x4xf32>
  // CHECK: exec.sequence @gradients0.pack
  // CHECK-NEXT: exec.library "scatter_shards"(%a.grad) to (%ap)
  // CHECK: exec.collective reduce_scatter %ap to %as
  // CHECK: exec.sequence @gradients1.pack
  // CHECK-NEXT: exec.library "scatter_shards"(%b.grad) to (%bp)
  // CHECK: exec.collective reduce_scatter %bp to %bs
  // CHECK: exec.sequence @gradients2.pack
  // CHECK-NEXT: exec.library "scatter_shards"(%c.grad) to (%ap)
  // CHECK: exec.collective reduce_scatter %ap to %cs
  // CHECK: exec.sequence @gradients3.pack
  // CHECK-NEXT: exec.library "scatter_shards"(%d.grad) to (%dp)
  // CHECK: exec.collective reduce_scatter %dp to %ds
  // CHECK: exec.sequence @gradients4.pack
  // CHECK-NEXT: exec.library "scatter_shards"(%e.grad) to ([[PACKED:%[ab]p]])
  // CHECK: exec.collective reduce_scatter [[PACKED]] to %es
  exec.sequence @backward fragment B {
    exec.gemm %x, %x into %ag {accumulate = #exec.accumulation<add_unless_first>, k = 8 : i64, m = 8 : i64, n = 8 : i64} : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
    exec.gemm %x, %x into %bg {accumulate = #exec.accumulation<add_unless_first>, k = 8 : i64, m = 8 : i64, n = 8 : i64} : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
    exec.gemm %x, %x into %cg {accumulate = #exec.accumulation<add_unless_first>, k = 8 : i64, m = 8 : i64, n = 8 : i64} : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
    exec.gemm %y, %z into %dg {accumulate = #exec.accumulation<add_unless_first>, k = 8 : i64, m = 4 : i64, n = 16 : i64} : memref<4x8xf32>, memref<8x16xf32>, memref<4x16xf32>
    exec.gemm %x, %x into %eg {accumulate = #exec.accumulation<add_unless_first>, k = 8 : i64, m = 8 : i64, n = 8 : i64} : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
  }
  exec.sequence @update fragment U {
    exec.library "scatter_shards"(%ag) to (%ap) {floats = array<f64>, integers = array<i64: 8, 2, 4, 4>} : (memref<8x8xf32>) -> memref<2x8x4xf32>
    exec.collective reduce_scatter %ap to %as over ["dp"] : memref<2x8x4xf32>, memref<8x4xf32>
    exec.library "scatter_shards"(%bg) to (%bp) {floats = array<f64>, integers = array<i64: 8, 2, 4, 4>} : (memref<8x8xf32>) -> memref<2x8x4xf32>
    exec.collective reduce_scatter %bp to %bs over ["dp"] : memref<2x8x4xf32>, memref<8x4xf32>
    exec.library "scatter_shards"(%cg) to (%cp) {floats = array<f64>, integers = array<i64: 8, 2, 4, 4>} : (memref<8x8xf32>) -> memref<2x8x4xf32>
    exec.collective reduce_scatter %cp to %cs over ["dp"] : memref<2x8x4xf32>, memref<8x4xf32>
    exec.library "scatter_shards"(%dg) to (%dp) {floats = array<f64>, integers = array<i64: 4, 2, 8, 4>} : (memref<4x16xf32>) -> memref<2x4x8xf32>
    exec.collective reduce_scatter %dp to %ds over ["dp"] : memref<2x4x8xf32>, memref<4x8xf32>
    exec.library "scatter_shards"(%eg) to (%ep) {floats = array<f64>, integers = array<i64: 8, 2, 4, 4>} : (memref<8x8xf32>) -> memref<2x8x4xf32>
    exec.collective reduce_scatter %ep to %es over ["dp"] : memref<2x8x4xf32>, memref<8x4xf32>
    exec.host output "a" %as : memref<8x4xf32>
    exec.host output "b" %bs : memref<8x4xf32>
    exec.host output "c" %cs : memref<8x4xf32>
    exec.host output "d" %ds : memref<4x8xf32>
    exec.host output "e" %es : memref<8x4xf32>
  }
  exec.entry "train_step" [@backward, @update] microbatches [0, 0] slots [0, 0]
}
