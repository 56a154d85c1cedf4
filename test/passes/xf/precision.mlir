// RUN: hocket-opt %s --xf-precision | FileCheck %s
// RUN: sed -e 's/precision<bf16>/precision<fp32>/' %s | hocket-opt --xf-precision | FileCheck %s --check-prefix=FP32
// RUN: hocket-opt %s --xf-precision --xf-build-evaluate --xf-autodiff | FileCheck %s --check-prefix=GRAD

// Parameters get working copies, except those of norms; activations follow;
// the rotary table, statistics and the loss stay in f32.

// FP32-NOT: bf16
xf.training {global_batch_size = 1 : i64, micro_batch_size = 1 : i64, model_name = "tiny", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<bf16>, runtime = {}, sequence_length = 4 : i64}

// CHECK: xf.variable @table : tensor<16x8xf32> {kind = #xf.variable_kind<parameter>}
// CHECK-NEXT: xf.variable @table.working : tensor<16x8xbf16> {kind = #xf.variable_kind<working>, of = @table}
xf.variable @table : tensor<16x8xf32> {kind = #xf.variable_kind<parameter>}
// CHECK: xf.variable @norm : tensor<8xf32>
// CHECK-NOT: @norm.working
xf.variable @norm : tensor<8xf32> {kind = #xf.variable_kind<parameter>}

// CHECK-LABEL: func.func private @layer(
// CHECK-SAME: %[[X:.*]]: tensor<1x4x8xbf16>, %[[T:.*]]: tensor<4x2x2xf32>, %[[N:.*]]: tensor<8xf32>) -> tensor<1x4x8xbf16>
// CHECK: xf.norm %[[X]], %[[N]] {{.*}}(tensor<1x4x8xbf16>, tensor<8xf32>) -> tensor<1x4x8xbf16>
// CHECK: xf.rope %{{.*}}, %[[T]] : (tensor<1x4x2x4xbf16>, tensor<4x2x2xf32>) -> tensor<1x4x2x4xbf16>
// CHECK: xf.attention {{.*}} -> (tensor<1x4x2x4xbf16>, tensor<1x2x4xf32>)
func.func private @layer(%x: tensor<1x4x8xf32>, %t: tensor<4x2x2xf32>, %n: tensor<8xf32>) -> tensor<1x4x8xf32> {
  %h = xf.norm %x, %n {kind = #xf.norm_kind<rms>, epsilon = 1.0e-5} : (tensor<1x4x8xf32>, tensor<8xf32>) -> tensor<1x4x8xf32>
  %q = xf.reshape %h : (tensor<1x4x8xf32>) -> tensor<1x4x2x4xf32>
  %r = xf.rope %q, %t : (tensor<1x4x2x4xf32>, tensor<4x2x2xf32>) -> tensor<1x4x2x4xf32>
  %o, %lse = xf.attention %r, %r, %q {causal, scale = 0.5} : (tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>) -> (tensor<1x4x2x4xf32>, tensor<1x2x4xf32>)
  %y = xf.reshape %o : (tensor<1x4x2x4xf32>) -> tensor<1x4x8xf32>
  return %y : tensor<1x4x8xf32>
}

// Routers choose by f32 logits and biases.
// CHECK-LABEL: func.func private @route(
// CHECK-SAME: %[[X:.*]]: tensor<1x4x8xbf16>, %[[W:.*]]: tensor<6x8xbf16>, %[[B:.*]]: tensor<6xf32>) -> tensor<1x4x2xf32>
// CHECK: %[[L:.*]] = xf.linear %[[X]], %[[W]] : (tensor<1x4x8xbf16>, tensor<6x8xbf16>) -> tensor<1x4x6xf32>
// CHECK: xf.router %[[L]], %[[B]]
func.func private @route(%x: tensor<1x4x8xf32>, %w: tensor<6x8xf32>, %b: tensor<6xf32>) -> tensor<1x4x2xf32> {
  %l = xf.linear %x, %w : (tensor<1x4x8xf32>, tensor<6x8xf32>) -> tensor<1x4x6xf32>
  %v, %e = xf.router %l, %b {scale = 1.0, scores = #xf.router_scores<sigmoid>, top_k = 2 : i64} : (tensor<1x4x6xf32>, tensor<6xf32>) -> (tensor<1x4x2xf32>, tensor<1x4x2xi32>)
  return %v : tensor<1x4x2xf32>
}

// CHECK-LABEL: func.func @forward(
// CHECK: %[[TABLE:.*]] = xf.read @table.working : tensor<16x8xbf16>
// CHECK: xf.read @norm : tensor<8xf32>
// CHECK: xf.rope_table {{.*}} -> tensor<4x2x2xf32>
// CHECK: xf.embedding %{{.*}}, %[[TABLE]] : {{.*}} -> tensor<1x4x8xbf16>
// CHECK: %[[LOGITS:.*]] = xf.linear {{.*}} -> tensor<1x4x16xbf16>
// CHECK: xf.cross_entropy %[[LOGITS]], {{.*}} -> (tensor<f32>, tensor<1x4xf32>)

// The gradient of a working copy is that of its parameter, and never bf16.
// GRAD-LABEL: func.func @backward(
// GRAD: %[[G:.*]] = xf.linear_weight_gradient {{.*}} -> tensor<16x8xf32>
// GRAD: xf.accumulate %[[G]], @table.grad : tensor<16x8xf32>
// GRAD: xf.accumulate %{{.*}}, @norm.grad : tensor<8xf32>
// GRAD: %[[E:.*]] = xf.embedding_gradient {{.*}} -> tensor<16x8xf32>
// GRAD: xf.accumulate %[[E]], @table.grad
func.func @forward(%tokens: tensor<1x4xi32>, %labels: tensor<1x4xi32>) -> tensor<f32> {
  %w = xf.read @table : tensor<16x8xf32>
  %n = xf.read @norm : tensor<8xf32>
  %t = xf.rope_table {inverse_frequencies = array<f64: 1.0, 0.1>} : () -> tensor<4x2x2xf32>
  %x = xf.embedding %tokens, %w : (tensor<1x4xi32>, tensor<16x8xf32>) -> tensor<1x4x8xf32>
  %y = call @layer(%x, %t, %n) : (tensor<1x4x8xf32>, tensor<4x2x2xf32>, tensor<8xf32>) -> tensor<1x4x8xf32>
  %logits = xf.linear %y, %w : (tensor<1x4x8xf32>, tensor<16x8xf32>) -> tensor<1x4x16xf32>
  %loss, %lse = xf.cross_entropy %logits, %labels {valid_vocab = 16 : i64} : (tensor<1x4x16xf32>, tensor<1x4xi32>) -> (tensor<f32>, tensor<1x4xf32>)
  return %loss : tensor<f32>
}

// A wide router reads its input in f32, and the f32 weight; what else reads the
// input reads it as it is.
// CHECK-LABEL: func.func @wide(
// CHECK-SAME: %[[X:.*]]: tensor<1x4x8xbf16>
// CHECK: %[[W:.*]] = xf.read @router : tensor<6x8xf32>
// CHECK: %[[C:.*]] = xf.cast %[[X]] : (tensor<1x4x8xbf16>) -> tensor<1x4x8xf32>
// CHECK: xf.linear %[[C]], %[[W]] : (tensor<1x4x8xf32>, tensor<6x8xf32>) -> tensor<1x4x6xf32>
// CHECK: xf.add %[[X]], %[[X]] : (tensor<1x4x8xbf16>, tensor<1x4x8xbf16>)
xf.variable @router : tensor<6x8xf32> {kind = #xf.variable_kind<parameter>, role = #xf.parameter_role<router>}
func.func @wide(%x: tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x2xf32>) {
  %w = xf.read @router : tensor<6x8xf32>
  %l = xf.linear %x, %w : (tensor<1x4x8xf32>, tensor<6x8xf32>) -> tensor<1x4x6xf32>
  %v, %e = xf.router %l {scale = 1.0, scores = #xf.router_scores<softmax>, top_k = 2 : i64, wide} : (tensor<1x4x6xf32>) -> (tensor<1x4x2xf32>, tensor<1x4x2xi32>)
  %y = xf.add %x, %x : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  return %y, %v : tensor<1x4x8xf32>, tensor<1x4x2xf32>
}
