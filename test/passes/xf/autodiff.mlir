// RUN: hocket-opt %s --xf-autodiff | FileCheck %s
// RUN: hocket-opt %s --xf-set-plan=plan=recompute=selective --xf-autodiff | FileCheck %s --check-prefix=SELECTIVE
// RUN: hocket-opt %s --xf-set-plan=plan=recompute=selective,modules=mlp --xf-autodiff | FileCheck %s --check-prefix=MLP
// RUN: not hocket-opt %s --xf-set-plan=plan=recompute=selective,modules=mlps 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: hocket-opt %s --xf-set-plan=plan=recompute=full --xf-autodiff | FileCheck %s --check-prefix=FULL

// A layer that is called twice is differentiated once. Residuals are what the
// gradient reads; arguments and variables are not among them.

xf.training {global_batch_size = 2 : i64, micro_batch_size = 1 : i64, model_name = "tiny", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<fp32>, runtime = {}, sequence_length = 4 : i64}

// CHECK: xf.variable @w0 :
// CHECK-NEXT: xf.variable @w0.grad : tensor<8x8xf32> {kind = #xf.variable_kind<gradient>, of = @w0}
xf.variable @w0 : tensor<8x8xf32> {kind = #xf.variable_kind<parameter>}
xf.variable @w1 : tensor<8x8xf32> {kind = #xf.variable_kind<parameter>}
xf.variable @table : tensor<16x8xf32> {kind = #xf.variable_kind<parameter>}

// CHECK-LABEL: func.func private @layer_forward(
// CHECK-SAME: -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>) attributes {xf.backward = @layer_backward}
// CHECK: %[[H:.*]] = xf.linear
// CHECK: %[[A:.*]] = xf.activation %[[H]]
// CHECK: %[[Y:.*]] = xf.add
// CHECK: return %[[Y]], %[[H]]

// The activation's input is the only residual; %x and %w are arguments.
// CHECK-LABEL: func.func private @layer_backward(
// CHECK-SAME: %[[X:.*]]: tensor<1x4x8xf32>, %[[W:.*]]: tensor<8x8xf32>, %[[H:.*]]: tensor<1x4x8xf32>, %[[DY:.*]]: tensor<1x4x8xf32>) -> (tensor<1x4x8xf32>, tensor<8x8xf32>)
// CHECK: %[[DH:.*]] = xf.activation_gradient %[[DY]], %[[H]]
// CHECK: xf.linear_input_gradient %[[DH]], %[[W]]
// CHECK: xf.linear_weight_gradient %[[DH]], %[[X]]

// Nothing but a linear layer is kept: the same here.
// SELECTIVE-LABEL: func.func private @layer_forward(
// SELECTIVE-SAME: -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>)

// The GEMM before an activation is the MLP's, so that nothing is kept.
// MLP-LABEL: func.func private @layer_forward(
// MLP-SAME: -> tensor<1x4x8xf32> attributes {xf.backward = @layer_backward}
// MLP-LABEL: func.func private @layer_backward(
// MLP: %[[H:.*]] = xf.linear %{{.*}}, %{{.*}} {recomputed}
// MLP: xf.activation_gradient %{{.*}}, %[[H]]

// UNKNOWN: plan: modules=mlps is no module; write some of core_attn, layernorm, mlp,

// A layer keeps its inputs alone.
// FULL-LABEL: func.func private @layer_forward(
// FULL-SAME: -> tensor<1x4x8xf32> attributes {xf.backward = @layer_backward}
// FULL-LABEL: func.func private @layer_backward(
// FULL: %[[H:.*]] = xf.linear %{{.*}}, %{{.*}} {recomputed}
// FULL: xf.activation_gradient %{{.*}}, %[[H]]
func.func private @layer(%x: tensor<1x4x8xf32>, %w: tensor<8x8xf32>) -> tensor<1x4x8xf32> {
  %h = xf.linear %x, %w : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
  %a = xf.activation %h {kind = #xf.activation_kind<gelu>} : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %y = xf.add %x, %a : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  return %y : tensor<1x4x8xf32>
}

// CHECK-LABEL: func.func @forward(
// CHECK: %[[X0:.*]] = xf.embedding
// CHECK: %[[L0:.*]]:2 = call @layer_forward(%[[X0]]
// CHECK: %[[L1:.*]]:2 = call @layer_forward(%[[L0]]#0
// CHECK: %[[LOGITS:.*]] = xf.linear %[[L1]]#0
// The loss's gradient is known, so the logits' is taken where the loss is.
// CHECK: %[[ONE:.*]] = xf.constant {value = 1.0
// CHECK: %[[LOSS:.*]], %[[LSE:.*]] = xf.cross_entropy %[[LOGITS]], %[[Y:[a-z0-9]+]]
// CHECK: xf.output %[[LOSS]], "loss"
// CHECK: %[[DL:.*]] = xf.cross_entropy_gradient %[[ONE]], %[[LOGITS]], %[[Y]], %[[LSE]]
// CHECK: return %[[LOSS]], %[[DL]], %[[L1]]#0, %[[L0]]#0, %[[L1]]#1, %[[X0]], %[[L0]]#1

// A tied table is read twice and accumulated twice.
// CHECK-LABEL: func.func @backward(
// CHECK-SAME: %[[T:.*]]: tensor<1x4xi32>, %{{.*}}: tensor<1x4xi32>, %[[DL:.*]]: tensor<1x4x16xf32>
// CHECK-NOT: xf.cross_entropy_gradient
// CHECK: xf.linear_weight_gradient %[[DL]]
// CHECK: xf.accumulate %{{.*}}, @table.grad
// CHECK: %[[B1:.*]]:2 = call @layer_backward(
// CHECK: xf.accumulate %[[B1]]#1, @w1.grad
// CHECK: %[[B0:.*]]:2 = call @layer_backward({{.*}}, %[[B1]]#0)
// CHECK: xf.accumulate %[[B0]]#1, @w0.grad
// CHECK: %[[E:.*]] = xf.embedding_gradient %[[T]], %[[B0]]#0
// CHECK: xf.accumulate %[[E]], @table.grad
// CHECK-NOT: func.func private @layer(
func.func @forward(%tokens: tensor<1x4xi32>, %labels: tensor<1x4xi32>) -> tensor<f32> {
  %t = xf.read @table : tensor<16x8xf32>
  %w0 = xf.read @w0 : tensor<8x8xf32>
  %w1 = xf.read @w1 : tensor<8x8xf32>
  %x0 = xf.embedding %tokens, %t : (tensor<1x4xi32>, tensor<16x8xf32>) -> tensor<1x4x8xf32>
  %x1 = call @layer(%x0, %w0) : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
  %x2 = call @layer(%x1, %w1) : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
  %logits = xf.linear %x2, %t : (tensor<1x4x8xf32>, tensor<16x8xf32>) -> tensor<1x4x16xf32>
  %loss, %lse = xf.cross_entropy %logits, %labels {valid_vocab = 16 : i64} : (tensor<1x4x16xf32>, tensor<1x4xi32>) -> (tensor<f32>, tensor<1x4xf32>)
  return %loss : tensor<f32>
}
