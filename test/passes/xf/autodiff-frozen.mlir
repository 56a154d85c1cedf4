// Nothing below the lowest trained parameter has a backward pass, and of what
// is above it gradients are of inputs alone, where the weights are frozen.
// RUN: hocket-opt %s --xf-autodiff --xf-build-step --verify-xf | FileCheck %s

// CHECK-NOT: @table.grad
// CHECK-NOT: @a.grad
// CHECK: xf.variable @b.grad
// CHECK-NOT: @c.grad
// CHECK: xf.variable @head.grad
// CHECK-NOT: .grad

xf.training {global_batch_size = 2 : i64, micro_batch_size = 1 : i64, model_name = "tiny", optimizer = #xf.adamw<beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = 0.1>, precision = #xf.precision<fp32>, runtime = {}, sequence_length = 4 : i64}
xf.variable @table : tensor<16x8xf32> {frozen, kind = #xf.variable_kind<parameter>}
xf.variable @a : tensor<8x8xf32> {frozen, kind = #xf.variable_kind<parameter>}
xf.variable @b : tensor<8x8xf32> {kind = #xf.variable_kind<parameter>}
xf.variable @c : tensor<8x8xf32> {frozen, kind = #xf.variable_kind<parameter>}
xf.variable @head : tensor<16x8xf32> {kind = #xf.variable_kind<parameter>}

// The first layer as it is; the second with a gradient of its weight alone, the
// third of its input.
// CHECK-LABEL: func.func private @layer(
// CHECK-LABEL: func.func private @layer_1_forward(
// CHECK-SAME: -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>)
// CHECK-LABEL: func.func private @layer_1_backward(
// CHECK-NOT: linear_weight_gradient
// CHECK: %[[D:.*]] = xf.linear_input_gradient
// CHECK-NEXT: return %[[D]]
// CHECK-LABEL: func.func private @layer_forward(
// CHECK-LABEL: func.func private @layer_backward(
// CHECK-NOT: linear_input_gradient
// CHECK: %[[D:.*]] = xf.linear_weight_gradient
// CHECK-NEXT: return %[[D]]
func.func private @layer(%x: tensor<1x4x8xf32>, %w: tensor<8x8xf32>) -> tensor<1x4x8xf32> {
  %h = xf.linear %x, %w : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
  %y = xf.activation %h {kind = #xf.activation_kind<gelu>} : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  return %y : tensor<1x4x8xf32>
}

// CHECK-LABEL: func.func @forward(
// CHECK: call @layer(
// CHECK: call @layer_forward(
// CHECK: call @layer_1_forward(
// CHECK-LABEL: func.func @backward(
// CHECK: call @layer_1_backward(
// CHECK: call @layer_backward(
// CHECK-NOT: call
// CHECK-LABEL: func.func @update(
// CHECK-NOT: xf.write {{.*}}@a
// CHECK: xf.global_norm %{{.*}}, %{{.*}} :
func.func @forward(%tokens: tensor<1x4xi32>, %labels: tensor<1x4xi32>) -> tensor<f32> {
  %t = xf.read @table : tensor<16x8xf32>
  %x = xf.embedding %tokens, %t : (tensor<1x4xi32>, tensor<16x8xf32>) -> tensor<1x4x8xf32>
  %a = xf.read @a : tensor<8x8xf32>
  %0 = call @layer(%x, %a) : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
  %b = xf.read @b : tensor<8x8xf32>
  %1 = call @layer(%0, %b) : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
  %c = xf.read @c : tensor<8x8xf32>
  %2 = call @layer(%1, %c) : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
  %w = xf.read @head : tensor<16x8xf32>
  %z = xf.linear %2, %w : (tensor<1x4x8xf32>, tensor<16x8xf32>) -> tensor<1x4x16xf32>
  %loss, %lse = xf.cross_entropy %z, %labels {valid_vocab = 16 : i64} : (tensor<1x4x16xf32>, tensor<1x4xi32>) -> (tensor<f32>, tensor<1x4xf32>)
  return %loss : tensor<f32>
}

func.func @evaluate(%tokens: tensor<1x4xi32>, %labels: tensor<1x4xi32>) -> tensor<f32> {
  %zero = xf.constant {value = 0.0} : () -> tensor<f32>
  return %zero : tensor<f32>
}
