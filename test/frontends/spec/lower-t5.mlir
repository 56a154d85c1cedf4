// T5: two stacks, dropout in all five places of both.
// RUN: hocket-translate --spec-to-xf %S/Inputs/t5.textproto | FileCheck %s
// RUN: hocket-translate --spec-to-xf %S/Inputs/t5.textproto | hocket-opt | FileCheck %s

// CHECK: xf.variable @embedding.weight
// CHECK: xf.variable @relative_position.weight : tensor<4x2xf32>
// CHECK: xf.variable @encoder.relative_position.weight : tensor<4x2xf32>
// CHECK: xf.variable @encoder.layers.1.mlp.gate.weight : tensor<6x8xf32>
// CHECK: xf.variable @encoder.final_norm.weight
// CHECK: xf.variable @layers.0.cross_attention.q.weight : tensor<6x8xf32>
// CHECK-NOT: @layers.1

// CHECK: func.func private @layer(
// CHECK: xf.attention {{.*}} {causal, dropout = 1.000000e-01 : f64, scale = 1.000000e+00 : f64, stream = 2 : i32}
// CHECK: xf.dropout %{{.*}} {rate = 2.000000e-01 : f64, stream = 3 : i32}
// CHECK: xf.attention {{.*}} {dropout = 1.000000e-01 : f64, scale = 1.000000e+00 : f64, stream = 7 : i32}
// CHECK: xf.dropout %{{.*}} {rate = 2.000000e-01 : f64, stream = 8 : i32}
// CHECK: %[[G:.+]] = xf.gated
// CHECK: %[[D:.+]] = xf.dropout %[[G]], %{{.*}} {rate = 4.000000e-01 : f64, stream = 10 : i32}
// CHECK: xf.linear %[[D]]
// CHECK: xf.dropout %{{.*}} {rate = 2.000000e-01 : f64, stream = 4 : i32}

// CHECK: func.func private @encoder_layer(
// CHECK: xf.attention
// CHECK: xf.gated
// CHECK: xf.dropout %{{.*}} {rate = 4.000000e-01 : f64, stream = 10 : i32}

// The layers of the encoder have the random numbers behind those of the decoder.
// CHECK: func.func @forward
// CHECK: xf.dropout %{{.*}} {rate = 3.000000e-01 : f64, stream = 6 : i32}
// CHECK: arith.constant 1 : i32
// CHECK: call @encoder_layer
// CHECK: arith.constant 2 : i32
// CHECK: call @encoder_layer
// CHECK: %[[N:.+]] = xf.norm
// CHECK: %[[E:.+]] = xf.dropout %[[N]] {rate = 5.000000e-01 : f64, stream = 12 : i32}
// CHECK: xf.dropout %{{.*}} {rate = 3.000000e-01 : f64, stream = 1 : i32}
// CHECK: call @layer({{.*}}%[[E]],
// CHECK: %[[F:.+]] = xf.norm
// CHECK: %[[O:.+]] = xf.dropout %[[F]] {rate = 5.000000e-01 : f64, stream = 11 : i32}
// CHECK: xf.linear %[[O]]
