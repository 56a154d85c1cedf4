// RUN: hocket-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{P1: no function is named @forward}}
pipe.fragment F @forward stage 0 chunk 0

// -----

func.func private @forward(tensor<4xf32>)
// expected-error @+1 {{P14: has 0 sources of 1 arguments and 0 targets of 0 results}}
pipe.fragment F @forward stage 0 chunk 0

// -----

func.func private @forward(tensor<4xf32>)
// expected-error @+1 {{P14: has [["dp"], []] for the dims of 'tensor<4xf32>'}}
pipe.fragment F @forward(host "tokens" split [["dp"], []]) stage 0 chunk 0

// -----

// expected-error @+1 {{P2: a schedule has at least one microbatch and slot}}
pipe.schedule "train_step" rank 0 microbatches 0 slots 1 []

// -----

// expected-error @+1 {{P3: action #pipe.action<B chunk 0 microbatch 2 slot 0> names a microbatch that does not exist}}
pipe.schedule "train_step" rank 0 microbatches 2 slots 1 [
  #pipe.action<B chunk 0 microbatch 2 slot 0>]

// -----

// expected-error @+1 {{P4: action #pipe.action<F chunk 0 microbatch 0 slot 1> names a slot that does not exist}}
pipe.schedule "train_step" rank 0 microbatches 2 slots 1 [
  #pipe.action<F chunk 0 microbatch 0 slot 1>]

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{P8: at least two pipeline ranks take part, in ascending order}}
  %0 = pipe.all_reduce %x ranks [1, 1] : tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{P9: dim 0 of the result has a shard of each rank}}
  %0 = pipe.all_gather %x ranks [0, 1] : tensor<4xf32> to tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x8xf32>) {
  // expected-error @+1 {{P15: 'tensor<4x8xf32>' is not the rows of 'tensor<2x4x8xf32>' from 5 on}}
  %0 = pipe.slice_rows %x from 5 : tensor<2x4x8xf32> to tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x8xf32>) {
  // expected-error @+1 {{P15: 'tensor<4x4xf32>' is not the rows of 'tensor<2x4x8xf32>' from 0 on}}
  %0 = pipe.slice_rows %x from 0 : tensor<2x4x8xf32> to tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{P15: the result has the type of what the rows stand in; where that is nothing, they are the first}}
  %0 = pipe.insert_rows %x at 4 : (tensor<4x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %y: tensor<8x8xf32>) {
  // expected-error @+1 {{P15: 'tensor<4x8xf32>' is not the rows of 'tensor<8x8xf32>' from -1 on}}
  %0 = pipe.insert_rows %x at -1 into %y : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}
