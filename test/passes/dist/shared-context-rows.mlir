// RUN: hocket-opt %s --dist-propagate-shardings --dist-partition | FileCheck %s
// RUN: hocket-opt %s --dist-propagate-shardings --dist-explain-shardings | FileCheck %s --check-prefix=WHY

// Four ranks share sequences, and hold two parts of the experts: along cp.1 they
// have different ones, and along cp.0 the same, whose rows they share. What each
// sends is a sum over both; along ep the rest is exchanged.

// WHY: name = "up", {{.*}}why = "dim 0 over cp.1: by the plan, cp.1 = 2 splits experts; dim 0 over ep: by the plan, ep = 2 splits experts"}

module {
dist.mesh @mesh ["ep", "cp.0", "cp.1"] sizes [2, 2, 2] experts ["cp.1", "ep"]
// CHECK: xf.variable @up : tensor<1x16x8xf32> {{.*}}whole = tensor<4x16x8xf32>
xf.variable @up : tensor<4x16x8xf32> {dist.placement = #dist.placement<reasons = [[#dist.reason<model over "cp.1">, #dist.reason<model over "ep">]]>, dist.sharding = #dist.sharding<@mesh, [["cp.1", "ep"], [], []], partial = []>, kind = #xf.variable_kind<parameter>}
// CHECK: xf.variable @up.grad : tensor<1x16x8xf32> {dist.sharding = #dist.sharding<@mesh, {{\[\[}}"cp.1", "ep"], [], []], partial = ["cp.0"]>
xf.variable @up.grad : tensor<4x16x8xf32> {dist.placement = #dist.placement<reasons = [[#dist.reason<model over "cp.1">, #dist.reason<model over "ep">]]>, dist.sharding = #dist.sharding<@mesh, [["cp.1", "ep"], [], []], partial = []>, kind = #xf.variable_kind<gradient>, of = @up}
xf.variable @table : tensor<32x8xf32> {dist.sharding = #dist.sharding<@mesh, [[], []], partial = []>, kind = #xf.variable_kind<parameter>}
xf.variable @router : tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [[], []], partial = []>, kind = #xf.variable_kind<parameter>}
// CHECK-LABEL: func.func @forward(
// The rows that experts work on are kept for their gradient.
// CHECK-SAME: -> (tensor<f32>, tensor<1x2x2x8xf32>)
func.func @forward(%tokens: tensor<2x8xi32> {dist.sharding = #dist.sharding<@mesh, [["ep"], ["cp.0", "cp.1"]], partial = []>}, %labels: tensor<2x8xi32> {dist.sharding = #dist.sharding<@mesh, [["ep"], ["cp.0", "cp.1"]], partial = []>}) -> (tensor<f32>, tensor<4x2x4x8xf32>) {
  %table = xf.read @table : tensor<32x8xf32>
  %router = xf.read @router : tensor<4x8xf32>
  %up = xf.read @up : tensor<4x16x8xf32>
  %x = xf.embedding %tokens, %table : (tensor<2x8xi32>, tensor<32x8xf32>) -> tensor<2x8x8xf32>
  %l = xf.linear %x, %router : (tensor<2x8x8xf32>, tensor<4x8xf32>) -> tensor<2x8x4xf32>
  %w, %e = xf.router %l {scale = 1.0, scores = #xf.router_scores<softmax>, top_k = 2 : i64} : (tensor<2x8x4xf32>) -> (tensor<2x8x2xf32>, tensor<2x8x2xi32>)
  // Rows are counted over whole sequences.
  // CHECK: %[[ALL:.*]] = dist.all_gather %{{.*}} dim 1 over ["cp.0", "cp.1"] {{.*}}: tensor<1x2x2xi32> to tensor<1x8x2xi32>
  // CHECK: %[[SLOTS:.*]] = xf.expert_order %[[ALL]]
  // CHECK: %[[S:.*]] = dist.slice %[[SLOTS]] dim 1 over ["cp.0", "cp.1"]
  %s = xf.expert_order %e {capacity = 4 : i64, experts = 4 : i64} : (tensor<2x8x2xi32>) -> tensor<2x8x2xi32>
  // CHECK: %[[ROWS:.*]] = xf.dispatch %{{.*}}, %[[S]] {{.*}} -> tensor<4x1x4x8xf32>
  // CHECK-NEXT: %[[PART:.*]] = dist.reduce_scatter %[[ROWS]] dim 0 over ["cp.1"] {{.*}}: tensor<4x1x4x8xf32> to tensor<2x1x4x8xf32>
  // CHECK-NEXT: %[[MINE:.*]] = dist.reduce_scatter %[[PART]] dim 2 over ["cp.0"] {{.*}}: tensor<2x1x4x8xf32> to tensor<2x1x2x8xf32>
  // CHECK-NEXT: %[[SENT:.*]] = dist.all_to_all %[[MINE]] split 0 concat 1 over ["ep"] {{.*}}: tensor<2x1x2x8xf32> to tensor<1x2x2x8xf32>
  // CHECK-NEXT: xf.grouped_linear %[[SENT]], {{.*}} -> tensor<1x2x2x16xf32>
  // CHECK: %[[LEFT:.*]] = dist.all_to_all %{{.*}} split 1 concat 0 over ["ep"]
  // CHECK-NEXT: %[[EACH:.*]] = dist.all_gather %[[LEFT]] dim 0 over ["cp.1"] {{.*}}: tensor<2x1x2x8xf32> to tensor<4x1x2x8xf32>
  // CHECK-NEXT: %[[BACK:.*]] = dist.all_gather %[[EACH]] dim 2 over ["cp.0"] {{.*}}: tensor<4x1x2x8xf32> to tensor<4x1x4x8xf32>
  // CHECK-NEXT: xf.combine %[[BACK]], %[[S]], {{.*}} -> tensor<1x2x8xf32>
  %rows = xf.dispatch %x, %s : (tensor<2x8x8xf32>, tensor<2x8x2xi32>) -> tensor<4x2x4x8xf32>
  %h = xf.grouped_linear %rows, %up : (tensor<4x2x4x8xf32>, tensor<4x16x8xf32>) -> tensor<4x2x4x16xf32>
  %y = xf.grouped_linear_input_gradient %h, %up : (tensor<4x2x4x16xf32>, tensor<4x16x8xf32>) -> tensor<4x2x4x8xf32>
  %z = xf.combine %y, %s, %w : (tensor<4x2x4x8xf32>, tensor<2x8x2xi32>, tensor<2x8x2xf32>) -> tensor<2x8x8xf32>
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss, %rows : tensor<f32>, tensor<4x2x4x8xf32>
}
// CHECK-LABEL: func.func @backward(
func.func @backward(%tokens: tensor<2x8xi32>, %labels: tensor<2x8xi32>, %rows: tensor<4x2x4x8xf32>) {
  // CHECK-NOT: = dist.
  // CHECK: xf.grouped_linear_weight_gradient {{.*}} -> tensor<1x16x8xf32>
  %up = xf.read @up : tensor<4x16x8xf32>
  %h = xf.grouped_linear %rows, %up : (tensor<4x2x4x8xf32>, tensor<4x16x8xf32>) -> tensor<4x2x4x16xf32>
  // CHECK-NOT: = dist.
  // CHECK: xf.accumulate
  %g = xf.grouped_linear_weight_gradient %h, %rows : (tensor<4x2x4x16xf32>, tensor<4x2x4x8xf32>) -> tensor<4x16x8xf32>
  xf.accumulate %g, @up.grad : tensor<4x16x8xf32>
  return
}
func.func @update() {
  return
}
func.func @evaluate(%tokens: tensor<2x8xi32> {dist.sharding = #dist.sharding<@mesh, [["ep"], ["cp.0", "cp.1"]], partial = []>}, %labels: tensor<2x8xi32> {dist.sharding = #dist.sharding<@mesh, [["ep"], ["cp.0", "cp.1"]], partial = []>}) -> tensor<f32> {
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
xf.step microbatches(1) forward(@forward) backward(@backward) update(@update) evaluate(@evaluate)
}
