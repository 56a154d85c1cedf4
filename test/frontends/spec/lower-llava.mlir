// LLaVA: a tower of which the last layer is never computed, and a decoder.
// RUN: hocket-translate --spec-to-xf %S/Inputs/llava.textproto | FileCheck %s
// RUN: hocket-translate --spec-to-xf %S/Inputs/llava.textproto | hocket-opt | FileCheck %s

// CHECK: xf.variable @vision.patch_embedding.weight : tensor<6x12xf32>
// CHECK-SAME: frozen
// CHECK: xf.variable @vision.class_embedding.weight : tensor<6xf32>
// CHECK: xf.variable @vision.position_embedding.weight : tensor<5x6xf32>
// CHECK: xf.variable @vision.layers.2.mlp.down.weight : tensor<6x10xf32>
// CHECK: xf.variable @vision.post_norm.weight
// CHECK: xf.variable @projector.up.weight : tensor<8x6xf32>
// CHECK-NOT: frozen
// CHECK: xf.variable @projector.down.bias

// Each image is a sequence, which no dropout is in.
// CHECK: func.func private @vision_layer(%{{.*}}: tensor<2x5x6xf32> {xf.stream = "sequences"}
// CHECK: xf.norm {{.*}} {epsilon = 9.9999999999999995E-7 : f64, kind = #xf.norm_kind<layer>}
// CHECK: xf.attention {{.*}} {scale = 0.57735026918962584 : f64}
// CHECK: xf.activation {{.*}} {kind = #xf.activation_kind<quick_gelu>}
// CHECK: func.func private @layer(%{{.*}}: tensor<1x12x8xf32> {xf.stream}
// CHECK: xf.attention {{.*}} {causal, dropout = 1.000000e-01 : f64

// CHECK: func.func @forward(
// CHECK-SAME: %[[PIXELS:[a-z0-9]+]]: tensor<1x120xf32> {xf.host = #xf.host_input<pixels>}
// CHECK-SAME: %[[ROWS:[a-z0-9]+]]: tensor<1x12xi32> {xf.host = #xf.host_input<image_rows>}
// CHECK: xf.reshape %[[PIXELS]] : (tensor<1x120xf32>) -> tensor<1x2x5x12xf32>
// CHECK: xf.linear
// CHECK: xf.pad_rows {{.*}} -> tensor<5x6xf32>
// CHECK: call @vision_layer
// CHECK: call @vision_layer
// CHECK-NOT: call @vision_layer
// CHECK: xf.activation {{.*}} {kind = #xf.activation_kind<relu>}
// CHECK: %[[SEEN:.+]] = xf.linear {{.*}} -> tensor<2x5x8xf32>
// CHECK: %[[X:.+]] = xf.embedding
// CHECK: %[[Y:.+]] = xf.place_rows %[[X]], %[[ROWS]], %[[SEEN]]
// CHECK: xf.add %[[Y]],
// CHECK: call @layer
