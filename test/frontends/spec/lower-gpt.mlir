// A GPT-2-like spec: biases, learned positions, a tied and padded embedding,
// and dropout in all three places.
// RUN: hocket-translate --spec-to-xf %S/Inputs/gpt.textproto | FileCheck %s
// RUN: hocket-translate --spec-to-xf %S/Inputs/gpt.textproto | hocket-opt | FileCheck %s

// CHECK: module @gpt
// CHECK: xf.training
// CHECK-SAME: clip_norm = 1.000000e+00
// CHECK-SAME: global_batch_size = 4
// CHECK-SAME: loss_scale = #xf.loss_scale<initial = 6.553600e+04
// CHECK-SAME: micro_batch_size = 1
// CHECK-SAME: optimizer = #xf.adamw
// CHECK-SAME: precision = #xf.precision<fp16>
// CHECK-SAME: schedule = "cosine"
// CHECK-SAME: vocab_size = 5
// CHECK-SAME: sequence_length = 4

// Padded rows are stored. Vectors do not decay.
// CHECK: xf.variable @embedding.weight : tensor<8x8xf32> {decay, init = #xf.init<normal, 5.000000e-01 : f64>{{.*}}role = #xf.parameter_role<embedding>}
// CHECK: xf.variable @position_embedding.weight : tensor<16x8xf32> {decay{{.*}}role = #xf.parameter_role<positions>}
// CHECK: xf.variable @layers.0.attention_norm.weight : tensor<8xf32> {init = #xf.init<ones>{{.*}}role = #xf.parameter_role<norm>}
// CHECK: xf.variable @layers.0.attention.q.bias : tensor<8xf32> {init = #xf.init<zeros>{{.*}}role = #xf.parameter_role<query>}
// 0.5 / sqrt(2 * 3)
// CHECK: xf.variable @layers.0.attention.o.weight : tensor<8x8xf32> {decay, init = #xf.init<normal, 0.204124{{[0-9]*}}{{.*}}role = #xf.parameter_role<attention_output>}
// CHECK: xf.variable @layers.2.mlp.down.bias{{.*}}role = #xf.parameter_role<down>}
// CHECK: xf.variable @final_norm.bias{{.*}}role = #xf.parameter_role<norm>}
// CHECK-NOT: @head.weight
// CHECK-NOT: @layers.3

// CHECK: func.func private @layer(%[[X:[a-z0-9]+]]: tensor<1x4x8xf32> {xf.stream}, %[[I:[a-z0-9]+]]: i32,
// CHECK: %[[N:.+]] = xf.norm %[[X]], {{.*}} {epsilon = 1.000000e-05 : f64, kind = #xf.norm_kind<layer>}
// CHECK-COUNT-3: xf.linear %[[N]]
// CHECK: xf.attention {{.*}}, %[[I]] {causal, dropout = 1.000000e-01 : f64, scale = 5.000000e-01 : f64, stream = 2 : i32}
// CHECK: %[[D1:.+]] = xf.dropout %{{.*}}, %[[I]] {rate = 2.000000e-01 : f64, stream = 3 : i32}
// CHECK: %[[R:.+]] = xf.add %[[X]], %[[D1]]
// CHECK: xf.norm %[[R]]
// CHECK: xf.activation {{.*}}#xf.activation_kind<gelu_tanh>
// CHECK: %[[D2:.+]] = xf.dropout %{{.*}}, %[[I]] {rate = 2.000000e-01 : f64, stream = 4 : i32}
// CHECK: %[[Y:.+]] = xf.add %[[R]], %[[D2]]
// CHECK: return %[[Y]]

// CHECK: func.func @forward(%[[T:[a-z0-9]+]]: tensor<1x4xi32> {xf.host = #xf.host_input<tokens>},
// CHECK-SAME: %[[L:[a-z0-9]+]]: tensor<1x4xi32> {xf.host = #xf.host_input<labels>}) -> tensor<f32>
// CHECK: %[[W:.+]] = xf.read @embedding.weight
// CHECK: %[[P:.+]] = xf.read @position_embedding.weight
// CHECK: %[[E:.+]] = xf.embedding %[[T]], %[[W]]
// CHECK: %[[AT:.+]] = xf.positions : () -> tensor<4xi32>
// CHECK: %[[PP:.+]] = xf.embedding %[[AT]], %[[P]] : (tensor<4xi32>, tensor<16x8xf32>) -> tensor<4x8xf32>
// CHECK: %[[S:.+]] = xf.add %[[E]], %[[PP]]
// CHECK: xf.dropout %[[S]] {rate = 3.000000e-01 : f64, stream = 1 : i32}
// CHECK: arith.constant 0 : i32
// CHECK: call @layer
// CHECK: arith.constant 1 : i32
// CHECK: call @layer
// CHECK: arith.constant 2 : i32
// CHECK: %[[O:.+]] = call @layer
// CHECK: %[[F:.+]] = xf.norm %[[O]]
// CHECK: %[[LOGITS:.+]] = xf.linear %[[F]], %[[W]] : {{.*}} -> tensor<1x4x8xf32>
// CHECK: %[[LOSS:.+]], %{{.*}} = xf.cross_entropy %[[LOGITS]], %[[L]] {valid_vocab = 5 : i64}
// CHECK: return %[[LOSS]]
