// RUN: hocket-opt %s --split-input-file --exec-fold-writes | FileCheck %s

// A gradient that nothing else reads is added where it is computed. The second
// contribution to a variable adds in the first microbatch too.

exec.role @gradients ranks [0] {
  %w = exec.buffer "w.grad" kind gradients {persistent} : memref<8x8xf32>
  %x = exec.buffer "x" kind inputs : memref<8x8xf32>
  // CHECK-NOT: exec.buffer "g"
  %g = exec.buffer "g" kind activations : memref<8x8xf32>
  %h = exec.buffer "h" kind activations : memref<8x8xf32>
  // CHECK: exec.sequence @backward
  // CHECK-NEXT: exec.host
  // CHECK-NEXT: exec.gemm %x, %x into %w.grad {accumulate = #exec.accumulation<add_unless_first>
  // CHECK-NEXT: exec.gemm %x, %x into %w.grad {accumulate = #exec.accumulation<add>
  // CHECK-NEXT: {{^    }$}}
  exec.sequence @backward fragment B {
    exec.host input "x" %x : memref<8x8xf32>
    exec.gemm %x, %x into %g {k = 8 : i64, m = 8 : i64, n = 8 : i64} : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
    exec.accumulate %g to %w {accumulate = #exec.accumulation<add_unless_first>} : memref<8x8xf32>, memref<8x8xf32>
    exec.gemm %x, %x into %h {k = 8 : i64, m = 8 : i64, n = 8 : i64} : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
    exec.accumulate %h to %w {accumulate = #exec.accumulation<add_unless_first>} : memref<8x8xf32>, memref<8x8xf32>
  }
}

// -----

// One that is read as well, and one that is kept for a later fragment, are not.

exec.role @kept ranks [0] {
  %w = exec.buffer "w.grad" kind gradients {persistent} : memref<8x8xf32>
  %x = exec.buffer "x" kind inputs : memref<8x8xf32>
  %g = exec.buffer "g" kind activations : memref<8x8xf32>
  %h = exec.buffer "h" kind activations {residual} : memref<8x8xf32>
  // CHECK: exec.gemm %x, %x into %g {k
  // CHECK-NEXT: exec.host output "g" %g
  // CHECK-NEXT: exec.accumulate %g to %w.grad {accumulate = #exec.accumulation<add_unless_first>}
  // CHECK-NEXT: exec.gemm %x, %x into %h {k
  // CHECK-NEXT: exec.accumulate %h to %w.grad {accumulate = #exec.accumulation<add>}
  exec.sequence @backward fragment B {
    exec.gemm %x, %x into %g {k = 8 : i64, m = 8 : i64, n = 8 : i64} : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
    exec.host output "g" %g : memref<8x8xf32>
    exec.accumulate %g to %w {accumulate = #exec.accumulation<add_unless_first>} : memref<8x8xf32>, memref<8x8xf32>
    exec.gemm %x, %x into %h {k = 8 : i64, m = 8 : i64, n = 8 : i64} : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
    exec.accumulate %h to %w {accumulate = #exec.accumulation<add_unless_first>} : memref<8x8xf32>, memref<8x8xf32>
  }
}

// -----

// The library's table says which of its ops can add: the gradient of a shard of
// the embedding can, and rows that are padded cannot.

exec.role @library ranks [0] {
  %w = exec.buffer "w.grad" kind gradients {persistent} : memref<8x8xf32>
  %v = exec.buffer "v.grad" kind gradients {persistent} : memref<8x8xf32>
  %i = exec.buffer "ids" kind inputs : memref<4xi32>
  %x = exec.buffer "x" kind inputs : memref<4x8xf32>
  // CHECK-NOT: exec.buffer "g"
  // CHECK: exec.buffer "h"
  %g = exec.buffer "g" kind activations : memref<8x8xf32>
  %h = exec.buffer "h" kind activations : memref<8x8xf32>
  // CHECK: exec.library "embedding_gradient_shard"(%ids, %x) to (%w.grad) {accumulate = #exec.accumulation<add_unless_first>
  // CHECK-NEXT: exec.library "pad_rows"(%x) to (%h)
  // CHECK-NEXT: exec.accumulate %h to %v.grad
  exec.sequence @backward fragment B {
    exec.library "embedding_gradient_shard"(%i, %x) to (%g) {floats = array<f64>, integers = array<i64: 1, 4, 8, 8>, scalars = [0]} : (memref<4xi32>, memref<4x8xf32>) -> memref<8x8xf32>
    exec.accumulate %g to %w {accumulate = #exec.accumulation<add_unless_first>} : memref<8x8xf32>, memref<8x8xf32>
    exec.library "pad_rows"(%x) to (%h) {floats = array<f64>, integers = array<i64: 1, 32, 64>} : (memref<4x8xf32>) -> memref<8x8xf32>
    exec.accumulate %h to %v {accumulate = #exec.accumulation<add_unless_first>} : memref<8x8xf32>, memref<8x8xf32>
  }
}

// -----

// Of a kernel of rows, sums over them are added and nothing else: what is
// computed of each row may still stand where an operand did.

kern.kernel @gradient [8 x 16] (%a: tensor<8x16xf32> as full, %b: tensor<16xf32> as col) -> (tensor<8x16xf32> as full, tensor<16xf32> as col, tensor<16xf32> as col) {
  %0 = arith.mulf %a, %b : f32
  kern.yield %0, %0, %a : f32, f32, f32
}
exec.role @sums ranks [0] {
  %w = exec.buffer "w.grad" kind gradients {persistent} : memref<16xf32>
  %b = exec.buffer "b.grad" kind gradients {persistent} : memref<16xf32>
  %s = exec.buffer "s" kind parameters {persistent} : memref<16xf32>
  %x = exec.buffer "x" kind inputs : memref<8x16xf32>
  %y = exec.buffer "y" kind activations : memref<8x16xf32>
  %g = exec.buffer "g" kind activations : memref<16xf32>
  %h = exec.buffer "h" kind activations : memref<16xf32>
  // CHECK-LABEL: exec.sequence @sums
  // CHECK: exec.launch @gradient(%x, %s) to (%x, %w.grad, %b.grad) {accumulate = #exec.accumulation<add_unless_first>}
  // CHECK-NEXT: exec.host output "y" %x
  exec.sequence @sums fragment B {
    exec.host input "x" %x : memref<8x16xf32>
    exec.launch @gradient(%x, %s) to (%y, %g, %h) : (memref<8x16xf32>, memref<16xf32>) -> (memref<8x16xf32>, memref<16xf32>, memref<16xf32>)
    exec.accumulate %g to %w {accumulate = #exec.accumulation<add_unless_first>} : memref<16xf32>, memref<16xf32>
    exec.accumulate %h to %b {accumulate = #exec.accumulation<add_unless_first>} : memref<16xf32>, memref<16xf32>
    exec.host output "y" %y : memref<8x16xf32>
  }
}

// -----

// An update in place: the new value is written over the old one, element by
// element. What still needs the old value keeps it from that.

kern.kernel @half [1 x 16] (%a: tensor<16xf32> as full) -> (tensor<16xf32> as full) {
  %c = arith.constant 0.5 : f32
  %0 = arith.mulf %a, %c : f32
  kern.yield %0 : f32
}
exec.role @update ranks [0] {
  %p = exec.buffer "p" kind parameters {persistent} : memref<16xf32>
  %q = exec.buffer "q" kind parameters {persistent} : memref<16xf32>
  %n = exec.buffer "n" kind activations : memref<16xf32>
  %m = exec.buffer "m" kind activations : memref<16xf32>
  // CHECK: exec.launch @half(%p) to (%p)
  // CHECK-NEXT: exec.launch @half(%q) to (%m)
  // CHECK-NEXT: exec.host output "old" %q
  // CHECK-NEXT: exec.copy %m to %q
  exec.sequence @update fragment U {
    exec.launch @half(%p) to (%n) : (memref<16xf32>) -> memref<16xf32>
    exec.copy %n to %p : memref<16xf32>, memref<16xf32>
    exec.launch @half(%q) to (%m) : (memref<16xf32>) -> memref<16xf32>
    exec.host output "old" %q : memref<16xf32>
    exec.copy %m to %q : memref<16xf32>, memref<16xf32>
  }
}

// -----

// A result over an operand that dies there; not over one that lives on, nor over
// one that a collective beside stream 0 still reads.

kern.kernel @double [4 x 8] (%a: tensor<4x8xf32> as full) -> (tensor<4x8xf32> as full) {
  %0 = arith.addf %a, %a : f32
  kern.yield %0 : f32
}
exec.role @place ranks [0, 1] {
  %x = exec.buffer "x" kind inputs : memref<4x8xf32>
  %y = exec.buffer "y" kind activations : memref<4x8xf32>
  %z = exec.buffer "z" kind activations : memref<4x8xf32>
  %u = exec.buffer "u" kind activations : memref<4x8xf32>
  %s = exec.buffer "s" kind activations : memref<4x8xf32>
  // CHECK: exec.launch @double(%x) to (%y)
  // CHECK-NEXT: exec.launch @double(%x) to (%x)
  // CHECK-NEXT: exec.collective all_reduce %x to %s
  // CHECK-NEXT: exec.launch @double(%y) to (%y)
  // CHECK-NEXT: exec.host output "y" %y
  exec.sequence @forward fragment F {
    exec.host input "x" %x : memref<4x8xf32>
    exec.launch @double(%x) to (%y) : (memref<4x8xf32>) -> memref<4x8xf32>
    exec.launch @double(%x) to (%z) : (memref<4x8xf32>) -> memref<4x8xf32>
    exec.collective all_reduce %z to %s over ["tp"] : memref<4x8xf32>, memref<4x8xf32>
    exec.launch @double(%y) to (%u) : (memref<4x8xf32>) -> memref<4x8xf32>
    exec.host output "y" %u : memref<4x8xf32>
    exec.host output "s" %s : memref<4x8xf32>
  }
}

// -----

// A library's op that may write over an operand writes the variable itself, if
// that is the operand; one that it also reads otherwise it may not.

exec.role @cache ranks [0] {
  %keys = exec.buffer "keys" kind cache {persistent} : memref<8xf32>
  %values = exec.buffer "values" kind cache {persistent} : memref<8xf32>
  %x = exec.buffer "x" kind inputs : memref<8xf32>
  %o = exec.buffer "o" kind activations : memref<8xf32>
  %n = exec.buffer "n" kind activations : memref<8xf32>
  %m = exec.buffer "m" kind activations : memref<8xf32>
  // CHECK-LABEL: exec.role @cache
  // CHECK: exec.library "keep"(%x, %keys) to (%o, %keys)
  // CHECK-NEXT: exec.host output "lse" %o
  // CHECK-NEXT: exec.library "keep"(%values, %values) to (%o, %m)
  // CHECK-NEXT: exec.copy %m to %values
  exec.sequence @decode fragment D {
    exec.host input "tokens" %x : memref<8xf32>
    exec.library "keep"(%x, %keys) to (%o, %n) {floats = array<f64>, in_place = array<i64: -1, 1>, integers = array<i64>} : (memref<8xf32>, memref<8xf32>) -> (memref<8xf32>, memref<8xf32>)
    exec.copy %n to %keys : memref<8xf32>, memref<8xf32>
    exec.host output "lse" %o : memref<8xf32>
    exec.library "keep"(%values, %values) to (%o, %m) {floats = array<f64>, in_place = array<i64: -1, 1>, integers = array<i64>} : (memref<8xf32>, memref<8xf32>) -> (memref<8xf32>, memref<8xf32>)
    exec.copy %m to %values : memref<8xf32>, memref<8xf32>
  }
}
