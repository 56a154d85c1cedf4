// RUN: hocket-opt %s --exec-join-own-transfers | FileCheck %s

// Rank 1 holds the stages 1 and 2: what the one sends the other receives there.
// What goes to rank 0 stays as it is.

exec.role @role1 ranks [1] pipeline_rank 1 {
  %x = exec.buffer "x" kind activations : memref<8xf32>
  %y = exec.buffer "y" kind transfers : memref<8xf32>
  %z = exec.buffer "z" kind activations : memref<8xf32>
  // CHECK: exec.sequence @forward_1 fragment F stage 1 {
  // CHECK-NEXT: exec.launch @k() to (%x)
  // CHECK-NEXT: {{^    }$}}
  exec.sequence @forward_1 fragment F stage 1 {
    exec.launch @k() to (%x) : () -> memref<8xf32>
    exec.transfer(%x) over ["pp"] {peers = array<i64: 1>, sends = array<i1: true>, tags = array<i64: 4>} : memref<8xf32>
  }
  // CHECK: exec.sequence @forward_2 fragment F stage 2 {
  // CHECK-NEXT: exec.transfer(%x, %y) over ["pp"] {peers = array<i64: 1, 1>, sends = array<i1: true, false>, tags = array<i64: 4, 4>}
  // CHECK-NEXT: exec.launch @k(%y) to (%z)
  // CHECK-NEXT: exec.transfer(%z) over ["pp"] {peers = array<i64: 0>, sends = array<i1: true>, tags = array<i64: 5>}
  exec.sequence @forward_2 fragment F stage 2 {
    exec.transfer(%y) over ["pp"] {peers = array<i64: 1>, sends = array<i1: false>, tags = array<i64: 4>} : memref<8xf32>
    exec.launch @k(%y) to (%z) : (memref<8xf32>) -> memref<8xf32>
    exec.transfer(%z) over ["pp"] {peers = array<i64: 0>, sends = array<i1: true>, tags = array<i64: 5>} : memref<8xf32>
  }
}
