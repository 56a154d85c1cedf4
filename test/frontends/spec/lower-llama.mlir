// A Llama-like spec: grouped queries, rotary positions, norms of query and key
// heads, a window, an untied head, and no biases.
// RUN: hocket-translate --spec-to-xf %S/Inputs/llama.textproto | FileCheck %s
// RUN: hocket-translate --spec-to-xf %S/Inputs/llama.textproto | hocket-opt | FileCheck %s

// CHECK: xf.training
// CHECK-NOT: loss_scale
// CHECK-SAME: optimizer = #xf.sgd<momentum = 9.000000e-01 : f64, weight_decay = 0.000000e+00 : f64>
// CHECK-SAME: precision = #xf.precision<bf16>
// CHECK-SAME: memory_bytes = 1000000 : i64

// CHECK: xf.variable @embedding.weight : tensor<5x8xf32>{{.*}}role = #xf.parameter_role<embedding>}
// CHECK-NOT: position_embedding
// CHECK-NOT: bias
// CHECK: xf.variable @layers.1.attention_norm.weight : tensor<8xf32> {decay, init = #xf.init<ones>{{.*}}role = #xf.parameter_role<norm>}
// CHECK: xf.variable @layers.1.attention.q.weight : tensor<16x8xf32>{{.*}}role = #xf.parameter_role<query>}
// CHECK: xf.variable @layers.1.attention.k.weight : tensor<8x8xf32>{{.*}}role = #xf.parameter_role<key>}
// CHECK: xf.variable @layers.1.attention.v.weight : tensor<8x8xf32>{{.*}}role = #xf.parameter_role<value>}
// CHECK: xf.variable @layers.1.attention.q_norm.weight : tensor<4xf32>{{.*}}role = #xf.parameter_role<norm>}
// CHECK: xf.variable @layers.1.attention.o.weight : tensor<8x16xf32>{{.*}}role = #xf.parameter_role<attention_output>}
// CHECK: xf.variable @layers.1.mlp.gate.weight : tensor<12x8xf32>{{.*}}role = #xf.parameter_role<gate>}
// CHECK: xf.variable @layers.1.mlp.up.weight : tensor<12x8xf32>{{.*}}role = #xf.parameter_role<up>}
// CHECK: xf.variable @layers.1.mlp.down.weight : tensor<8x12xf32>{{.*}}role = #xf.parameter_role<down>}
// CHECK: xf.variable @head.weight : tensor<5x8xf32>{{.*}}role = #xf.parameter_role<head>}

// CHECK: func.func private @layer(%[[X:[a-z0-9]+]]: tensor<1x4x8xf32> {xf.stream}, %[[TABLE:[a-z0-9]+]]: tensor<4x2x2xf32>,
// CHECK: %[[N:.+]] = xf.norm %[[X]], %{{.*}} {epsilon = 9.9999999999999995E-7 : f64, kind = #xf.norm_kind<rms>}
// CHECK: %[[Q:.+]] = xf.linear %[[N]], %{{.*}} -> tensor<1x4x16xf32>
// CHECK: %[[QH:.+]] = xf.reshape %[[Q]] : (tensor<1x4x16xf32>) -> tensor<1x4x4x4xf32>
// CHECK: %[[QN:.+]] = xf.norm %[[QH]]
// CHECK: %[[QR:.+]] = xf.rope %[[QN]], %[[TABLE]]
// CHECK: %[[K:.+]] = xf.linear %[[N]], %{{.*}} -> tensor<1x4x8xf32>
// CHECK: %[[KH:.+]] = xf.reshape %[[K]] : (tensor<1x4x8xf32>) -> tensor<1x4x2x4xf32>
// CHECK: %[[KN:.+]] = xf.norm %[[KH]]
// CHECK: %[[KR:.+]] = xf.rope %[[KN]], %[[TABLE]]
// CHECK: %[[V:.+]] = xf.linear %[[N]]
// CHECK: %[[VH:.+]] = xf.reshape %[[V]]
// CHECK: xf.attention %[[QR]], %[[KR]], %[[VH]] {causal, scale = 5.000000e-01 : f64, window = 3 : i64}
// CHECK-NOT: xf.dropout
// CHECK: xf.gated {{.*}}#xf.activation_kind<silu>

// Position interpolation halves the frequencies.
// CHECK: func.func @forward
// CHECK: xf.rope_table {{.*}}array<f64: 5.000000e-01, 5.000000e-03>
// CHECK-COUNT-2: call @layer
// CHECK: %[[H:.+]] = xf.read @head.weight
// CHECK: xf.linear %{{.*}}, %[[H]] : {{.*}} -> tensor<1x4x5xf32>
