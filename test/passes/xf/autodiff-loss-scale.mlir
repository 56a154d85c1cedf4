// RUN: hocket-opt %s --xf-autodiff | FileCheck %s

// With fp16 gradients start from the loss scale, which is known with the loss.

// CHECK: xf.variable @state.loss_scale : tensor<f32> {init = #xf.init<constant, 5.120000e+02 : f64>, kind = #xf.variable_kind<state>}
xf.training {global_batch_size = 1 : i64, loss_scale = #xf.loss_scale<initial = 512.0, growth_factor = 2.0, backoff_factor = 0.5, growth_interval = 100, minimum = 1.0>, micro_batch_size = 1 : i64, model_name = "tiny", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<fp16>, runtime = {}, sequence_length = 4 : i64}
xf.variable @w : tensor<16x8xf32> {kind = #xf.variable_kind<parameter>}

// CHECK-LABEL: func.func @forward(
// CHECK: %[[SEED:.*]] = xf.read @state.loss_scale : tensor<f32>
// CHECK: xf.cross_entropy %
// CHECK: xf.cross_entropy_gradient %[[SEED]],
// CHECK-LABEL: func.func @backward(
// CHECK-NOT: xf.read @state.loss_scale
// CHECK: xf.accumulate %{{.*}}, @w.grad : tensor<16x8xf32>
func.func @forward(%tokens: tensor<1x4xi32>, %labels: tensor<1x4xi32>) -> tensor<f32> {
  %w = xf.read @w : tensor<16x8xf32>
  %x = xf.embedding %tokens, %w : (tensor<1x4xi32>, tensor<16x8xf32>) -> tensor<1x4x8xf32>
  %loss, %lse = xf.cross_entropy %x, %labels {valid_vocab = 8 : i64} : (tensor<1x4x8xf32>, tensor<1x4xi32>) -> (tensor<f32>, tensor<1x4xf32>)
  return %loss : tensor<f32>
}
