// RUN: hocket-opt %s --xf-set-plan=plan=bucket_bytes=512 --exec-bucket-gradients | FileCheck %s
// RUN: hocket-opt %s --exec-bucket-gradients | FileCheck %s --check-prefix=NONE

// Three gradients in buckets of 512 bytes, of one kind each: the shard of %c is
// reduced once that is there; %b and %a go together, as soon as both are. Whole
// sums are
// the gradients' own buffers. Buckets run in the last microbatch only.

// NONE: exec.sequence @backward fragment B {
// NONE: exec.collective all_reduce %a.grad to %as
// NONE: exec.entry "train_step" [@backward, @backward, @update]

exec.role @role0 ranks [0, 1] {
  %ag = exec.buffer "a.grad" kind gradients {persistent} : memref<8x8xf32>
  %bg = exec.buffer "b.grad" kind gradients {persistent} : memref<8x8xf32>
  %cg = exec.buffer "c.grad" kind gradients {persistent} : memref<8x8xf32>
  %x = exec.buffer "x" kind inputs : memref<8x8xf32>
  // CHECK-NOT: exec.buffer "as"
  %as = exec.buffer "as" kind activations : memref<8x8xf32>
  %bs = exec.buffer "bs" kind activations : memref<8x8xf32>
  // CHECK: exec.buffer "cs" kind gradients : memref<4x8xf32>
  %cs = exec.buffer "cs" kind activations : memref<4x8xf32>
  // CHECK: exec.sequence @backward.0 fragment B of "backward" {
  // CHECK-NEXT: exec.gemm %x, %x into %c.grad
  // CHECK-NEXT: {{^    }$}}
  // CHECK-NEXT: exec.sequence @gradients0 fragment B of "backward" bucket {
  // CHECK-NEXT: exec.collective reduce_scatter %c.grad to %cs
  // CHECK-NEXT: {{^    }$}}
  // CHECK-NEXT: exec.sequence @backward.1 fragment B of "backward" {
  // CHECK-NEXT: exec.gemm %x, %x into %b.grad
  // CHECK-NEXT: exec.gemm %x, %x into %a.grad
  // CHECK-NEXT: {{^    }$}}
  // CHECK-NEXT: exec.sequence @gradients1 fragment B of "backward" bucket {
  // CHECK-NEXT: exec.collective all_reduce %b.grad, %a.grad to %b.grad, %a.grad
  // CHECK-NEXT: {{^    }$}}
  exec.sequence @backward fragment B {
    exec.gemm %x, %x into %cg {accumulate = #exec.accumulation<add_unless_first>, k = 8 : i64, m = 8 : i64, n = 8 : i64} : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
    exec.gemm %x, %x into %bg {accumulate = #exec.accumulation<add_unless_first>, k = 8 : i64, m = 8 : i64, n = 8 : i64} : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
    exec.gemm %x, %x into %ag {accumulate = #exec.accumulation<add_unless_first>, k = 8 : i64, m = 8 : i64, n = 8 : i64} : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
  }
  // CHECK: exec.sequence @update fragment U {
  // CHECK-NEXT: exec.host output "a" %a.grad
  // CHECK-NEXT: exec.host output "b" %b.grad
  // CHECK-NEXT: exec.host output "c" %cs
  exec.sequence @update fragment U {
    exec.collective all_reduce %ag to %as over ["dp"] : memref<8x8xf32>, memref<8x8xf32>
    exec.collective all_reduce %bg to %bs over ["dp"] : memref<8x8xf32>, memref<8x8xf32>
    exec.collective reduce_scatter %cg to %cs over ["dp"] : memref<8x8xf32>, memref<4x8xf32>
    exec.host output "a" %as : memref<8x8xf32>
    exec.host output "b" %bs : memref<8x8xf32>
    exec.host output "c" %cs : memref<4x8xf32>
  }
  // CHECK: exec.entry "train_step" [@backward.0, @backward.1, @backward.0, @gradients0, @backward.1, @gradients1, @update] microbatches [0, 0, 1, 1, 1, 1, 0]
  exec.entry "train_step" [@backward, @backward, @update] microbatches [0, 1, 0] slots [0, 0, 0]
}
