// Adapters beside a target, in the function that trains and in the one that writes;
// what drops is the one that trains alone.
// RUN: hocket-opt %s --xf-low-rank --split-input-file | FileCheck %s

// CHECK: xf.variable @layers.0.attention.q.weight : tensor<8x4xf32> {decay, frozen,
// CHECK: xf.variable @layers.0.attention.q.lora_B.weight : tensor<8x2xf32> {decay, init = #xf.init<zeros>, kind = #xf.variable_kind<parameter>, random_key = 6 : i32, role = #xf.parameter_role<query>}
// CHECK: xf.variable @layers.0.attention.q.lora_A.weight : tensor<2x4xf32> {decay, init = #xf.init<uniform, 5.000000e-01 : f64>, kind = #xf.variable_kind<parameter>, random_key = 5 : i32, role = #xf.parameter_role<low_rank>}
// CHECK: xf.variable @layers.0.attention.o.weight : tensor<4x8xf32> {frozen,
// CHECK: xf.variable @layers.0.attention.o.lora_B.weight : tensor<4x2xf32> {{.*}}role = #xf.parameter_role<low_rank>
// CHECK: xf.variable @layers.0.attention.o.lora_A.weight : tensor<2x8xf32> {{.*}}role = #xf.parameter_role<attention_output>
// CHECK-NOT: xf.low_rank
xf.low_rank {alpha = 3.0, dropout = 0.1, rank = 2 : i64, targets = [#xf.parameter_role<query>, #xf.parameter_role<attention_output>]}
xf.variable @layers.0.attention.q.weight : tensor<8x4xf32> {decay, kind = #xf.variable_kind<parameter>, random_key = 4 : i32, role = #xf.parameter_role<query>}
xf.variable @layers.0.attention.o.weight : tensor<4x8xf32> {kind = #xf.variable_kind<parameter>, random_key = 1 : i32, role = #xf.parameter_role<attention_output>}

// CHECK-LABEL: func.func private @layer(
// CHECK-SAME: %[[X:.*]]: tensor<1x3x4xf32> {xf.stream}, %[[W:.*]]: tensor<8x4xf32>, %[[V:.*]]: tensor<4x8xf32>, %[[I:.*]]: i32, %[[A:.*]]: tensor<2x4xf32>, %[[B:.*]]: tensor<8x2xf32>,
// CHECK: %[[Y:.*]] = xf.linear %[[X]], %[[W]]
// CHECK: %[[D:.*]] = xf.dropout %[[X]], %[[I]] {rate = 1.000000e-01 : f64, stream = 64 : i32}
// CHECK: %[[U:.*]] = xf.linear %[[D]], %[[A]]
// CHECK: %[[C:.*]] = xf.constant {value = 1.500000e+00 : f64}
// CHECK: %[[S:.*]] = xf.multiply %[[U]], %[[C]]
// CHECK: %[[M:.*]] = xf.linear %[[S]], %[[B]]
// CHECK: %[[Z:.*]] = xf.add %[[Y]], %[[M]]
// CHECK: xf.linear %[[Z]], %[[V]]
// CHECK: xf.dropout %[[Z]], %[[I]] {rate = 1.000000e-01 : f64, stream = 65 : i32}
func.func private @layer(%x: tensor<1x3x4xf32> {xf.stream}, %w: tensor<8x4xf32>, %v: tensor<4x8xf32>) -> tensor<1x3x4xf32> {
  %y = xf.linear %x, %w : (tensor<1x3x4xf32>, tensor<8x4xf32>) -> tensor<1x3x8xf32>
  %z = xf.linear %y, %v : (tensor<1x3x8xf32>, tensor<4x8xf32>) -> tensor<1x3x4xf32>
  return %z : tensor<1x3x4xf32>
}

// CHECK-LABEL: func.func private @writing_layer(
// CHECK-NOT: xf.dropout
// CHECK: xf.add
func.func private @writing_layer(%x: tensor<1x3x4xf32>, %w: tensor<8x4xf32>) -> tensor<1x3x8xf32> {
  %y = xf.linear %x, %w : (tensor<1x3x4xf32>, tensor<8x4xf32>) -> tensor<1x3x8xf32>
  return %y : tensor<1x3x8xf32>
}

// CHECK-LABEL: func.func @forward(
// CHECK: %[[N:.*]] = arith.constant 0 : i32
// CHECK: %[[A:.*]] = xf.read @layers.0.attention.q.lora_A.weight
// CHECK: %[[B:.*]] = xf.read @layers.0.attention.q.lora_B.weight
// CHECK: call @layer(%{{.*}}, %{{.*}}, %{{.*}}, %[[N]], %[[A]], %[[B]],
func.func @forward(%x: tensor<1x3x4xf32>) -> tensor<1x3x4xf32> {
  %w = xf.read @layers.0.attention.q.weight : tensor<8x4xf32>
  %v = xf.read @layers.0.attention.o.weight : tensor<4x8xf32>
  %y = call @layer(%x, %w, %v) : (tensor<1x3x4xf32>, tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<1x3x4xf32>
  return %y : tensor<1x3x4xf32>
}

// CHECK-LABEL: func.func @prefill(
// CHECK: xf.read @layers.0.attention.q.lora_A.weight
// CHECK: call @writing_layer(
func.func @prefill(%x: tensor<1x3x4xf32>) -> tensor<1x3x8xf32> {
  %w = xf.read @layers.0.attention.q.weight : tensor<8x4xf32>
  %y = call @writing_layer(%x, %w) : (tensor<1x3x4xf32>, tensor<8x4xf32>) -> tensor<1x3x8xf32>
  return %y : tensor<1x3x8xf32>
}

// -----

// Beside the linear op of experts: a pair of matrices each, on the same rows.

// CHECK: xf.variable @layers.0.mlp.experts.up.lora_B.weight : tensor<4x8x2xf32> {{.*}}init = #xf.init<zeros>{{.*}}role = #xf.parameter_role<expert_up>
// CHECK: xf.variable @layers.0.mlp.experts.up.lora_A.weight : tensor<4x2x16xf32> {{.*}}init = #xf.init<uniform, 2.500000e-01 : f64>{{.*}}role = #xf.parameter_role<low_rank>
// CHECK: xf.variable @layers.0.mlp.experts.down.lora_B.weight : tensor<4x16x2xf32> {{.*}}role = #xf.parameter_role<low_rank>
// CHECK: xf.variable @layers.0.mlp.experts.down.lora_A.weight : tensor<4x2x8xf32> {{.*}}role = #xf.parameter_role<expert_down>
xf.low_rank {alpha = 4.0, dropout = 0.0, rank = 2 : i64, targets = [#xf.parameter_role<expert_up>, #xf.parameter_role<expert_down>]}
xf.variable @layers.0.mlp.experts.up.weight : tensor<4x8x16xf32> {kind = #xf.variable_kind<parameter>, random_key = 0 : i32, role = #xf.parameter_role<expert_up>}
xf.variable @layers.0.mlp.experts.down.weight : tensor<4x16x8xf32> {kind = #xf.variable_kind<parameter>, random_key = 1 : i32, role = #xf.parameter_role<expert_down>}

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:.*]]: tensor<1x12x16xf32>, %[[R:.*]]: tensor<1x4x2xi32>
// CHECK: %[[Y:.*]] = xf.grouped_linear %[[X]], %{{.*}}, %[[R]]
// CHECK: %[[U:.*]] = xf.grouped_linear %[[X]], %{{.*}}, %[[R]] : (tensor<1x12x16xf32>, tensor<4x2x16xf32>, tensor<1x4x2xi32>) -> tensor<1x12x2xf32>
// CHECK: %[[S:.*]] = xf.multiply %[[U]]
// CHECK: %[[M:.*]] = xf.grouped_linear %[[S]], %{{.*}}, %[[R]] : (tensor<1x12x2xf32>, tensor<4x8x2xf32>, tensor<1x4x2xi32>) -> tensor<1x12x8xf32>
// CHECK: %[[Z:.*]] = xf.add %[[Y]], %[[M]]
// CHECK: xf.grouped_linear %[[Z]], %{{.*}}, %[[R]] : (tensor<1x12x8xf32>, tensor<4x16x8xf32>
func.func @forward(%x: tensor<1x12x16xf32>, %ranges: tensor<1x4x2xi32>) -> tensor<1x12x16xf32> {
  %w = xf.read @layers.0.mlp.experts.up.weight : tensor<4x8x16xf32>
  %v = xf.read @layers.0.mlp.experts.down.weight : tensor<4x16x8xf32>
  %y = xf.grouped_linear %x, %w, %ranges : (tensor<1x12x16xf32>, tensor<4x8x16xf32>, tensor<1x4x2xi32>) -> tensor<1x12x8xf32>
  %z = xf.grouped_linear %y, %v, %ranges : (tensor<1x12x8xf32>, tensor<4x16x8xf32>, tensor<1x4x2xi32>) -> tensor<1x12x16xf32>
  return %z : tensor<1x12x16xf32>
}
