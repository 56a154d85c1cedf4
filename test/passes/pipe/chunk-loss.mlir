// RUN: hocket-opt %S/Inputs/step.mlir --xf-set-plan=plan=loss_chunks=3 --pipe-chunk-loss | FileCheck %s
// RUN: hocket-opt %S/Inputs/step.mlir --xf-set-plan=plan=loss_chunks=1 --pipe-chunk-loss | FileCheck %s --check-prefix=WHOLE
// RUN: hocket-opt %S/Inputs/step.mlir --xf-set-plan=plan=pp=2,schedule=zb-h1,loss_chunks=2 --pipe-split-stages --pipe-chunk-loss --pipe-split-weight-gradient | FileCheck %s --check-prefix=SPLIT
// RUN: sed -e 's/%y = xf.linear %x2,/%h = xf.multiply %x2, %c : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>\n  %y = xf.linear %h,/' \
// RUN:   -e 's/%dt = xf.linear_weight_gradient %dy, %x2/%h = xf.multiply %x2, %c {recomputed} : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>\n  %dt = xf.linear_weight_gradient %dy, %h/' \
// RUN:   %S/Inputs/step.mlir | hocket-opt --xf-set-plan=plan=pp=2,loss_chunks=2 --pipe-split-stages --pipe-chunk-loss | FileCheck %s --check-prefix=AGAIN
// RUN: sed 's/xf.accumulate %dt,/xf.write %dt,/' %S/Inputs/step.mlir | not hocket-opt --xf-set-plan=plan=loss_chunks=2 --pipe-chunk-loss 2>&1 | FileCheck %s --check-prefix=BAD

// Forward ends before the head, and keeps its input instead of logits.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) {
// CHECK-NOT: xf.linear
// CHECK-NOT: xf.output
// CHECK: return

// Backward has 2, 3 and 3 of 8 rows at a time, and one count of labels.

// CHECK-LABEL: func.func @backward(
// CHECK-SAME: %[[LABELS:arg1]]: tensor<2x4xi32>, {{.*}}, %[[X:arg4]]: tensor<2x4x8xf32>) {
// CHECK: %[[ONE:.*]] = xf.constant {value = 1.0
// CHECK: %[[W:.*]] = xf.read @table
// CHECK: %[[N:.*]] = xf.count_labels %[[LABELS]]
// CHECK: %[[X0:.*]] = pipe.slice_rows %[[X]] from 0 : tensor<2x4x8xf32> to tensor<2x8xf32>
// CHECK: %[[L0:.*]] = xf.linear %[[X0]], %[[W]] : {{.*}} -> tensor<2x16xf32>
// CHECK: %[[Y0:.*]] = pipe.slice_rows %[[LABELS]] from 0 : tensor<2x4xi32> to tensor<2xi32>
// CHECK: %[[LSE0:.*]], %[[PICKED0:.*]] = xf.cross_entropy_rows %[[L0]], %[[Y0]] {valid_vocab = 16
// CHECK: %[[S0:.*]] = xf.reshape %[[LSE0]] : (tensor<2x1xf32>) -> tensor<2xf32>
// CHECK: %[[LSES0:.*]] = pipe.insert_rows %[[S0]] at 0 : (tensor<2xf32>) -> tensor<2x4xf32>
// CHECK: %[[ALL0:.*]] = pipe.insert_rows %[[PICKED0]] at 0
// CHECK: %[[D0:.*]] = xf.cross_entropy_gradient %[[ONE]], %[[L0]], %[[Y0]], %[[S0]] count %[[N]]
// CHECK: %[[DW0:.*]] = xf.linear_weight_gradient %[[D0]], %[[X0]] {pipe.early}
// CHECK: xf.accumulate %[[DW0]], @table.grad
// CHECK: %[[DX0:.*]] = xf.linear_input_gradient %[[D0]], %[[W]]
// CHECK: %[[DXS0:.*]] = pipe.insert_rows %[[DX0]] at 0 : (tensor<2x8xf32>) -> tensor<2x4x8xf32>
// CHECK: pipe.slice_rows %[[X]] from 2 : tensor<2x4x8xf32> to tensor<3x8xf32>
// CHECK: pipe.insert_rows %{{.*}} at 2 into %[[LSES0]]
// CHECK: pipe.insert_rows %{{.*}} at 2 into %[[ALL0]]
// CHECK: xf.accumulate %{{.*}}, @table.grad
// CHECK: %[[DXS1:.*]] = pipe.insert_rows %{{.*}} at 2 into %[[DXS0]]
// CHECK: pipe.slice_rows %[[X]] from 5 : tensor<2x4x8xf32> to tensor<3x8xf32>
// CHECK: %[[LSES:.*]] = pipe.insert_rows %{{.*}} at 5 into
// CHECK: %[[ALL:.*]] = pipe.insert_rows %{{.*}} at 5 into
// CHECK: %[[DXS:.*]] = pipe.insert_rows %{{.*}} at 5 into %[[DXS1]]
// CHECK: %[[LOSS:.*]] = xf.mean_loss %[[LSES]], %[[ALL]], %[[LABELS]], %[[N]]
// CHECK: xf.output %[[LOSS]], "loss"
// CHECK: call @layer_backward({{.*}}, %[[DXS]])
// CHECK: pipe.fragment B @backward(F argument 0, F argument 1, F result 0, F result 1, F result 2)

// WHOLE-NOT: pipe.slice_rows

// Only the last stage has a head. The gradient of its weight stays in B, so that
// W does not need the logits.

// SPLIT-LABEL: func.func @forward_1(
// SPLIT-NOT: xf.cross_entropy
// SPLIT-LABEL: func.func @backward_1(
// SPLIT-COUNT-2: xf.linear_weight_gradient
// SPLIT: xf.output %{{.*}}, "loss"
// SPLIT-LABEL: func.func @weight_1(
// SPLIT-NOT: 16xf32
// SPLIT: call @layer_backward_weight

// What backward computes again for the gradient of the head's weight is what the
// head takes as well: it is not kept beside it, nor computed in forward any more.
// So the gradient of a chunk's weight waits for nothing but its logits.

// AGAIN-LABEL: func.func @forward_1(
// AGAIN-SAME: -> (tensor<2x4xi32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) {
// AGAIN-NOT: xf.multiply
// AGAIN: return
// AGAIN-LABEL: func.func @backward_1(
// AGAIN-SAME: %[[X:arg2]]: tensor<2x4x8xf32>)
// AGAIN: %[[H:.*]] = xf.multiply %[[X]], %{{.*}} : (tensor<2x4x8xf32>, tensor<f32>)
// AGAIN: %[[H0:.*]] = pipe.slice_rows %[[H]] from 0
// AGAIN: xf.linear %[[H0]],
// AGAIN: xf.linear_weight_gradient %{{.*}}, %[[H0]] {pipe.early}
// AGAIN: %[[H1:.*]] = pipe.slice_rows %[[H]] from 4
// AGAIN: xf.linear %[[H1]],
// AGAIN: xf.linear_weight_gradient %{{.*}}, %[[H1]] {pipe.early}
// AGAIN-NOT: xf.multiply
// AGAIN: pipe.fragment

// BAD: error: 'xf.linear_weight_gradient' op P16: is a sum over rows that is not accumulated as it is; leave plan.loss_chunks out
