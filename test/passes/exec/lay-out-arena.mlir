// RUN: hocket-opt %s --split-input-file --exec-lay-out-arena | FileCheck %s

// Variables first. %y takes the place of %x, which is dead by then. A variable
// that nothing uses has a place and no lifetime.

// CHECK: exec.role @values ranks [0] arena 8192 lower_bound 8192 {
exec.role @values ranks [0] {
  // CHECK: exec.buffer "w" at 0 kind parameters live 1 to 1 {persistent}
  %w = exec.buffer "w" kind parameters {persistent} : memref<512xf32>
  // CHECK: exec.buffer "u" at 2048 kind state {persistent}
  %u = exec.buffer "u" kind state {persistent} : memref<512xf32>
  // CHECK: exec.buffer "x" at 4096 kind inputs live 0 to 1
  %x = exec.buffer "x" kind inputs : memref<512xf32>
  // CHECK: exec.buffer "m" at 6144 kind temporaries live 1 to 2
  %m = exec.buffer "m" kind activations : memref<512xf32>
  // CHECK: exec.buffer "y" at 4096 kind temporaries live 2 to 3
  %y = exec.buffer "y" kind activations : memref<512xf32>
  exec.sequence @forward fragment F {
    exec.host input "x" %x : memref<512xf32>
    exec.launch @k(%x, %w) to (%m) : (memref<512xf32>, memref<512xf32>) -> memref<512xf32>
    exec.launch @k(%m) to (%y) : (memref<512xf32>) -> memref<512xf32>
    exec.host output "y" %y : memref<512xf32>
  }
}

// -----

// What several microbatches keep lives through all of forward and backward, and
// so does what crosses between stages; %s does not. What a collective on another
// stream uses lives until that is over, which is before anything is sent.

// CHECK: exec.role @flight
exec.role @flight ranks [0] pipeline_rank 0 streams ["tp"] {
  // CHECK: %frames = exec.buffer "frames" at [[AT:[0-9]+]] kind activations live 0 to 5 {residual, slot_stride = 512 : i64, slots = 2 : i64}
  %f = exec.buffer "frames" kind activations {residual, slots = 2 : i64} : memref<512xi8>
  // CHECK: exec.buffer "link" at {{[0-9]+}} kind transfers live 0 to 5 {by_microbatch, slot_stride = 256 : i64, slots = 2 : i64}
  %l = exec.buffer "link" kind activations {by_microbatch, slots = 2 : i64} : memref<8xf32>
  // CHECK: exec.buffer "t" at {{[0-9]+}} kind temporaries live 0 to 3 :
  %t = exec.buffer "t" kind activations : memref<8xf32>
  // CHECK: exec.buffer "s" at {{[0-9]+}} kind temporaries live 1 to 3 :
  %s = exec.buffer "s" kind activations : memref<8xf32>
  // CHECK: exec.buffer "h" within %frames at [[AT]] kind activations live 0 to 5 {residual, slot_stride = 512 : i64, slots = 2 : i64}
  %h = exec.buffer "h" within %f at 0 kind activations {residual, slots = 2 : i64} : memref<64xf32> in memref<512xi8>
  exec.sequence @forward_0 fragment F stage 0 {
    exec.launch @k() to (%h, %t) : () -> (memref<64xf32>, memref<8xf32>)
    exec.collective all_reduce %t to %s over ["tp"] {stream = 1 : i64} : memref<8xf32>, memref<8xf32>
    exec.launch @k(%t) to (%l) : (memref<8xf32>) -> memref<8xf32>
    exec.transfer(%l) over ["pp"] {peers = array<i64: 1>, sends = array<i1: true>, tags = array<i64: 0>} : memref<8xf32>
  }
  exec.sequence @backward_0 fragment B stage 0 {
    exec.host output "h" %h : memref<64xf32>
    exec.host output "h" %h : memref<64xf32>
  }
  exec.sequence @update_0 fragment U stage 0 {
  }
  exec.entry "train_step" [@forward_0, @forward_0, @backward_0, @backward_0] microbatches [0, 1, 0, 1] slots [0, 1, 0, 1]
}
