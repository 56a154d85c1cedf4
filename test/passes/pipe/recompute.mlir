// RUN: sed 's/BYTES/8000/' %S/Inputs/layers.mlir | hocket-opt --xf-set-plan=plan=pp=2,recompute=auto --xf-build-evaluate --xf-autodiff --xf-build-step --convert-xf-to-dist --convert-dist-to-pipe --pipe-split-stages --pipe-recompute=fixed=0,0 | FileCheck %s
// RUN: sed 's/BYTES/8000/' %S/Inputs/layers.mlir | hocket-opt --xf-set-plan=plan=pp=2,recompute=auto --xf-build-evaluate --xf-autodiff --xf-build-step --convert-xf-to-dist --convert-dist-to-pipe --pipe-split-stages --pipe-recompute | FileCheck %s --check-prefix=ALL
// RUN: sed 's/BYTES/1000/' %S/Inputs/layers.mlir | hocket-opt --xf-set-plan=plan=pp=2,recompute=auto --xf-build-evaluate --xf-autodiff --xf-build-step --convert-xf-to-dist --convert-dist-to-pipe --pipe-split-stages '--pipe-recompute=fixed=0,0 least=0,0' | FileCheck %s --check-prefix=TIGHT
// RUN: sed 's/BYTES/1/' %S/Inputs/layers.mlir | hocket-opt --xf-set-plan=plan=pp=2,recompute_block=1,recompute=full --xf-build-evaluate --xf-autodiff --xf-build-step --convert-xf-to-dist --convert-dist-to-pipe --pipe-split-stages --pipe-recompute | FileCheck %s --check-prefix=BLOCK
// RUN: sed 's/BYTES/1/' %S/Inputs/layers.mlir | hocket-opt --xf-set-plan=plan=recompute_layers=2,recompute=full --xf-build-evaluate --xf-autodiff --xf-build-step --convert-xf-to-dist --convert-dist-to-pipe --pipe-split-stages --pipe-recompute | FileCheck %s --check-prefix=UNIFORM
// RUN: sed 's/BYTES/1/' %S/Inputs/layers.mlir | hocket-opt --xf-set-plan=plan=recompute=none --xf-build-evaluate --xf-autodiff --xf-build-step --convert-xf-to-dist --convert-dist-to-pipe --pipe-split-stages --pipe-recompute | FileCheck %s --check-prefix=OFF

// A layer's input has 256 bytes, its residuals 1024 each. The first rank has
// two microbatches in flight: 9216 bytes for two layers. Under 8000 it gives up
// what is cheap, the activations, and takes back one at a time. The second
// rank has one in flight, and keeps all.

// CHECK: func.func private @layer_forward(
// CHECK: func.func private @layer_forward_lean(%{{.*}}) -> (tensor<2x4x8xf32>, tensor<2x4x32xf32>)
// CHECK: %[[H:.*]] = xf.linear
// CHECK: return %{{.*}}, %[[H]] :
// CHECK: func.func private @layer_backward(
// CHECK: func.func private @layer_backward_joint(%{{.*}}: tensor<2x4x8xf32>, %{{.*}}: tensor<32x8xf32>, %{{.*}}: tensor<8x32xf32>, %[[H:.*]]: tensor<2x4x32xf32>, %[[DY:[^:]*]]: tensor<2x4x8xf32>)
// CHECK: %[[A:.*]] = xf.activation %[[H]] {kind = #xf.activation_kind<gelu>, recomputed}
// CHECK-NEXT: xf.linear_weight_gradient %[[DY]], %[[A]]
// CHECK: xf.activation_gradient %{{.*}}, %[[H]]

// CHECK-LABEL: func.func @forward_0(
// CHECK: %[[X1:.*]]:2 = call @layer_forward_lean(
// CHECK: %[[X2:.*]]:2 = call @layer_forward_lean(%[[X1]]#0
// CHECK: return %[[X2]]#0, %{{.*}}, %[[X1]]#0, %[[X2]]#1, %{{.*}}, %[[X1]]#1 :
// CHECK-LABEL: func.func @forward_1(
// CHECK-COUNT-2: call @layer_forward(
// CHECK-LABEL: func.func @backward_1(
// CHECK-COUNT-2: call @layer_backward(
// CHECK-LABEL: func.func @backward_0(
// CHECK-COUNT-2: call @layer_backward_joint(
// CHECK: pipe.fragment B @backward_0(
// CHECK-SAME: F result 5
// CHECK-NOT: F result 6
// CHECK-SAME: stage 0
// CHECK: step.recompute rank 0 {planned_bytes = 6144 : i64, recomputed = 2 : i64, residuals = 4 : i64, saved_bytes = 9216 : i64
// CHECK: step.recompute rank 1 {planned_bytes = 4608 : i64, recomputed = 0 : i64, residuals = 4 : i64, saved_bytes = 4608 : i64, seconds = 0.0

// What else the ranks need is not known: nothing is recomputed.

// ALL-NOT: _joint
// ALL: step.recompute rank 0 {{.*}}recomputed = 0 : i64, residuals = 4 : i64, saved_bytes = 9216 : i64

// Nothing fits: everything is recomputed. No choice could cost less than all.

// TIGHT: func.func private @layer_forward_lean(%{{.*}}) -> tensor<2x4x8xf32>
// TIGHT: step.recompute rank 0 {least_seconds = [[S:[0-9.e-]+]]
// TIGHT-SAME: recomputed = 4 : i64
// TIGHT-SAME: seconds = [[S]]

// The first layer of each stage recomputes, from its input; the second keeps.

// BLOCK: func.func private @layer_backward_joint(%[[X:.*]]: tensor<2x4x8xf32>, %[[U:.*]]: tensor<32x8xf32>, %{{.*}}: tensor<8x32xf32>, %[[DY:[^:]*]]: tensor<2x4x8xf32>)
// BLOCK: %[[H:.*]] = xf.linear %[[X]], %[[U]] {recomputed}
// BLOCK: xf.activation %[[H]] {{.*}}recomputed
// BLOCK-LABEL: func.func @forward_0(
// BLOCK: call @layer_forward_lean({{.*}}) -> tensor<2x4x8xf32>
// BLOCK: call @layer_forward(
// BLOCK-LABEL: func.func @backward_1(
// BLOCK: call @layer_backward(
// BLOCK: call @layer_backward_joint(
// BLOCK-LABEL: func.func @backward_0(

// Two layers together: their input is kept. The first runs again as a whole,
// the second within its backward.

// UNIFORM: func.func private @layer_forward_again(
// UNIFORM: xf.linear {{.*}}recomputed
// UNIFORM-LABEL: func.func @forward(
// UNIFORM-COUNT-4: call @layer_forward_lean({{.*}}) -> tensor<2x4x8xf32>
// UNIFORM-LABEL: func.func @backward(
// UNIFORM-SAME: %[[X2:[^:]*]]: tensor<2x4x8xf32>, %[[X0:[^:]*]]: tensor<2x4x8xf32>)
// UNIFORM: %[[A:.*]]:3 = call @layer_forward_again(%[[X2]],
// UNIFORM: %[[D3:.*]]:3 = call @layer_backward_joint(%[[A]]#0,
// UNIFORM: %[[D2:.*]]:3 = call @layer_backward(%[[X2]], %{{.*}}, %{{.*}}, %[[A]]#1, %[[A]]#2, %[[D3]]#0)
// UNIFORM: %[[B:.*]]:3 = call @layer_forward_again(%[[X0]],
// UNIFORM: call @layer_backward_joint(%[[B]]#0,
// UNIFORM: call @layer_backward(%[[X0]],

// OFF-NOT: step.recompute
// OFF-NOT: recomputed
