// RUN: hocket-opt %s --dist-propagate-shardings --dist-partition | FileCheck %s

// Experts that take all who choose them, shared out over ranks along ep and, of
// those along cp, over pairs. Each rank orders the tokens that it has, the ranks
// that share experts out tell each other how many rows they send, and the rows go
// there and back. The gradient of an expert is a sum over the ranks that hold it.

module {
dist.mesh @mesh ["dp", "ep", "cp.0", "cp.1"] sizes [2, 2, 2, 2] experts ["cp.1", "ep"]
xf.variable @table : tensor<32x8xf32> {dist.sharding = #dist.sharding<@mesh, [[], []], partial = []>, kind = #xf.variable_kind<parameter>}
xf.variable @router : tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [[], []], partial = []>, kind = #xf.variable_kind<parameter>}
// CHECK: xf.variable @up : tensor<2x16x8xf32>
xf.variable @up : tensor<8x16x8xf32> {dist.sharding = #dist.sharding<@mesh, [["cp.1", "ep"], [], []], partial = []>, kind = #xf.variable_kind<parameter>}
// CHECK: xf.variable @up.grad : tensor<2x16x8xf32> {dist.sharding = #dist.sharding<@mesh, {{\[\[}}"cp.1", "ep"], [], []], partial = ["dp", "cp.0"]>
xf.variable @up.grad : tensor<8x16x8xf32> {dist.sharding = #dist.sharding<@mesh, [["cp.1", "ep"], [], []], partial = []>, kind = #xf.variable_kind<gradient>, of = @up}
// CHECK-LABEL: func.func @forward(
func.func @forward(%tokens: tensor<4x12xi32> {dist.sharding = #dist.sharding<@mesh, [["dp", "ep"], ["cp.0", "cp.1"]], partial = []>}, %labels: tensor<4x12xi32> {dist.sharding = #dist.sharding<@mesh, [["dp", "ep"], ["cp.0", "cp.1"]], partial = []>}) -> (tensor<f32>, tensor<16x10x8xf32>, tensor<16x8x2xi32>, tensor<16x4x2x2xi32>) {
  %table = xf.read @table : tensor<32x8xf32>
  %router = xf.read @router : tensor<8x8xf32>
  %up = xf.read @up : tensor<8x16x8xf32>
  %x = xf.embedding %tokens, %table : (tensor<4x12xi32>, tensor<32x8xf32>) -> tensor<4x12x8xf32>
  %l = xf.linear %x, %router : (tensor<4x12x8xf32>, tensor<8x8xf32>) -> tensor<4x12x8xf32>
  // CHECK-NOT: = dist.
  %w, %e = xf.router %l {scale = 1.0, scores = #xf.router_scores<softmax>, top_k = 2 : i64} : (tensor<4x12x8xf32>) -> (tensor<4x12x2xf32>, tensor<4x12x2xi32>)
  // CHECK: %[[S:.*]], %[[N:.*]] = xf.expert_order {{.*}} -> (tensor<1x3x2xi32>, tensor<1x8x2xi32>)
  %s, %n = xf.expert_order %e {experts = 8 : i64, position_runs = 4 : i64} : (tensor<4x12x2xi32>) -> (tensor<4x12x2xi32>, tensor<16x8x2xi32>)
  // CHECK-NEXT: %[[ROWS:.*]] = xf.dispatch {{.*}} -> tensor<1x6x8xf32>
  // CHECK-NEXT: %[[SENT:.*]] = dist.all_to_all %[[N]] split 1 concat 0 over ["cp.1", "ep"] {{.*}} : tensor<1x8x2xi32> to tensor<4x2x2xi32>
  // CHECK-NEXT: %[[WHERE:.*]] = xf.expert_segments %[[SENT]] : (tensor<4x2x2xi32>) -> tensor<1x4x2x2xi32>
  // CHECK-NEXT: %[[HERE:.*]] = dist.exchange_rows %[[ROWS]], %[[N]], %[[WHERE]] over ["cp.1", "ep"] {{.*}} -> tensor<1x10x8xf32>
  // CHECK-NEXT: %[[H:.*]] = xf.grouped_linear %[[HERE]], %{{.*}}, %[[WHERE]] {expected_rows = 6 : i64} : (tensor<1x10x8xf32>, tensor<2x16x8xf32>, tensor<1x4x2x2xi32>) -> tensor<1x10x16xf32>
  // CHECK-NEXT: %[[Y:.*]] = xf.grouped_linear_input_gradient %[[H]]
  // CHECK-NEXT: %[[BACK:.*]] = dist.return_rows %[[Y]], %[[N]], %[[WHERE]] over ["cp.1", "ep"] {{.*}} -> tensor<1x6x8xf32>
  // CHECK-NEXT: xf.combine %[[BACK]], %[[S]], {{.*}} -> tensor<1x3x8xf32>
  %rows = xf.dispatch %x, %s {position_runs = 4 : i64} : (tensor<4x12x8xf32>, tensor<4x12x2xi32>) -> tensor<16x6x8xf32>
  %where = xf.expert_segments %n : (tensor<16x8x2xi32>) -> tensor<16x4x2x2xi32>
  %here = xf.exchange_rows %rows, %n, %where : (tensor<16x6x8xf32>, tensor<16x8x2xi32>, tensor<16x4x2x2xi32>) -> tensor<16x10x8xf32>
  %h = xf.grouped_linear %here, %up, %where {expected_rows = 6 : i64} : (tensor<16x10x8xf32>, tensor<8x16x8xf32>, tensor<16x4x2x2xi32>) -> tensor<16x10x16xf32>
  %y = xf.grouped_linear_input_gradient %h, %up, %where {expected_rows = 6 : i64} : (tensor<16x10x16xf32>, tensor<8x16x8xf32>, tensor<16x4x2x2xi32>) -> tensor<16x10x8xf32>
  %back = xf.return_rows %y, %n, %where : (tensor<16x10x8xf32>, tensor<16x8x2xi32>, tensor<16x4x2x2xi32>) -> tensor<16x6x8xf32>
  %z = xf.combine %back, %s, %w {position_runs = 4 : i64} : (tensor<16x6x8xf32>, tensor<4x12x2xi32>, tensor<4x12x2xf32>) -> tensor<4x12x8xf32>
  // CHECK-NOT: = dist.
  // CHECK: return
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss, %here, %n, %where : tensor<f32>, tensor<16x10x8xf32>, tensor<16x8x2xi32>, tensor<16x4x2x2xi32>
}
// The rows are kept where the experts are.
// CHECK-LABEL: func.func @backward(
func.func @backward(%tokens: tensor<4x12xi32>, %labels: tensor<4x12xi32>, %here: tensor<16x10x8xf32>, %n: tensor<16x8x2xi32>, %where: tensor<16x4x2x2xi32>) {
  %up = xf.read @up : tensor<8x16x8xf32>
  %h = xf.grouped_linear %here, %up, %where : (tensor<16x10x8xf32>, tensor<8x16x8xf32>, tensor<16x4x2x2xi32>) -> tensor<16x10x16xf32>
  // CHECK-NOT: = dist.
  // CHECK: xf.grouped_linear_weight_gradient {{.*}} : (tensor<1x10x16xf32>, tensor<1x10x8xf32>, tensor<1x4x2x2xi32>) -> tensor<2x16x8xf32>
  // CHECK-NOT: = dist.
  // CHECK: xf.accumulate
  %g = xf.grouped_linear_weight_gradient %h, %here, %where : (tensor<16x10x16xf32>, tensor<16x10x8xf32>, tensor<16x4x2x2xi32>) -> tensor<8x16x8xf32>
  xf.accumulate %g, @up.grad : tensor<8x16x8xf32>
  return
}
func.func @update() {
  return
}
func.func @evaluate(%tokens: tensor<4x12xi32> {dist.sharding = #dist.sharding<@mesh, [["dp", "ep"], ["cp.0", "cp.1"]], partial = []>}, %labels: tensor<4x12xi32> {dist.sharding = #dist.sharding<@mesh, [["dp", "ep"], ["cp.0", "cp.1"]], partial = []>}) -> tensor<f32> {
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
xf.step microbatches(1) forward(@forward) backward(@backward) update(@update) evaluate(@evaluate)
}
