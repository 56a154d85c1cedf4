// RUN: hocket-opt %s --split-input-file --exec-free-gradients | FileCheck %s

// One microbatch: the gradient that is set before it is read need not last from
// step to step, and nothing adds "unless first". One that is read first does.

exec.role @one ranks [0] {
  // CHECK: exec.buffer "a.grad" kind gradients : memref<8xf32>
  %a = exec.buffer "a.grad" kind gradients {persistent} : memref<8xf32>
  // CHECK: exec.buffer "b.grad" kind gradients {persistent} : memref<8xf32>
  %b = exec.buffer "b.grad" kind gradients {persistent} : memref<8xf32>
  // CHECK: exec.buffer "p" kind parameters {persistent} : memref<8xf32>
  %p = exec.buffer "p" kind parameters {persistent} : memref<8xf32>
  // CHECK: exec.launch @k(%p) to (%a.grad) : (memref<8xf32>) -> memref<8xf32>
  // CHECK-NEXT: exec.accumulate %p to %a.grad {accumulate = #exec.accumulation<add>}
  exec.sequence @backward fragment B {
    exec.launch @k(%p) to (%a) {accumulate = #exec.accumulation<add_unless_first>} : (memref<8xf32>) -> memref<8xf32>
    exec.accumulate %p to %a {accumulate = #exec.accumulation<add>} : memref<8xf32>, memref<8xf32>
  }
  exec.sequence @update fragment U {
    exec.host output "b" %b : memref<8xf32>
    exec.launch @k(%a) to (%p) : (memref<8xf32>) -> memref<8xf32>
    exec.launch @k(%a) to (%b) : (memref<8xf32>) -> memref<8xf32>
  }
  exec.entry "train_step" [@backward, @update] microbatches [0, 0] slots [0, 0]
}

// -----

// Two microbatches: an accumulator.

exec.role @two ranks [0] {
  // CHECK: exec.buffer "a.grad" kind gradients {persistent} : memref<8xf32>
  %a = exec.buffer "a.grad" kind gradients {persistent} : memref<8xf32>
  // CHECK: {accumulate = #exec.accumulation<add_unless_first>}
  exec.sequence @backward fragment B {
    exec.launch @k() to (%a) {accumulate = #exec.accumulation<add_unless_first>} : () -> memref<8xf32>
  }
  exec.entry "train_step" [@backward, @backward] microbatches [0, 1] slots [0, 0]
}
