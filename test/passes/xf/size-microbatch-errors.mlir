// What no size of a microbatch can be given to (X116).
// RUN: hocket-opt %s --split-input-file --verify-diagnostics --xf-set-plan="plan=dp=2,mbs=3" --xf-size-microbatch

xf.training {global_batch_size = 12 : i64, micro_batch_size = 1 : i64, model_name = "tiny", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<fp32>, runtime = {}, sequence_length = 4 : i64}
// A parameter that is added to all sequences has no dim for them.
// expected-error @+1 {{X116: has a dim that the plan's sizes change; only a cache has one for each text}}
xf.variable @table : tensor<1x4xf32> {kind = #xf.variable_kind<parameter>}
func.func @forward(%tokens: tensor<1x4xi32>, %labels: tensor<1x4xi32>) -> tensor<f32> {
  %t = xf.read @table : tensor<1x4xf32>
  %z = xf.constant {value = 1.0} : () -> tensor<1x4x16xf32>
  %loss, %lse = xf.cross_entropy %z, %labels {valid_vocab = 16 : i64} : (tensor<1x4x16xf32>, tensor<1x4xi32>) -> (tensor<f32>, tensor<1x4xf32>)
  %y = xf.add %lse, %t : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  return %loss : tensor<f32>
}

// -----

xf.training {global_batch_size = 12 : i64, micro_batch_size = 1 : i64, model_name = "tiny", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<fp32>, runtime = {}, sequence_length = 4 : i64}
// Functions of training and of serving have layers of their own.
func.func private @layer(%x: tensor<1x1xi32>) {
  return
}
func.func @forward(%tokens: tensor<1x1xi32>, %labels: tensor<1x1xi32>) -> tensor<f32> {
  call @layer(%tokens) : (tensor<1x1xi32>) -> ()
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
func.func @decode(%tokens: tensor<1x1xi32> {xf.host = #xf.host_input<tokens>}, %labels: tensor<1x1xi32> {xf.host = #xf.host_input<labels>}, %p: tensor<1x1xi32> {xf.host = #xf.host_input<positions>}, %rows: tensor<1x1xi32> {xf.host = #xf.host_input<rows>}, %pages: tensor<1x2xi32> {xf.host = #xf.host_input<table>}) {
  // expected-error @+1 {{X116: the plan's sizes make dim 0 of a tensor here 2/1 and 6/1 times as long}}
  call @layer(%tokens) : (tensor<1x1xi32>) -> ()
  return
}
xf.serve prefill(@decode) decode(@decode)

// -----

// Four are to become six, and three cannot.
xf.training {global_batch_size = 12 : i64, micro_batch_size = 4 : i64, model_name = "tiny", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<fp32>, runtime = {}, sequence_length = 4 : i64}
// expected-error @+1 {{X116: the plan's sizes make a dim of 3 in 'tensor<3x4xi32>' 3/2 times as long, which is no size}}
func.func @forward(%tokens: tensor<3x4xi32>, %labels: tensor<3x4xi32>) -> tensor<f32> {
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
