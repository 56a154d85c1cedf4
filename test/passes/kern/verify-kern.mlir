// RUN: hocket-opt %s --verify-kern --split-input-file --verify-diagnostics

func.func @left(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{K14: is left from an earlier level}}
  %0 = xf.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

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
// expected-error @+1 {{K15: runs @f, which is no function with `kern.fragment`}}
kern.schedule "train_step" slots 1 [#kern.action<@f microbatch 0 slot 0>]

// -----

func.func @forward(%x: tensor<4xi32>) -> (tensor<f32>, tensor<4xi32>) attributes {kern.fragment = "F"} {
  %0 = kern.input "learning_rate" : tensor<f32>
  return %0, %x : tensor<f32>, tensor<4xi32>
}
// expected-error @+1 {{K16: takes 'tensor<4xi32>', 'tensor<8xi32>', but forward leaves 'tensor<4xi32>', 'tensor<4xi32>'}}
func.func @backward(%x: tensor<4xi32>, %y: tensor<8xi32>) attributes {kern.fragment = "B"} {
  return
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
func.func @backward(%x: tensor<4xf32>) attributes {kern.fragment = "B"} {
  kern.accumulate %x, @g : tensor<4xf32>
  kern.accumulate %x, @g {always} : tensor<4xf32>
  return
}
kern.schedule "train_step" slots 1 [#kern.action<@backward microbatch 0 slot 0>]

// -----

func.func @forward_1(%x: tensor<4xf32> {kern.receive = array<i64: 0, 0>}) -> tensor<4xf32> attributes {kern.fragment = "F", kern.stage = 1 : i64} {
  return %x : tensor<4xf32>
}
// expected-error @+1 {{K18: takes ["F", 1] as argument 0, which no fragment of its stage returns}}
func.func @backward_1(%x: tensor<4xf32> {kern.saved = ["F", 1]}) attributes {kern.fragment = "B", kern.stage = 1 : i64} {
  return
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
