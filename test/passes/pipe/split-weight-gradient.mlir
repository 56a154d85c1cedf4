// RUN: hocket-opt %S/Inputs/step.mlir --xf-set-plan=plan=pp=2,schedule=zb-h1 --pipe-split-stages --pipe-split-weight-gradient | FileCheck %s
// RUN: hocket-opt %S/Inputs/step.mlir --xf-set-plan=plan=pp=2 --pipe-split-stages --pipe-split-weight-gradient | FileCheck %s --check-prefix=JOINED

// What the weight gradient alone needs goes with it: %x times %c.

// CHECK-LABEL: func.func private @layer_backward(
// CHECK-SAME: -> tensor<2x4x8xf32> {
// CHECK: xf.linear_input_gradient
// CHECK-NOT: xf.linear_weight_gradient
// CHECK-LABEL: func.func private @layer_backward_weight(
// CHECK-SAME: %[[X:.*]]: tensor<2x4x8xf32>, %[[C:.*]]: tensor<f32>, %[[D:.*]]: tensor<2x4x8xf32>) -> tensor<8x8xf32>
// CHECK: %[[M:.*]] = xf.multiply %[[X]], %[[C]]
// CHECK: xf.linear_weight_gradient %[[D]], %[[M]]

// The head's gradient is put off too; B keeps the gradient of the logits.

// CHECK-LABEL: func.func @backward_1(
// CHECK-SAME: -> (tensor<2x4x8xf32>, tensor<2x4x16xf32>, tensor<2x4x8xf32>)
// CHECK-NOT: xf.accumulate
// CHECK: return
// CHECK: pipe.fragment B @backward_1({{.*}}) -> (rank 0 tag 1, kept, kept) stage 1
// CHECK-LABEL: func.func @weight_1(
// CHECK-SAME: %[[L:.*]]: tensor<2x4x16xf32>, %[[X:[^:]*]]: tensor<2x4x8xf32>
// CHECK: xf.linear_weight_gradient %[[L]], %[[X]]
// CHECK: xf.accumulate %{{.*}}, @table.grad
// CHECK: call @layer_backward_weight
// CHECK: xf.accumulate %{{.*}}, @w1.grad
// CHECK: pipe.fragment W @weight_1(B result 1, F result 2, F result 1, B result 2) stage 1 chunk 0 rank 1 cut

// A gradient that was received is passed on.

// CHECK-LABEL: func.func @backward_0(
// CHECK-SAME: %[[D:[^:]*]]: tensor<2x4x8xf32>)
// CHECK: %[[G:.*]] = call @layer_backward(
// CHECK: return %[[D]], %[[G]]
// CHECK-LABEL: func.func @weight_0(
// CHECK: xf.embedding_gradient
// CHECK: pipe.fragment W @weight_0(F result 2, B result 0, F result 1, B result 1) stage 0 chunk 0 cut

// JOINED-NOT: fragment W
// JOINED-NOT: layer_backward_weight
