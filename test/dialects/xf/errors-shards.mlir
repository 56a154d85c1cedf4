// RUN: hocket-opt %s --split-input-file --verify-diagnostics

// The constraints of ops that see shards of a whole, which sharding leaves.

func.func @f(%l: tensor<8x288xf32>, %y: tensor<8xi32>) -> tensor<8xf32> {
  // expected-error @+1 {{X32: a valid vocabulary of 289 is not in [1, 288]}}
  %lse, %picked = xf.cross_entropy_rows %l, %y {valid_vocab = 289 : i64} : (tensor<8x288xf32>, tensor<8xi32>) -> (tensor<8x2xf32>, tensor<8xf32>)
  return %picked : tensor<8xf32>
}

// -----

func.func @f(%l: tensor<8x288xf32>, %y: tensor<8xi32>) -> tensor<8xf32> {
  // expected-error @+1 {{X32: lse [4, 2] has other rows than logits [8, 288]}}
  %lse, %picked = xf.cross_entropy_rows %l, %y {valid_vocab = 257 : i64} : (tensor<8x288xf32>, tensor<8xi32>) -> (tensor<4x2xf32>, tensor<8xf32>)
  return %picked : tensor<8xf32>
}

// -----

func.func @f(%l: tensor<8x144xf32>, %y: tensor<8xi32>, %first: i32) -> tensor<8xf32> {
  // expected-error @+1 {{X32: a shard of the logits is one part, not 2}}
  %lse, %picked = xf.cross_entropy_rows %l, %y, %first {valid_vocab = 257 : i64} : (tensor<8x144xf32>, tensor<8xi32>, i32) -> (tensor<8x2xf32>, tensor<8xf32>)
  return %picked : tensor<8xf32>
}

// -----

func.func @f(%x: tensor<8x2xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{X33: result has shape [4], expected [8]}}
  %y = xf.log_sum_exp %x : (tensor<8x2xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @f(%y: tensor<4x8xi32>) -> tensor<1xf32> {
  // expected-error @+1 {{X34: result has type 'tensor<1xf32>', expected a scalar of f32 or f64}}
  %n = xf.count_labels %y : (tensor<4x8xi32>) -> tensor<1xf32>
  return %n : tensor<1xf32>
}

// -----

func.func @f(%lse: tensor<8xf32>, %picked: tensor<4xf32>, %y: tensor<8xi32>, %n: tensor<f32>) -> tensor<f32> {
  // expected-error @+1 {{X35: picked has shape [4], expected [8]}}
  %loss = xf.mean_loss %lse, %picked, %y, %n : (tensor<8xf32>, tensor<4xf32>, tensor<8xi32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
