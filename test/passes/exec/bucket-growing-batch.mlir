// RUN: hocket-opt %s --split-input-file --xf-set-plan=plan=bucket_bytes=4096 --exec-bucket-gradients | FileCheck %s

// Steps of other sizes run the same sequences in other orders. One bucket would
// hold both gradients, behind @late, whose last run comes last in "train_step";
// in "train_step.1" that of @early does, and the bucket would be reduced without
// it: each has a bucket of its own.

exec.role @role0 ranks [0, 1] {
  %ag = exec.buffer "a.grad" kind gradients {persistent} : memref<8x8xf32>
  %bg = exec.buffer "b.grad" kind gradients {persistent} : memref<8x8xf32>
  %x = exec.buffer "x" kind inputs : memref<8x8xf32>
  %as = exec.buffer "as" kind activations : memref<8x8xf32>
  %bs = exec.buffer "bs" kind activations : memref<8x8xf32>
  exec.sequence @early fragment B {
    exec.gemm %x, %x into %ag {accumulate = #exec.accumulation<add_unless_first>, k = 8 : i64, m = 8 : i64, n = 8 : i64} : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
  }
  exec.sequence @late fragment B {
    exec.gemm %x, %x into %bg {accumulate = #exec.accumulation<add_unless_first>, k = 8 : i64, m = 8 : i64, n = 8 : i64} : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
  }
  // CHECK: exec.sequence @gradients0 fragment B of "early" bucket {
  // CHECK-NEXT: exec.collective all_reduce %a.grad to %a.grad
  // CHECK: exec.sequence @gradients1 fragment B of "late" bucket {
  // CHECK-NEXT: exec.collective all_reduce %b.grad to %b.grad
  exec.sequence @update fragment U {
    exec.collective all_reduce %ag to %as over ["dp"] : memref<8x8xf32>, memref<8x8xf32>
    exec.collective all_reduce %bg to %bs over ["dp"] : memref<8x8xf32>, memref<8x8xf32>
    exec.host output "a" %as : memref<8x8xf32>
    exec.host output "b" %bs : memref<8x8xf32>
  }
  // CHECK: exec.entry "train_step" [@early, @early, @gradients0, @late, @late, @gradients1, @update]
  exec.entry "train_step" [@early, @early, @late, @late, @update] microbatches [0, 1, 0, 1, 0] slots [0, 0, 0, 0, 0]
  // CHECK: exec.entry "train_step.1" [@late, @gradients1, @early, @gradients0, @update]
  exec.entry "train_step.1" [@late, @early, @update] microbatches [0, 0, 0] slots [0, 0, 0]
}

// -----

// Two sequences add to one gradient, and not always the same one last: it stays
// in the update.

exec.role @role0 ranks [0, 1] {
  %ag = exec.buffer "a.grad" kind gradients {persistent} : memref<8x8xf32>
  %x = exec.buffer "x" kind inputs : memref<8x8xf32>
  %as = exec.buffer "as" kind activations : memref<8x8xf32>
  exec.sequence @head fragment B {
    exec.gemm %x, %x into %ag {accumulate = #exec.accumulation<add_unless_first>, k = 8 : i64, m = 8 : i64, n = 8 : i64} : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
  }
  exec.sequence @embedding fragment B {
    exec.gemm %x, %x into %ag {accumulate = #exec.accumulation<add>, k = 8 : i64, m = 8 : i64, n = 8 : i64} : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
  }
  // CHECK: exec.sequence @embedding fragment B {
  // CHECK-NOT: bucket
  // CHECK: exec.sequence @update fragment U {
  // CHECK-NEXT: exec.collective all_reduce %a.grad to %as
  exec.sequence @update fragment U {
    exec.collective all_reduce %ag to %as over ["dp"] : memref<8x8xf32>, memref<8x8xf32>
    exec.host output "a" %as : memref<8x8xf32>
  }
  exec.entry "train_step" [@head, @head, @embedding, @embedding, @update] microbatches [0, 1, 0, 1, 0] slots [0, 0, 0, 0, 0]
  exec.entry "train_step.1" [@embedding, @head, @update] microbatches [0, 0, 0] slots [0, 0, 0]
}
