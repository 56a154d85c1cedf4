// RUN: hocket-opt %s --dist-propagate-shardings --dist-partition | FileCheck %s

// Two ranks along tp have different tokens of a sequence and different experts,
// which are whole. What each sends is a sum over both, and goes where the experts
// are; along ep the rest is exchanged. No row is computed twice, and no weight of
// an expert is split.

module {
dist.mesh @mesh ["ep", "tp"] sizes [2, 2] experts ["tp", "ep"]
xf.variable @table : tensor<32x8xf32> {dist.sharding = #dist.sharding<@mesh, [["tp"], []], partial = []>, kind = #xf.variable_kind<parameter>}
xf.variable @router : tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [[], []], partial = []>, kind = #xf.variable_kind<parameter>}
// CHECK: xf.variable @up : tensor<1x16x8xf32> {{.*}}whole = tensor<4x16x8xf32>
xf.variable @up : tensor<4x16x8xf32> {dist.sharding = #dist.sharding<@mesh, [["tp", "ep"], [], []], partial = []>, kind = #xf.variable_kind<parameter>}
// CHECK: xf.variable @up.grad : tensor<1x16x8xf32> {dist.sharding = #dist.sharding<@mesh, {{\[\[}}"tp", "ep"], [], []], partial = []>
xf.variable @up.grad : tensor<4x16x8xf32> {dist.sharding = #dist.sharding<@mesh, [["tp", "ep"], [], []], partial = []>, kind = #xf.variable_kind<gradient>, of = @up}
// What a layer takes is the stream, and so is all that is tied to it.
func.func private @layer(%x: tensor<2x6x8xf32> {dist.stream = #dist.sharding<@mesh, [["ep"], ["tp"], []], partial = []>}) -> tensor<2x6x8xf32> {
  return %x : tensor<2x6x8xf32>
}
// CHECK-LABEL: func.func @forward(
// CHECK-SAME: -> (tensor<f32>, tensor<1x2x4x8xf32>)
func.func @forward(%tokens: tensor<2x6xi32> {dist.sharding = #dist.sharding<@mesh, [["ep"], []], partial = []>}, %labels: tensor<2x6xi32> {dist.sharding = #dist.sharding<@mesh, [["ep"], []], partial = []>}) -> (tensor<f32>, tensor<4x2x4x8xf32>) {
  %table = xf.read @table : tensor<32x8xf32>
  %router = xf.read @router : tensor<4x8xf32>
  %up = xf.read @up : tensor<4x16x8xf32>
  %embedded = xf.embedding %tokens, %table : (tensor<2x6xi32>, tensor<32x8xf32>) -> tensor<2x6x8xf32>
  %x = call @layer(%embedded) : (tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  // CHECK: dist.reduce_scatter %{{.*}} dim 1 over ["tp"]
  // CHECK: %[[X:.*]] = call @layer
  // CHECK: xf.linear %[[X]], {{.*}} -> tensor<1x3x4xf32>
  %l = xf.linear %x, %router : (tensor<2x6x8xf32>, tensor<4x8xf32>) -> tensor<2x6x4xf32>
  %w, %e = xf.router %l {scale = 1.0, scores = #xf.router_scores<softmax>, top_k = 2 : i64} : (tensor<2x6x4xf32>) -> (tensor<2x6x2xf32>, tensor<2x6x2xi32>)
  // Rows are counted over whole sequences.
  // CHECK: %[[ALL:.*]] = dist.all_gather %{{.*}} dim 1 over ["tp"] {{.*}}: tensor<1x3x2xi32> to tensor<1x6x2xi32>
  // CHECK: %[[SLOTS:.*]] = xf.expert_order %[[ALL]]
  // CHECK: %[[S:.*]] = dist.slice %[[SLOTS]] dim 1 over ["tp"]
  %s = xf.expert_order %e {capacity = 4 : i64, experts = 4 : i64} : (tensor<2x6x2xi32>) -> tensor<2x6x2xi32>
  // CHECK-NEXT: %[[ROWS:.*]] = xf.dispatch %[[X]], %[[S]] {{.*}} -> tensor<4x1x4x8xf32>
  // CHECK-NEXT: %[[MINE:.*]] = dist.reduce_scatter %[[ROWS]] dim 0 over ["tp"] {{.*}}: tensor<4x1x4x8xf32> to tensor<2x1x4x8xf32>
  // CHECK-NEXT: %[[SENT:.*]] = dist.all_to_all %[[MINE]] split 0 concat 1 over ["ep"] {{.*}}: tensor<2x1x4x8xf32> to tensor<1x2x4x8xf32>
  // CHECK-NEXT: xf.grouped_linear %[[SENT]], {{.*}} -> tensor<1x2x4x16xf32>
  // CHECK-NEXT: xf.grouped_linear_input_gradient
  // CHECK-NEXT: %[[LEFT:.*]] = dist.all_to_all %{{.*}} split 1 concat 0 over ["ep"]
  // CHECK-NEXT: %[[BACK:.*]] = dist.all_gather %[[LEFT]] dim 0 over ["tp"] {{.*}}: tensor<2x1x4x8xf32> to tensor<4x1x4x8xf32>
  // CHECK-NEXT: xf.combine %[[BACK]], %[[S]], {{.*}} -> tensor<1x3x8xf32>
  %rows = xf.dispatch %x, %s : (tensor<2x6x8xf32>, tensor<2x6x2xi32>) -> tensor<4x2x4x8xf32>
  %h = xf.grouped_linear %rows, %up : (tensor<4x2x4x8xf32>, tensor<4x16x8xf32>) -> tensor<4x2x4x16xf32>
  %y = xf.grouped_linear_input_gradient %h, %up : (tensor<4x2x4x16xf32>, tensor<4x16x8xf32>) -> tensor<4x2x4x8xf32>
  %z = xf.combine %y, %s, %w : (tensor<4x2x4x8xf32>, tensor<2x6x2xi32>, tensor<2x6x2xf32>) -> tensor<2x6x8xf32>
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss, %rows : tensor<f32>, tensor<4x2x4x8xf32>
}
// CHECK-LABEL: func.func @backward(
func.func @backward(%tokens: tensor<2x6xi32>, %labels: tensor<2x6xi32>, %rows: tensor<4x2x4x8xf32>) {
  %up = xf.read @up : tensor<4x16x8xf32>
  %h = xf.grouped_linear %rows, %up : (tensor<4x2x4x8xf32>, tensor<4x16x8xf32>) -> tensor<4x2x4x16xf32>
  // CHECK-NOT: = dist.
  // CHECK: xf.grouped_linear_weight_gradient {{.*}} -> tensor<1x16x8xf32>
  // CHECK-NOT: = dist.
  // CHECK: xf.accumulate
  %g = xf.grouped_linear_weight_gradient %h, %rows : (tensor<4x2x4x16xf32>, tensor<4x2x4x8xf32>) -> tensor<4x16x8xf32>
  xf.accumulate %g, @up.grad : tensor<4x16x8xf32>
  return
}
func.func @update() {
  return
}
func.func @evaluate(%tokens: tensor<2x6xi32> {dist.sharding = #dist.sharding<@mesh, [["ep"], []], partial = []>}, %labels: tensor<2x6xi32> {dist.sharding = #dist.sharding<@mesh, [["ep"], []], partial = []>}) -> tensor<f32> {
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
xf.step microbatches(1) forward(@forward) backward(@backward) update(@update) evaluate(@evaluate)
}
