// RUN: hocket-opt %s --dist-propagate-shardings --dist-partition | FileCheck %s

// Experts that take all who choose them, on four ranks that have them all. Each
// rank orders the tokens that it has: runs of sequences along dp, of positions
// along cp. Nothing is exchanged but the sum of the gradient.

module {
dist.mesh @mesh ["dp", "cp"] sizes [2, 2]
xf.variable @table : tensor<32x8xf32> {dist.sharding = #dist.sharding<@mesh, [[], []], partial = []>, kind = #xf.variable_kind<parameter>}
xf.variable @router : tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [[], []], partial = []>, kind = #xf.variable_kind<parameter>}
xf.variable @up : tensor<4x16x8xf32> {dist.sharding = #dist.sharding<@mesh, [[], [], []], partial = []>, kind = #xf.variable_kind<parameter>}
// CHECK: xf.variable @up.grad : tensor<4x16x8xf32> {dist.sharding = #dist.sharding<@mesh, {{\[\[}}], [], []], partial = ["dp", "cp"]>
xf.variable @up.grad : tensor<4x16x8xf32> {dist.sharding = #dist.sharding<@mesh, [[], [], []], partial = []>, kind = #xf.variable_kind<gradient>, of = @up}
// CHECK-LABEL: func.func @forward(
func.func @forward(%tokens: tensor<2x6xi32> {dist.sharding = #dist.sharding<@mesh, [["dp"], ["cp"]], partial = []>}, %labels: tensor<2x6xi32> {dist.sharding = #dist.sharding<@mesh, [["dp"], ["cp"]], partial = []>}) -> (tensor<f32>, tensor<4x6x8xf32>, tensor<4x4x2xi32>) {
  %table = xf.read @table : tensor<32x8xf32>
  %router = xf.read @router : tensor<4x8xf32>
  %up = xf.read @up : tensor<4x16x8xf32>
  %x = xf.embedding %tokens, %table : (tensor<2x6xi32>, tensor<32x8xf32>) -> tensor<2x6x8xf32>
  %l = xf.linear %x, %router : (tensor<2x6x8xf32>, tensor<4x8xf32>) -> tensor<2x6x4xf32>
  // CHECK-NOT: = dist.
  %w, %e = xf.router %l {scale = 1.0, scores = #xf.router_scores<softmax>, top_k = 2 : i64} : (tensor<2x6x4xf32>) -> (tensor<2x6x2xf32>, tensor<2x6x2xi32>)
  // CHECK: xf.expert_order %{{.*}} {experts = 4 : i64} : (tensor<1x3x2xi32>) -> (tensor<1x3x2xi32>, tensor<1x4x2xi32>)
  %s, %n = xf.expert_order %e {experts = 4 : i64, position_runs = 2 : i64} : (tensor<2x6x2xi32>) -> (tensor<2x6x2xi32>, tensor<4x4x2xi32>)
  // CHECK-NEXT: xf.dispatch %{{[^{]*}} : (tensor<1x3x8xf32>, tensor<1x3x2xi32>) -> tensor<1x6x8xf32>
  // CHECK-NEXT: xf.grouped_linear {{.*}} -> tensor<1x6x16xf32>
  // CHECK-NEXT: xf.grouped_linear_input_gradient
  // CHECK-NEXT: xf.combine %{{[^{]*}} : {{.*}} -> tensor<1x3x8xf32>
  %rows = xf.dispatch %x, %s {position_runs = 2 : i64} : (tensor<2x6x8xf32>, tensor<2x6x2xi32>) -> tensor<4x6x8xf32>
  %h = xf.grouped_linear %rows, %up, %n : (tensor<4x6x8xf32>, tensor<4x16x8xf32>, tensor<4x4x2xi32>) -> tensor<4x6x16xf32>
  %y = xf.grouped_linear_input_gradient %h, %up, %n : (tensor<4x6x16xf32>, tensor<4x16x8xf32>, tensor<4x4x2xi32>) -> tensor<4x6x8xf32>
  %z = xf.combine %y, %s, %w {position_runs = 2 : i64} : (tensor<4x6x8xf32>, tensor<2x6x2xi32>, tensor<2x6x2xf32>) -> tensor<2x6x8xf32>
  // CHECK-NOT: = dist.
  // CHECK: return
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss, %rows, %n : tensor<f32>, tensor<4x6x8xf32>, tensor<4x4x2xi32>
}
// CHECK-LABEL: func.func @backward(
func.func @backward(%tokens: tensor<2x6xi32>, %labels: tensor<2x6xi32>, %rows: tensor<4x6x8xf32>, %n: tensor<4x4x2xi32>) {
  %up = xf.read @up : tensor<4x16x8xf32>
  %h = xf.grouped_linear %rows, %up, %n : (tensor<4x6x8xf32>, tensor<4x16x8xf32>, tensor<4x4x2xi32>) -> tensor<4x6x16xf32>
  // CHECK-NOT: = dist.
  // CHECK: xf.grouped_linear_weight_gradient {{.*}} : (tensor<1x6x16xf32>, tensor<1x6x8xf32>, tensor<1x4x2xi32>) -> tensor<4x16x8xf32>
  // CHECK-NOT: = dist.
  // CHECK: xf.accumulate
  %g = xf.grouped_linear_weight_gradient %h, %rows, %n : (tensor<4x6x16xf32>, tensor<4x6x8xf32>, tensor<4x4x2xi32>) -> tensor<4x16x8xf32>
  xf.accumulate %g, @up.grad : tensor<4x16x8xf32>
  return
}
func.func @update() {
  return
}
func.func @evaluate(%tokens: tensor<2x6xi32> {dist.sharding = #dist.sharding<@mesh, [["dp"], ["cp"]], partial = []>}, %labels: tensor<2x6xi32> {dist.sharding = #dist.sharding<@mesh, [["dp"], ["cp"]], partial = []>}) -> tensor<f32> {
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
xf.step microbatches(1) forward(@forward) backward(@backward) update(@update) evaluate(@evaluate)
}
