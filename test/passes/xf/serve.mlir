// RUN: hocket-opt %s --xf-precision --xf-build-evaluate --xf-autodiff --xf-build-step --verify-xf | FileCheck %s

// A module that trains nothing has no gradients, no step and no forward pass of
// its own: evaluation has taken it over. Caches are of the precision that is
// computed in, but for the states of state-space layers, which are sums.

// CHECK: xf.serve prefill(@write) decode(@write) evaluate(@evaluate) prepare(@prepare) {alone}
// CHECK: xf.variable @w : tensor<16x4xf32>
// CHECK-NOT: grad
// CHECK: xf.variable @cache.keys : tensor<8x64x2x4xbf16>
// CHECK: xf.variable @cache.state : tensor<4x2x3x5xf32> {kind = #xf.variable_kind<cache>, role = #xf.parameter_role<state_input>}

xf.training {micro_batch_size = 2 : i64, global_batch_size = 2 : i64, model_name = "writer", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<bf16>, runtime = {}, sequence_length = 4 : i64}
xf.serve prefill(@write) decode(@write) {alone}
xf.variable @w : tensor<16x4xf32> {kind = #xf.variable_kind<parameter>}
xf.variable @cache.keys : tensor<8x64x2x4xf32> {kind = #xf.variable_kind<cache>}
xf.variable @cache.state : tensor<4x2x3x5xf32> {kind = #xf.variable_kind<cache>, role = #xf.parameter_role<state_input>}

// CHECK-NOT: func.func private @layer(
// CHECK: func.func private @layer_evaluate(
func.func private @layer(%x: tensor<2x4x4xf32>) -> tensor<2x4x4xf32> {
  %y = xf.dropout %x {rate = 0.5, stream = 2 : i32} : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  return %y : tensor<2x4x4xf32>
}

// CHECK-NOT: @forward
// CHECK: func.func @evaluate(
func.func @forward(%t: tensor<2x4xi32>, %l: tensor<2x4xi32>) -> tensor<f32> {
  %w = xf.read @w : tensor<16x4xf32>
  %x = xf.embedding %t, %w : (tensor<2x4xi32>, tensor<16x4xf32>) -> tensor<2x4x4xf32>
  %y = call @layer(%x) : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %z = xf.linear %y, %w : (tensor<2x4x4xf32>, tensor<16x4xf32>) -> tensor<2x4x16xf32>
  %loss, %lse = xf.cross_entropy %z, %l {valid_vocab = 16 : i64} : (tensor<2x4x16xf32>, tensor<2x4xi32>) -> (tensor<f32>, tensor<2x4xf32>)
  return %loss : tensor<f32>
}

// CHECK: func.func @write(
// CHECK: %[[K:.*]] = xf.read @cache.keys : tensor<8x64x2x4xbf16>
// CHECK: %{{.*}}, %[[K1:.*]], %{{.*}} = xf.cached_attention
// CHECK: xf.write %[[K1]], @cache.keys
// CHECK: %{{.*}}, %[[H1:.*]] = xf.cached_scan {{.*}} -> (tensor<3x1x2x3xbf16>, tensor<4x2x3x5xf32>)
// CHECK: xf.write %[[H1]], @cache.state
func.func @write(%tokens: tensor<3x1xi32>, %l: tensor<3x1xi32>, %p: tensor<3x1xi32>, %r: tensor<3x1xi32>, %table: tensor<4x2xi32>) {
  %w = xf.read @w : tensor<16x4xf32>
  %x = xf.embedding %tokens, %w : (tensor<3x1xi32>, tensor<16x4xf32>) -> tensor<3x1x4xf32>
  %q = xf.reshape %x : (tensor<3x1x4xf32>) -> tensor<3x1x1x4xf32>
  %k = xf.read @cache.keys : tensor<8x64x2x4xf32>
  %h = xf.constant {value = 1.0} : () -> tensor<3x1x2x4xf32>
  %o, %k1, %v1 = xf.cached_attention %h, %h, %h, %p, %r, %table, %k, %k {scale = 0.5} : (tensor<3x1x2x4xf32>, tensor<3x1x2x4xf32>, tensor<3x1x2x4xf32>, tensor<3x1xi32>, tensor<3x1xi32>, tensor<4x2xi32>, tensor<8x64x2x4xf32>, tensor<8x64x2x4xf32>) -> (tensor<3x1x2x4xf32>, tensor<8x64x2x4xf32>, tensor<8x64x2x4xf32>)
  xf.write %k1, @cache.keys : tensor<8x64x2x4xf32>
  %state = xf.read @cache.state : tensor<4x2x3x5xf32>
  %u = xf.constant {value = 1.0} : () -> tensor<3x1x2x3xf32>
  %d = xf.constant {value = 1.0} : () -> tensor<3x1x2xf32>
  %m = xf.constant {value = 1.0} : () -> tensor<3x1x1x5xf32>
  %n = xf.constant {value = 1.0} : () -> tensor<2xf32>
  %s, %s1 = xf.cached_scan %u, %d, %m, %m, %n, %n, %n, %p, %r, %state : (tensor<3x1x2x3xf32>, tensor<3x1x2xf32>, tensor<3x1x1x5xf32>, tensor<3x1x1x5xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3x1xi32>, tensor<3x1xi32>, tensor<4x2x3x5xf32>) -> (tensor<3x1x2x3xf32>, tensor<4x2x3x5xf32>)
  xf.write %s1, @cache.state : tensor<4x2x3x5xf32>
  return
}
