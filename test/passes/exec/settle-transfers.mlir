// RUN: hocket-opt %s --split-input-file --exec-settle-transfers --verify-diagnostics | FileCheck %s

// Rank 0 makes four results before rank 1 uses the first of them (it waits for
// what rank 0 sends last), of which one may have arrived: two copies are not
// enough for the rest, three are.

// CHECK: exec.role @role0
// CHECK: exec.buffer "x" kind activations {by_microbatch, slots = 3 : i64} : memref<8xf32>
// CHECK: exec.role @role1
// CHECK: exec.buffer "x" kind transfers : memref<8xf32>
exec.role @role0 ranks [0] pipeline_rank 0 {
  %x = exec.buffer "x" kind activations {by_microbatch, slots = 2 : i64} : memref<8xf32>
  %s = exec.buffer "s" kind activations : memref<8xf32>
  exec.sequence @first fragment F stage 0 {
    exec.launch @k() to (%x) : () -> memref<8xf32>
    exec.transfer(%x) over ["pp"] {peers = array<i64: 1>, sends = array<i1: true>, tags = array<i64: 0>} : memref<8xf32>
  }
  exec.sequence @start fragment B stage 0 {
    exec.launch @k() to (%s) : () -> memref<8xf32>
    exec.transfer(%s) over ["pp"] {peers = array<i64: 1>, sends = array<i1: true>, tags = array<i64: 1>} : memref<8xf32>
  }
  exec.entry "train_step" [@first, @first, @first, @first, @start] microbatches [0, 1, 2, 3, 0] slots [0, 1, 0, 1, 0]
}
exec.role @role1 ranks [1] pipeline_rank 1 {
  %x = exec.buffer "x" kind transfers : memref<8xf32>
  %s = exec.buffer "s" kind transfers : memref<8xf32>
  exec.sequence @start fragment B stage 1 {
    exec.transfer(%s) over ["pp"] {peers = array<i64: 0>, sends = array<i1: false>, tags = array<i64: 1>} : memref<8xf32>
    exec.host output "s" %s : memref<8xf32>
  }
  exec.sequence @second fragment F stage 1 {
    exec.transfer(%x) over ["pp"] {peers = array<i64: 0>, sends = array<i1: false>, tags = array<i64: 0>} : memref<8xf32>
    exec.host output "x" %x : memref<8xf32>
  }
  exec.entry "train_step" [@start, @second, @second, @second, @second] microbatches [0, 0, 1, 2, 3] slots [0, 0, 0, 0, 0]
}

// -----

// Each waits for what the other sends later: no number of copies helps.

exec.role @role0 ranks [0] pipeline_rank 0 {
  %x = exec.buffer "x" kind activations : memref<8xf32>
  %y = exec.buffer "y" kind transfers : memref<8xf32>
  exec.sequence @take fragment B stage 0 {
    exec.transfer(%y) over ["pp"] {peers = array<i64: 1>, sends = array<i1: false>, tags = array<i64: 1>} : memref<8xf32>
    exec.host output "y" %y : memref<8xf32>
  }
  exec.sequence @give fragment F stage 0 {
    exec.launch @k() to (%x) : () -> memref<8xf32>
    exec.transfer(%x) over ["pp"] {peers = array<i64: 1>, sends = array<i1: true>, tags = array<i64: 0>} : memref<8xf32>
  }
  // expected-error @+1 {{has ranks wait for each other for ever: rank}}
  exec.entry "train_step" [@take, @give] microbatches [0, 0] slots [0, 0]
}
exec.role @role1 ranks [1] pipeline_rank 1 {
  %x = exec.buffer "x" kind transfers : memref<8xf32>
  %y = exec.buffer "y" kind activations : memref<8xf32>
  exec.sequence @take fragment F stage 1 {
    exec.transfer(%x) over ["pp"] {peers = array<i64: 0>, sends = array<i1: false>, tags = array<i64: 0>} : memref<8xf32>
    exec.host output "x" %x : memref<8xf32>
  }
  exec.sequence @give fragment B stage 1 {
    exec.launch @k() to (%y) : () -> memref<8xf32>
    exec.transfer(%y) over ["pp"] {peers = array<i64: 0>, sends = array<i1: true>, tags = array<i64: 1>} : memref<8xf32>
  }
  exec.entry "train_step" [@take, @give] microbatches [0, 0] slots [0, 0]
}
