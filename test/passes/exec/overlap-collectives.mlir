// RUN: hocket-opt %s --exec-overlap-collectives | FileCheck %s

// Streams in the order of the mesh's axes, that of buckets behind them. Only
// those that something is computed beside: a sum whose result is wanted at once
// stays on stream 0, and so does one between pipeline ranks. A shift always has
// its axis's stream.

module {
step.mesh ["pp", "dp", "cp", "tp"] sizes [2, 2, 2, 2]
// CHECK: exec.role @role0 ranks [0] streams ["cp", "tp", "gradients"] {
exec.role @role0 ranks [0] {
  %x = exec.buffer "x" kind inputs : memref<8xf32>
  %y = exec.buffer "y" kind activations : memref<8xf32>
  %z = exec.buffer "z" kind activations : memref<8xf32>
  %g = exec.buffer "g" kind gradients {persistent} : memref<8xf32>
  // CHECK: exec.collective all_reduce %x to %y over ["tp"] {stream = 2 : i64}
  // CHECK-NEXT: exec.launch @k(%x) to (%z)
  // CHECK-NEXT: exec.host output "y"
  // CHECK-NEXT: exec.collective all_reduce %x to %y over ["dp"] : memref
  // CHECK-NEXT: exec.host output "y"
  // CHECK-NEXT: exec.collective all_reduce %x to %y over ["pp"] : memref
  // CHECK-NEXT: exec.launch @k(%x) to (%z)
  // CHECK-NEXT: exec.collective shift %x to %y over ["cp"] {stream = 1 : i64}
  exec.sequence @forward fragment F {
    exec.collective all_reduce %x to %y over ["tp"] : memref<8xf32>, memref<8xf32>
    exec.launch @k(%x) to (%z) : (memref<8xf32>) -> memref<8xf32>
    exec.host output "y" %y : memref<8xf32>
    exec.collective all_reduce %x to %y over ["dp"] : memref<8xf32>, memref<8xf32>
    exec.host output "y" %y : memref<8xf32>
    exec.collective all_reduce %x to %y over ["pp"] : memref<8xf32>, memref<8xf32>
    exec.launch @k(%x) to (%z) : (memref<8xf32>) -> memref<8xf32>
    exec.collective shift %x to %y over ["cp"] : memref<8xf32>, memref<8xf32>
  }
  // CHECK: exec.collective all_reduce %g to %g over ["dp"] {stream = 3 : i64}
  exec.sequence @gradients0 fragment B of "backward" bucket {
    exec.collective all_reduce %g to %g over ["dp"] : memref<8xf32>, memref<8xf32>
  }
}
}
