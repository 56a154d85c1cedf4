// RUN: hocket-opt %s --xf-autodiff --split-input-file --verify-diagnostics

// expected-error @+1 {{needs one xf.training}}
module {
  func.func @forward(%t: tensor<1x4xi32>, %l: tensor<1x4xi32>) -> tensor<f32> {
    %loss = xf.constant {value = 1.0} : () -> tensor<f32>
    return %loss : tensor<f32>
  }
}

// -----

// expected-error @+1 {{needs a function @forward with a body}}
module {
  xf.training {global_batch_size = 1 : i64, micro_batch_size = 1 : i64, model_name = "tiny", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<fp32>, runtime = {}, sequence_length = 4 : i64}
}

// -----

xf.training {global_batch_size = 1 : i64, micro_batch_size = 1 : i64, model_name = "tiny", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<fp32>, runtime = {}, sequence_length = 4 : i64}
xf.variable @w : tensor<f32> {kind = #xf.variable_kind<parameter>}
func.func private @layer(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @+1 {{is recursive}}
  %y = call @layer(%x) : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}
func.func @forward(%t: tensor<1x4xi32>, %l: tensor<1x4xi32>) -> tensor<f32> {
  %x = xf.read @w : tensor<f32>
  %loss = call @layer(%x) : (tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

xf.training {global_batch_size = 1 : i64, micro_batch_size = 1 : i64, model_name = "tiny", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<fp32>, runtime = {}, sequence_length = 4 : i64}
xf.variable @w : tensor<f32> {kind = #xf.variable_kind<parameter>}
func.func @forward(%t: tensor<1x4xi32>, %l: tensor<1x4xi32>) -> tensor<f32> {
  %x = xf.read @w : tensor<f32>
  // expected-error @+1 {{has no gradient}}
  %loss = xf.bias_correction %x {beta = 0.9} : (tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

xf.training {global_batch_size = 1 : i64, micro_batch_size = 1 : i64, model_name = "tiny", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<fp32>, runtime = {}, sequence_length = 4 : i64}
xf.variable @w : tensor<1x4x8xf32> {kind = #xf.variable_kind<parameter>}
func.func @forward(%t: tensor<1x4xi32>, %l: tensor<1x4xi32>) -> tensor<f32> {
  %x = xf.read @w : tensor<1x4x8xf32>
  // expected-error @+1 {{has a gradient by its first result only}}
  %loss, %lse = xf.cross_entropy %x, %l {valid_vocab = 8 : i64} : (tensor<1x4x8xf32>, tensor<1x4xi32>) -> (tensor<f32>, tensor<1x4xf32>)
  %sum = xf.sum_leading %lse : (tensor<1x4xf32>) -> tensor<f32>
  return %sum : tensor<f32>
}
