// RUN: hocket-opt %S/Inputs/step.mlir --xf-set-plan=plan=pp=2 --pipe-split-stages | FileCheck %s
// RUN: hocket-opt %S/Inputs/step.mlir --xf-set-plan=plan=pp=3,layers=0/2/0 --pipe-split-stages | FileCheck %s --check-prefix=UNEVEN
// RUN: hocket-opt %S/Inputs/step.mlir --xf-set-plan=plan=pp=2,balance_cost=1 --pipe-split-stages | FileCheck %s --check-prefix=COST
// RUN: hocket-opt %S/Inputs/step.mlir --xf-set-plan=plan=pp=1 --pipe-split-stages | FileCheck %s --check-prefix=WHOLE
// RUN: not hocket-opt %S/Inputs/step.mlir --xf-set-plan=plan=pp=3 --pipe-split-stages 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: not hocket-opt %S/Inputs/step.mlir --xf-set-plan=plan=pp=2,layers=1/2 --pipe-split-stages 2>&1 | FileCheck %s --check-prefix=LIST
// RUN: not hocket-opt %S/Inputs/step.mlir --xf-set-plan=plan=pp=0 --pipe-split-stages 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: sed -e '1a xf.variable @sum : tensor<2x4x8xf32> {init = #xf.init<zeros>, kind = #xf.variable_kind<state>}' -e 's/^ *%y = xf.linear %x2/  xf.accumulate %x2, @sum : tensor<2x4x8xf32>\n&/' %S/Inputs/step.mlir | hocket-opt --xf-set-plan=plan=pp=2,layers=2/0 --pipe-split-stages | FileCheck %s --check-prefix=SUM
// RUN: sed -e 's/xf.write %b1, @w1/xf.write %a1, @w1/' %S/Inputs/step.mlir | not hocket-opt --xf-set-plan=plan=pp=2 --pipe-split-stages 2>&1 | FileCheck %s --check-prefix=FOREIGN
// RUN: sed -e '/@evaluate(/,$ {/%x2 = call/d; s/%x2/%x1/}' %S/Inputs/step.mlir | not hocket-opt --xf-set-plan=plan=pp=2 --pipe-split-stages 2>&1 | FileCheck %s --check-prefix=SHORT

// Each rank updates what its stages use. The table is on both: its gradient is
// summed, and counts once, on rank 0, in the norm of all ranks.

// CHECK-LABEL: func.func @update_0()
// CHECK: %[[T:.*]] = xf.read @table.grad
// CHECK: %[[S:.*]] = pipe.all_reduce %[[T]] ranks [0, 1] : tensor<16x8xf32>
// CHECK: %[[G:.*]] = xf.read @w0.grad
// CHECK: %[[N:.*]], %{{.*}} = xf.global_norm %[[S]], %[[G]] :
// CHECK: %[[V:.*]] = xf.reshape %[[N]] : (tensor<f32>) -> tensor<1xf32>
// CHECK: %[[A:.*]] = pipe.all_gather %[[V]] ranks [0, 1] : tensor<1xf32> to tensor<2xf32>
// CHECK: %[[M:.*]], %{{.*}} = xf.global_norm %[[A]]
// CHECK: xf.gradient_scale %[[M]]
// CHECK: xf.write %{{.*}}, @table
// CHECK: xf.write %{{.*}}, @w0
// CHECK-NOT: @w1
// CHECK: pipe.fragment U @update_0 stage 0 chunk 0 cut

// CHECK-LABEL: func.func @update_1()
// CHECK: %[[T:.*]] = xf.read @table.grad
// CHECK: %[[S:.*]] = pipe.all_reduce %[[T]] ranks [0, 1]
// CHECK: %[[G:.*]] = xf.read @w1.grad
// CHECK: xf.global_norm %[[G]] :
// CHECK-NOT: @w0
// CHECK: pipe.fragment U @update_1 stage 1 chunk 0 rank 1 cut

// The constant is in both stages; the first keeps what its backward takes.

// CHECK-LABEL: func.func @forward_0(
// CHECK-SAME: %[[TOKENS:.*]]: tensor<2x4xi32>) -> (tensor<2x4x8xf32>, tensor<2x4xi32>, tensor<2x4x8xf32>)
// CHECK: %[[X:.*]] = xf.embedding %[[TOKENS]]
// CHECK: %[[C:.*]] = xf.constant
// CHECK: %[[Y:.*]] = call @layer(%[[X]], %[[C]]
// CHECK: return %[[Y]], %[[TOKENS]], %[[X]]
// CHECK: pipe.fragment F @forward_0(host "tokens") -> (rank 1 tag 0, kept, kept) stage 0 chunk 0 cut

// CHECK-LABEL: func.func @forward_1(
// CHECK-SAME: %[[LABELS:.*]]: tensor<2x4xi32>, %[[X:[^:]*]]: tensor<2x4x8xf32>)
// CHECK: %[[C:.*]] = xf.constant
// CHECK: call @layer(%[[X]], %[[C]]
// CHECK: xf.output %{{.*}}, "loss"
// CHECK: pipe.fragment F @forward_1(host "labels", rank 0 tag 0) -> (kept, kept, kept, kept, kept) stage 1 chunk 0 rank 1 cut

// CHECK-LABEL: func.func @backward_1(
// CHECK-SAME: -> tensor<2x4x8xf32>
// CHECK: xf.accumulate %{{.*}}, @table.grad
// CHECK: xf.accumulate %{{.*}}, @w1.grad
// CHECK: pipe.fragment B @backward_1(F result 0, F result 1, F result 2, F result 3, F result 4) -> (rank 0 tag 1) stage 1 chunk 0 rank 1 cut

// CHECK-LABEL: func.func @backward_0(
// CHECK-SAME: %[[TOKENS:.*]]: tensor<2x4xi32>
// CHECK-SAME: %[[D:[^:]*]]: tensor<2x4x8xf32>)
// CHECK: %[[G:.*]]:2 = call @layer_backward({{.*}}, %[[D]])
// CHECK: xf.embedding_gradient %[[TOKENS]], %[[G]]#0
// CHECK: pipe.fragment B @backward_0(F result 1, F result 2, rank 1 tag 1) stage 0 chunk 0 cut

// CHECK: pipe.fragment E @evaluate_0(host "tokens") -> (rank 1 tag 2) stage 0 chunk 0 cut
// CHECK: pipe.fragment E @evaluate_1(host "labels", rank 0 tag 2) stage 1 chunk 0 rank 1 cut
// CHECK-NOT: pipe.schedule

// Stages that are the embedding or the head alone. The gradient of the table
// is made where the table is.

// UNEVEN-LABEL: func.func @forward_0(
// UNEVEN: xf.embedding
// UNEVEN-NOT: call
// UNEVEN-LABEL: func.func @forward_1(
// UNEVEN-COUNT-2: call @layer(
// UNEVEN-NOT: call
// UNEVEN-LABEL: func.func @forward_2(
// UNEVEN-NOT: call
// UNEVEN: xf.cross_entropy
// UNEVEN-LABEL: func.func @backward_2(
// UNEVEN: xf.accumulate %{{.*}}, @table.grad
// UNEVEN-LABEL: func.func @backward_1(
// UNEVEN-NOT: @table.grad
// UNEVEN-LABEL: func.func @backward_0(
// UNEVEN: xf.accumulate %{{.*}}, @table.grad

// WHOLE: func.func @forward(
// WHOLE: pipe.fragment F @forward(host "tokens", host "labels") -> (kept, kept, kept, kept, kept, kept) stage 0 chunk 0{{$}}
// WHOLE: pipe.schedule

// FEW: P7: 2 layers are too few for 3 stages
// LIST: P7: layers_per_stage shares out 3 layers over 2 stages; the model has 2 and the plan 2
// NONE: S4: plan.pipeline_parallel is 0; write at least 1

// Balanced by work, the head counts: here it is two layers' worth.

// COST-LABEL: func.func @forward_0(
// COST-COUNT-1: call @layer(
// COST-LABEL: func.func @forward_1(

// What the last layer has made and is only stored stays with the layer, though
// a later stage has the head.

// SUM-LABEL: func.func @forward_0(
// SUM-COUNT-2: call @layer(
// SUM: xf.accumulate %{{.*}}, @sum
// SUM-LABEL: func.func @forward_1(
// SUM-NOT: @sum
// SUM: xf.cross_entropy

// FOREIGN: P5: pipeline rank 1 needs @w0{{.*}} for its update, which only the stages of rank 0 use

// Validation that skips a layer is not this model's.

// SHORT: error: {{.*}}P6: calls 1 layers where 2 are expected
