// RUN: hocket-opt %s --verify-kern --split-input-file --verify-diagnostics

func.func @left(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{K14: is left from an earlier level}}
  %0 = xf.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{K14: is left from an earlier level}}
dist.mesh @mesh ["dp"] sizes [2]

// -----

func.func @scalar(%x: f32) -> f32 {
  // expected-error @+1 {{K14: cannot stand in a function here}}
  %0 = arith.addf %x, %x : f32
  return %0 : f32
}

// -----

func.func @f() {
  return
}
// expected-error @+1 {{K15: runs @f, which is no `kern.fragment`}}
kern.schedule "train_step" slots 1 [#kern.action<@f microbatch 0 slot 0>]

// -----

kern.fragment F @forward(%x: tensor<4xi32> from host "tokens") -> (tensor<f32>, tensor<4xi32>) {
  %0 = kern.input "learning_rate" : tensor<f32>
  kern.return %0, %x : tensor<f32>, tensor<4xi32>
}
// expected-error @+1 {{K18: takes #step.saved<F result 1> as argument 1, which no fragment of its stage has of type 'tensor<8xi32>'}}
kern.fragment B @backward(%x: tensor<4xi32> from F argument 0, %y: tensor<8xi32> from F result 1) {
  kern.return
}

// -----

kern.variable @g : tensor<4xf32> {kind = #kern.variable_kind<gradient>}
func.func @twice(%x: tensor<4xf32>) {
  kern.accumulate %x, @g : tensor<4xf32>
  // expected-error @+1 {{K17: sets @g after another contribution}}
  kern.accumulate %x, @g : tensor<4xf32>
  return
}

// -----

kern.variable @g : tensor<4xf32> {kind = #kern.variable_kind<gradient>}
kern.fragment B @backward(%x: tensor<4xf32> from host "x") {
  kern.accumulate %x, @g : tensor<4xf32>
  kern.accumulate %x, @g {always} : tensor<4xf32>
  kern.return
}
kern.schedule "train_step" slots 1 [#kern.action<@backward microbatch 0 slot 0>]

// -----

kern.fragment F @forward_1(%x: tensor<4xf32> from rank 0 tag 0) -> (tensor<4xf32>) stage 1 {
  kern.return %x : tensor<4xf32>
}
// expected-error @+1 {{K18: takes #step.saved<F result 1> as argument 0, which no fragment of its stage has of type 'tensor<4xf32>'}}
kern.fragment B @backward_1(%x: tensor<4xf32> from F result 1) stage 1 {
  kern.return
}

// -----

// expected-error @+1 {{K18: takes #step.saved<F argument 0> as argument 0, which no fragment of its stage has of type 'tensor<4xf32>'}}
kern.fragment B @backward_2(%x: tensor<4xf32> from F argument 0) stage 2 {
  kern.return
}

// -----

func.func @unknown(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{K30: kernels/library has no op 'frobnicate'}}
  %0 = kern.library "frobnicate"(%x) {floats = array<f64>, integers = array<i64>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @buffers(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{K30: 'rope' takes 3 to 3 buffers, not 2}}
  %0 = kern.library "rope"(%x) {floats = array<f64>, integers = array<i64: 1, 2, 8, 2, 8, 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @scalars(%x: tensor<8xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{K30: 'slice_shard' takes 1 scalars, not 0}}
  %0 = kern.library "slice_shard"(%x) {floats = array<f64>, integers = array<i64: 0, 1, 4, 8>} : (tensor<8xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
