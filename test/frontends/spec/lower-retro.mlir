// Retro: the first layer that attends to neighbours has their encoder inside.
// RUN: hocket-translate --spec-to-xf %S/Inputs/retro.textproto | FileCheck %s
// RUN: hocket-translate --spec-to-xf %S/Inputs/retro.textproto | hocket-opt | FileCheck %s

// CHECK: xf.variable @layers.1.cross_attention.o.bias : tensor<8xf32>
// CHECK: xf.variable @layers.1.cross_attention.encoder.layers.0.cross_attention.o.bias
// CHECK-NOT: xf.variable @layers.1.cross_attention.encoder.layers.1.cross_attention
// CHECK: xf.variable @layers.1.cross_attention.encoder.layers.1.mlp.down.bias
// CHECK-NOT: xf.variable @layers.2.cross_attention.encoder

// Queries begin three rows behind the beginning of their sequence, and the rows
// before get nothing of the output's bias. Nothing rotates, and nothing is masked.
// CHECK: func.func private @retrieval_layer(%[[X:.*]]: tensor<1x12x8xf32> {xf.stream}, %[[I:.*]]: i32, %[[E:.*]]: tensor<1x30x8xf32> {xf.stream},
// CHECK: xf.attention {{.*}} {causal,
// CHECK: %[[Q:.*]] = xf.split_chunks {{.*}} {shift = 3 : i64} : (tensor<1x12x2x4xf32>) -> tensor<3x4x2x4xf32>
// CHECK: xf.linear %[[E]],
// CHECK: %[[K:.*]] = xf.split_chunks {{.*}} : (tensor<1x30x2x4xf32>) -> tensor<3x10x2x4xf32>
// CHECK: xf.attention %[[Q]], %[[K]], {{.*}} {dropout = 1.000000e-01 : f64, scale = 5.000000e-01 : f64, stream = 7 : i32}
// CHECK: %[[O:.*]] = xf.linear {{.*}} -> tensor<3x4x8xf32>
// CHECK: xf.join_chunks %[[O]] {shift = 3 : i64} : (tensor<3x4x8xf32>) -> tensor<1x12x8xf32>
// CHECK: return %{{[0-9]*}} : tensor<1x12x8xf32>

// The encoder draws the numbers of layers behind the decoder's. Each of six
// neighbours sees itself; all rows of a chunk's neighbours see the chunk, as the
// decoder's norm has it, and are added to what their own norm made.
// CHECK: func.func private @first_retrieval_layer(%{{.*}}, %[[I:.*]]: i32, %[[N:.*]]: tensor<1x30x8xf32> {xf.stream},
// CHECK: xf.norm {{.*}} : (tensor<1x12x8xf32>,
// CHECK: %[[NORMED:.*]] = xf.norm {{.*}} : (tensor<1x12x8xf32>,
// CHECK: %[[J:.*]] = arith.constant 3 : i32
// CHECK: xf.norm %[[N]],
// CHECK: xf.split_chunks {{.*}} -> tensor<6x5x2x4xf32>
// CHECK: xf.attention {{.*}}, %[[J]] {dropout = 4.000000e-01 : f64
// CHECK: xf.dropout {{.*}}, %[[J]] {rate = 3.000000e-01 : f64
// CHECK: %[[OWN:.*]] = xf.norm {{.*}} : (tensor<1x30x8xf32>,
// CHECK: xf.linear %[[OWN]],
// CHECK: xf.split_chunks {{.*}} -> tensor<3x10x2x4xf32>
// CHECK: xf.linear %[[NORMED]],
// CHECK: xf.split_chunks {{.*}} -> tensor<3x4x2x4xf32>
// CHECK: xf.attention {{.*}}, %[[J]] {dropout = 1.000000e-01 : f64
// CHECK: %[[D:.*]] = xf.dropout
// CHECK: xf.add %[[OWN]], %[[D]]
// CHECK: %[[L:.*]] = arith.constant 4 : i32
// CHECK: xf.attention {{.*}}, %[[L]] {dropout = 4.000000e-01 : f64
// CHECK: xf.linear %[[NORMED]],
// CHECK: xf.attention {{.*}}, %[[I]] {dropout = 1.000000e-01 : f64, scale = 5.000000e-01 : f64, stream = 7 : i32}
// CHECK: return %{{[0-9]*}}, %{{[0-9]*}} : tensor<1x12x8xf32>, tensor<1x30x8xf32>

// Positions begin anew with each neighbour.
// CHECK: func.func @forward(
// CHECK-SAME: %[[TOKENS:[a-z0-9]+]]: tensor<1x30xi32> {xf.host = #xf.host_input<neighbors>}
// CHECK: %[[TEXTS:.*]] = xf.embedding %[[TOKENS]],
// CHECK: %[[EACH:.*]] = xf.prefix {{.*}} -> tensor<5x8xf32>
// CHECK: %[[ALL:.*]] = xf.add %{{.*}}, %[[EACH]] : {{.*}} -> tensor<6x5x8xf32>
// CHECK: %[[ROWS:.*]] = xf.reshape %[[ALL]] : (tensor<6x5x8xf32>) -> tensor<30x8xf32>
// CHECK: %[[NEIGHBORS:.*]] = xf.add %[[TEXTS]], %[[ROWS]]
// CHECK: call @layer(
// CHECK: %[[BOTH:.*]]:2 = call @first_retrieval_layer(%{{.*}}, %{{.*}}, %[[NEIGHBORS]],
// CHECK: call @retrieval_layer(%[[BOTH]]#0, %{{.*}}, %[[BOTH]]#1,
