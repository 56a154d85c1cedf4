// RUN: hocket-opt %s --dist-propagate-shardings --dist-partition | FileCheck %s

// Two parts of the experts on four ranks along tp. Those along tp.0 have the same
// experts and share their rows: to experts it is an axis of the data, though to
// other layers it is one of the model. ZeRO keeps weights in shards along it.

module {
dist.mesh @mesh ["tp.0", "tp.1"] sizes [2, 2] experts ["tp.1"] sharing ["tp.0"]
xf.variable @table : tensor<32x8xf32> {dist.sharding = #dist.sharding<@mesh, [["tp.0", "tp.1"], []], partial = []>, kind = #xf.variable_kind<parameter>}
xf.variable @router : tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [[], []], partial = []>, kind = #xf.variable_kind<parameter>}
// CHECK: xf.variable @up : tensor<2x8x8xf32> {{.*}}whole = tensor<4x16x8xf32>
xf.variable @up : tensor<4x16x8xf32> {dist.sharding = #dist.sharding<@mesh, [["tp.1"], ["tp.0"], []], partial = []>, kind = #xf.variable_kind<parameter>}
// CHECK: xf.variable @up.grad : tensor<2x16x8xf32> {dist.sharding = #dist.sharding<@mesh, {{\[\[}}"tp.1"], [], []], partial = ["tp.0"]>
xf.variable @up.grad : tensor<4x16x8xf32> {dist.sharding = #dist.sharding<@mesh, [["tp.1"], [], []], partial = []>, kind = #xf.variable_kind<gradient>, of = @up}
// What a layer takes is the stream, and so is all that is tied to it.
func.func private @layer(%x: tensor<2x8x8xf32> {dist.stream = #dist.sharding<@mesh, [[], ["tp.0", "tp.1"], []], partial = []>}) -> tensor<2x8x8xf32> {
  return %x : tensor<2x8x8xf32>
}
// CHECK-LABEL: func.func @forward(
// CHECK-SAME: -> (tensor<f32>, tensor<2x2x2x8xf32>)
func.func @forward(%tokens: tensor<2x8xi32>, %labels: tensor<2x8xi32>) -> (tensor<f32>, tensor<4x2x4x8xf32>) {
  %table = xf.read @table : tensor<32x8xf32>
  %router = xf.read @router : tensor<4x8xf32>
  %up = xf.read @up : tensor<4x16x8xf32>
  %embedded = xf.embedding %tokens, %table : (tensor<2x8xi32>, tensor<32x8xf32>) -> tensor<2x8x8xf32>
  %x = call @layer(%embedded) : (tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %l = xf.linear %x, %router : (tensor<2x8x8xf32>, tensor<4x8xf32>) -> tensor<2x8x4xf32>
  %w, %e = xf.router %l {scale = 1.0, scores = #xf.router_scores<softmax>, top_k = 2 : i64} : (tensor<2x8x4xf32>) -> (tensor<2x8x2xf32>, tensor<2x8x2xi32>)
  %s = xf.expert_order %e {capacity = 4 : i64, experts = 4 : i64} : (tensor<2x8x2xi32>) -> tensor<2x8x2xi32>
  // CHECK: %[[ROWS:.*]] = xf.dispatch %{{.*}} -> tensor<4x2x4x8xf32>
  // CHECK-NEXT: %[[PAIR:.*]] = dist.reduce_scatter %[[ROWS]] dim 0 over ["tp.1"] {{.*}}: tensor<4x2x4x8xf32> to tensor<2x2x4x8xf32>
  // CHECK-NEXT: %[[MINE:.*]] = dist.reduce_scatter %[[PAIR]] dim 2 over ["tp.0"] {{.*}}: tensor<2x2x4x8xf32> to tensor<2x2x2x8xf32>
  // CHECK-NEXT: %[[UP:.*]] = dist.all_gather %{{.*}} dim 1 over ["tp.0"] {{.*}}: tensor<2x8x8xf32> to tensor<2x16x8xf32>
  // CHECK-NEXT: xf.grouped_linear %[[MINE]], %[[UP]] {{.*}} -> tensor<2x2x2x16xf32>
  %rows = xf.dispatch %x, %s : (tensor<2x8x8xf32>, tensor<2x8x2xi32>) -> tensor<4x2x4x8xf32>
  %h = xf.grouped_linear %rows, %up : (tensor<4x2x4x8xf32>, tensor<4x16x8xf32>) -> tensor<4x2x4x16xf32>
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss, %rows : tensor<f32>, tensor<4x2x4x8xf32>
}
// CHECK-LABEL: func.func @backward(
func.func @backward(%tokens: tensor<2x8xi32>, %labels: tensor<2x8xi32>, %rows: tensor<4x2x4x8xf32>) {
  %up = xf.read @up : tensor<4x16x8xf32>
  %h = xf.grouped_linear %rows, %up : (tensor<4x2x4x8xf32>, tensor<4x16x8xf32>) -> tensor<4x2x4x16xf32>
  // CHECK: xf.grouped_linear_weight_gradient {{.*}} -> tensor<2x16x8xf32>
  // CHECK-NOT: = dist.
  // CHECK: xf.accumulate
  %g = xf.grouped_linear_weight_gradient %h, %rows : (tensor<4x2x4x16xf32>, tensor<4x2x4x8xf32>) -> tensor<4x16x8xf32>
  xf.accumulate %g, @up.grad : tensor<4x16x8xf32>
  return
}
func.func @update() {
  return
}
func.func @evaluate(%tokens: tensor<2x8xi32>, %labels: tensor<2x8xi32>) -> tensor<f32> {
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
xf.step microbatches(1) forward(@forward) backward(@backward) update(@update) evaluate(@evaluate)
}
