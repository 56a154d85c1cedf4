// Stages of an encoder and a decoder.
// RUN: hocket compile %S/Inputs/two-stacks.textproto --mesh pp=3 --compile-to=pipe -o - | FileCheck %s
// RUN: hocket compile %S/Inputs/two-stacks.textproto --mesh pp=2 --compile-to=pipe -o - --set plan.stage_split=COST --set training.encoder_sequence_length=128 --set training.sequence_length=32 | FileCheck %s --check-prefix=COST
// RUN: not hocket compile %S/Inputs/two-stacks.textproto --mesh pp=7 -o %t 2>&1 | FileCheck %s --check-prefix=FEW

// All stages look tokens up, or tell them by the same table; each stack's
// table of distances is that of the stages that have layers of it.

// CHECK-LABEL: func.func @update_0()
// CHECK: xf.read @embedding.weight.grad
// CHECK-NEXT: pipe.all_reduce %{{.*}} ranks [0, 1, 2]
// CHECK: xf.read @encoder.relative_position.weight.grad
// CHECK-NEXT: pipe.all_reduce %{{.*}} ranks [0, 1]
// CHECK-LABEL: func.func @update_2()
// CHECK: xf.read @relative_position.weight.grad
// CHECK-NEXT: pipe.all_reduce %{{.*}} ranks [1, 2]

// The encoder's embedding is in the first stage, the decoder's where its layers
// begin. Both streams go on to the last stage, which keeps what the encoder
// made for its backward.

// CHECK-LABEL: func.func @forward_0(
// CHECK-COUNT-2: call @encoder_layer_forward
// CHECK: pipe.fragment F @forward_0(host "encoder_tokens") -> (rank 1 tag 0, kept,

// CHECK-LABEL: func.func @forward_1(
// CHECK-SAME: %[[TOKENS:arg[0-9]*]]: tensor<1x16xi32>
// CHECK-SAME: -> (tensor<1x32x32xf32>, tensor<1x16x32xf32>,
// CHECK: call @encoder_layer_forward
// CHECK: %[[ENCODED:.*]] = xf.norm
// CHECK: %[[X:.*]] = xf.embedding %[[TOKENS]]
// CHECK: %[[Y:.*]]:15 = call @layer_forward(%[[X]], %{{.*}}, %[[ENCODED]],
// CHECK: return %[[ENCODED]], %[[Y]]#0,
// CHECK: pipe.fragment F @forward_1(host "tokens", rank 0 tag 0) -> (rank 2 tag 1, rank 2 tag 2,

// CHECK-LABEL: func.func @forward_2(
// CHECK-SAME: %[[ENCODED:arg[0-9]*]]: tensor<1x32x32xf32>
// CHECK-SAME: tensor<1x16x32xf32>
// CHECK-COUNT-2: call @layer_forward({{.*}}, %[[ENCODED]],
// CHECK: return {{.*}}%[[ENCODED]],
// CHECK: pipe.fragment F @forward_2(host "labels", host "label_count", rank 1 tag 1, rank 1 tag 2)

// Gradients by what the encoder made, and by distance, are summed on their way.

// CHECK-LABEL: func.func @backward_2(
// CHECK: %[[A:.*]]:16 = call @layer_backward
// CHECK: %[[B:.*]]:16 = call @layer_backward
// CHECK-DAG: %[[D:.*]] = xf.add %[[A]]#1, %[[B]]#1
// CHECK-DAG: %[[E:.*]] = xf.add %[[A]]#2, %[[B]]#2
// CHECK: return %[[B]]#0, %[[D]], %[[E]]
// CHECK: pipe.fragment B @backward_2

// CHECK-LABEL: func.func @backward_1(
// CHECK: %[[C:.*]]:16 = call @layer_backward
// CHECK: xf.add %{{.*}}, %[[C]]#1
// CHECK: xf.accumulate %{{.*}}, @relative_position.weight.grad
// CHECK: xf.accumulate %{{.*}}, @embedding.weight.grad
// CHECK: %[[S:.*]] = xf.add %{{.*}}, %[[C]]#2
// CHECK: %[[G:.*]], %{{.*}} = xf.norm_gradient %[[S]]
// CHECK: call @encoder_layer_backward({{.*}}, %[[G]])
// CHECK: pipe.fragment B @backward_1

// Of long inputs and short labels the encoder's layers cost more.

// COST-LABEL: func.func @forward_0(
// COST-COUNT-2: call @encoder_layer_forward
// COST-NOT: call
// COST-LABEL: func.func @forward_1(
// COST: call @encoder_layer_forward
// COST-COUNT-3: call @layer_forward

// FEW: S18: there are 7 stages (pipeline_parallel * virtual_stages) for 6 layers
