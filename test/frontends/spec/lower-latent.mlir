// Multi-head latent attention: what rotates stands in front of a head.
// RUN: hocket-translate --spec-to-xf %S/Inputs/latent.textproto | FileCheck %s
// RUN: hocket-translate --spec-to-xf %S/Inputs/latent.textproto | hocket-opt | FileCheck %s

// CHECK: xf.variable @layers.0.attention.q_down.weight : tensor<6x8xf32> {{.*}}latent
// CHECK: xf.variable @layers.0.attention.q_norm.weight : tensor<6xf32>
// CHECK: xf.variable @layers.0.attention.q.weight : tensor<12x6xf32> {{.*}}query
// CHECK: xf.variable @layers.0.attention.kv_down.weight : tensor<5x8xf32> {{.*}}latent
// CHECK: xf.variable @layers.0.attention.kv_norm.weight : tensor<5xf32>
// CHECK: xf.variable @layers.0.attention.k_rope.weight : tensor<2x8xf32> {{.*}}latent
// CHECK: xf.variable @layers.0.attention.k.weight : tensor<8x5xf32> {{.*}}key
// CHECK: xf.variable @layers.0.attention.v.weight : tensor<6x5xf32> {{.*}}value
// CHECK: xf.variable @layers.0.attention.o.weight : tensor<8x6xf32>

// CHECK: func.func private @layer(%{{.*}}: tensor<1x4x8xf32> {xf.stream}, %[[T:.*]]: tensor<4x1x2xf32>,
// CHECK: %[[N:.*]] = xf.norm
// CHECK: xf.linear %[[N]], {{.*}} -> tensor<1x4x6xf32>
// CHECK: %[[QN:.*]] = xf.norm {{.*}} : (tensor<1x4x6xf32>, tensor<6xf32>) -> tensor<1x4x6xf32>
// CHECK: xf.linear %[[QN]], {{.*}} -> tensor<1x4x12xf32>
// CHECK: %[[Q:.*]] = xf.rope {{.*}}, %[[T]] : (tensor<1x4x2x6xf32>, tensor<4x1x2xf32>) -> tensor<1x4x2x6xf32>
// CHECK: xf.linear %[[N]], {{.*}} -> tensor<1x4x5xf32>
// CHECK: %[[KN:.*]] = xf.norm {{.*}} : (tensor<1x4x5xf32>, tensor<5xf32>) -> tensor<1x4x5xf32>
// CHECK: xf.linear %[[N]], {{.*}} -> tensor<1x4x2xf32>
// CHECK: %[[R:.*]] = xf.rope {{.*}}, %[[T]] : (tensor<1x4x1x2xf32>, tensor<4x1x2xf32>) -> tensor<1x4x1x2xf32>
// CHECK: xf.linear %[[KN]], {{.*}} -> tensor<1x4x8xf32>
// CHECK: %[[K:.*]] = xf.join_heads {{.*}}, %[[R]] : (tensor<1x4x2x4xf32>, tensor<1x4x1x2xf32>) -> tensor<1x4x2x6xf32>
// CHECK: xf.linear %[[KN]], {{.*}} -> tensor<1x4x6xf32>
// CHECK: %[[V:.*]] = xf.join_heads {{.*}} : (tensor<1x4x2x3xf32>) -> tensor<1x4x2x6xf32>
// CHECK: %[[O:.*]], %{{.*}} = xf.attention %[[Q]], %[[K]], %[[V]] {causal, scale = 0.408248
// CHECK: xf.part_heads %[[O]] : (tensor<1x4x2x6xf32>) -> tensor<1x4x2x3xf32>
