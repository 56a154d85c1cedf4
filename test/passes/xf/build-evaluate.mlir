// RUN: hocket-opt %s --xf-build-evaluate | FileCheck %s

// What drops or accumulates is copied without that; what does not is shared.
// The host sees of each label what its log-probability is made of.

// CHECK-LABEL: func.func private @plain(
func.func private @plain(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %y = xf.activation %x {kind = #xf.activation_kind<silu>} : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  return %y : tensor<1x4x8xf32>
}

// CHECK-LABEL: func.func private @attend(
// CHECK: dropout = 2.0
// CHECK-LABEL: func.func private @attend_evaluate(
// CHECK: xf.attention %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}} {causal
// CHECK-NOT: dropout = 2.0
func.func private @attend(%x: tensor<1x4x1x8xf32>, %i: i32) -> tensor<1x4x1x8xf32> {
  %y, %lse = xf.attention %x, %x, %x, %i {causal, scale = 0.5, dropout = 0.2, stream = 1 : i32} : (tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>, i32) -> (tensor<1x4x1x8xf32>, tensor<1x1x4xf32>)
  return %y : tensor<1x4x1x8xf32>
}

// CHECK-LABEL: func.func private @layer(
// CHECK-LABEL: func.func private @layer_evaluate(
// CHECK-NOT: xf.dropout
// CHECK: call @plain(
// CHECK: call @attend_evaluate(
func.func private @layer(%x: tensor<1x4x8xf32>, %i: i32) -> tensor<1x4x8xf32> {
  %p = call @plain(%x) : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %d = xf.dropout %p, %i {rate = 0.1, stream = 2 : i32} : (tensor<1x4x8xf32>, i32) -> tensor<1x4x8xf32>
  %h = xf.reshape %d : (tensor<1x4x8xf32>) -> tensor<1x4x1x8xf32>
  %a = call @attend(%h, %i) : (tensor<1x4x1x8xf32>, i32) -> tensor<1x4x1x8xf32>
  %y = xf.reshape %a : (tensor<1x4x1x8xf32>) -> tensor<1x4x8xf32>
  return %y : tensor<1x4x8xf32>
}

// CHECK-LABEL: func.func private @route(
// CHECK-LABEL: func.func private @route_evaluate(
// CHECK-NOT: xf.dropout
// CHECK-NOT: xf.sinkhorn
// CHECK: xf.router %{{[^,]*}} {
func.func private @route(%x: tensor<1x4x8xf32>, %w: tensor<6x8xf32>) -> tensor<1x4x2xf32> {
  %d = xf.dropout %x {jitter, rate = 0.1, stream = 5 : i32} : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %l = xf.linear %d, %w : (tensor<1x4x8xf32>, tensor<6x8xf32>) -> tensor<1x4x6xf32>
  %b = xf.sinkhorn %l : (tensor<1x4x6xf32>) -> tensor<1x6xf32>
  %s, %e = xf.router %l, %b {scale = 1.0, scores = #xf.router_scores<softmax>, top_k = 2 : i64} : (tensor<1x4x6xf32>, tensor<1x6xf32>) -> (tensor<1x4x2xf32>, tensor<1x4x2xi32>)
  return %s : tensor<1x4x2xf32>
}

xf.variable @table : tensor<16x8xf32> {kind = #xf.variable_kind<parameter>}
xf.variable @router : tensor<6x8xf32> {kind = #xf.variable_kind<parameter>}
xf.variable @state.counts : tensor<8xf32> {kind = #xf.variable_kind<state>}

// CHECK-LABEL: func.func @forward(
// CHECK: xf.dropout
// CHECK: xf.accumulate
// CHECK: call @layer(
// CHECK-LABEL: func.func @evaluate(
// CHECK: %[[X:.*]] = xf.embedding
// CHECK: call @layer_evaluate(%[[X]]
// CHECK: call @route_evaluate(
// CHECK: %[[LOSS:.*]], %[[LSE:.*]], %[[PICKED:.*]] = xf.cross_entropy %[[LOGITS:.*]], %
// CHECK: xf.output %[[LOGITS]], "logits"
// CHECK: xf.output %[[LSE]], "lse"
// CHECK: xf.output %[[PICKED]], "picked"
// CHECK-NOT: xf.accumulate
// CHECK: xf.output %[[LOSS]], "loss"
// CHECK: return %[[LOSS]] : tensor<f32>
func.func @forward(%tokens: tensor<1x4xi32>, %labels: tensor<1x4xi32>) -> tensor<f32> {
  %i = arith.constant 0 : i32
  %w = xf.read @table : tensor<16x8xf32>
  %e = xf.embedding %tokens, %w : (tensor<1x4xi32>, tensor<16x8xf32>) -> tensor<1x4x8xf32>
  %x = xf.dropout %e {rate = 0.1, stream = 3 : i32} : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %c = xf.sum_leading %e : (tensor<1x4x8xf32>) -> tensor<8xf32>
  xf.accumulate %c, @state.counts : tensor<8xf32>
  %y = call @layer(%x, %i) : (tensor<1x4x8xf32>, i32) -> tensor<1x4x8xf32>
  %r = xf.read @router : tensor<6x8xf32>
  %s = call @route(%y, %r) : (tensor<1x4x8xf32>, tensor<6x8xf32>) -> tensor<1x4x2xf32>
  %logits = xf.linear %y, %w : (tensor<1x4x8xf32>, tensor<16x8xf32>) -> tensor<1x4x16xf32>
  %loss, %lse = xf.cross_entropy %logits, %labels {valid_vocab = 16 : i64} : (tensor<1x4x16xf32>, tensor<1x4xi32>) -> (tensor<f32>, tensor<1x4xf32>)
  return %loss : tensor<f32>
}
