// RUN: hocket-opt %s --dist-propagate-shardings --dist-partition | FileCheck %s
// RUN: hocket-opt %s --dist-propagate-shardings --dist-explain-shardings | FileCheck %s --check-prefix=WHY

// Four ranks along tp, in pairs. The pairs have different experts (tp.0), and the
// ranks of a pair halves of each (tp.1). A pair gathers its tokens. What the pairs
// send is a sum over tp.0 and goes to the one that has the expert; along ep the
// rest is exchanged. Results are sums over the pair, which go back as they are:
// the sums are formed of tokens, not of rows, each rank's of its own.

module {
dist.mesh @mesh ["ep", "tp.0", "tp.1"] sizes [2, 2, 2] experts ["tp.0", "ep"]
xf.variable @table : tensor<32x8xf32> {dist.placement = #dist.placement<reasons = [[#dist.reason<model over "tp.0">, #dist.reason<model over "tp.1">]]>, dist.sharding = #dist.sharding<@mesh, [["tp.0", "tp.1"], []], partial = []>, kind = #xf.variable_kind<parameter>}
xf.variable @router : tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [[], []], partial = []>, kind = #xf.variable_kind<parameter>}
xf.variable @scale : tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [[]], partial = []>, kind = #xf.variable_kind<parameter>}
// CHECK: xf.variable @up : tensor<1x8x8xf32> {{.*}}whole = tensor<4x16x8xf32>
// WHY: name = "up", {{.*}}why = "dim 0 over tp.0: by the plan, tp.0 = 2 splits experts; dim 0 over ep: by the plan, ep = 2 splits experts; dim 1 over tp.1: by the plan, tp.1 = 2 splits output features"
xf.variable @up : tensor<4x16x8xf32> {dist.placement = #dist.placement<reasons = [[#dist.reason<model over "tp.0">, #dist.reason<model over "ep">, #dist.reason<model over "tp.1">]]>, dist.sharding = #dist.sharding<@mesh, [["tp.0", "ep"], ["tp.1"], []], partial = []>, kind = #xf.variable_kind<parameter>}
// CHECK: xf.variable @up.grad : tensor<1x8x8xf32> {dist.sharding = #dist.sharding<@mesh, {{\[\[}}"tp.0", "ep"], ["tp.1"], []], partial = []>
xf.variable @up.grad : tensor<4x16x8xf32> {dist.placement = #dist.placement<reasons = [[#dist.reason<model over "tp.0">, #dist.reason<model over "ep">, #dist.reason<model over "tp.1">]]>, dist.sharding = #dist.sharding<@mesh, [["tp.0", "ep"], ["tp.1"], []], partial = []>, kind = #xf.variable_kind<gradient>, of = @up}
// What a layer takes is the stream, and so is all that is tied to it.
func.func private @layer(%x: tensor<2x8x8xf32> {dist.stream = #dist.sharding<@mesh, [["ep"], ["tp.0", "tp.1"], []], partial = []>}) -> tensor<2x8x8xf32> {
  return %x : tensor<2x8x8xf32>
}
// CHECK-LABEL: func.func @forward(
// CHECK-SAME: -> (tensor<f32>, tensor<1x2x4x8xf32>)
func.func @forward(%tokens: tensor<2x8xi32> {dist.sharding = #dist.sharding<@mesh, [["ep"], []], partial = []>}, %labels: tensor<2x8xi32> {dist.sharding = #dist.sharding<@mesh, [["ep"], []], partial = []>}) -> (tensor<f32>, tensor<4x2x4x8xf32>) {
  %table = xf.read @table : tensor<32x8xf32>
  %router = xf.read @router : tensor<4x8xf32>
  %up = xf.read @up : tensor<4x16x8xf32>
  %embedded = xf.embedding %tokens, %table : (tensor<2x8xi32>, tensor<32x8xf32>) -> tensor<2x8x8xf32>
  %x = call @layer(%embedded) : (tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %scale = xf.read @scale : tensor<8xf32>
  // CHECK: dist.reduce_scatter %{{.*}} dim 1 over ["tp.0", "tp.1"]
  // CHECK: %[[X:.*]] = xf.norm
  %n = xf.norm %x, %scale {kind = #xf.norm_kind<rms>, epsilon = 1.0e-5} : (tensor<2x8x8xf32>, tensor<8xf32>) -> tensor<2x8x8xf32>
  // CHECK: xf.linear %[[X]], {{.*}} -> tensor<1x2x4xf32>
  %l = xf.linear %n, %router : (tensor<2x8x8xf32>, tensor<4x8xf32>) -> tensor<2x8x4xf32>
  %w, %e = xf.router %l {scale = 1.0, scores = #xf.router_scores<softmax>, top_k = 2 : i64} : (tensor<2x8x4xf32>) -> (tensor<2x8x2xf32>, tensor<2x8x2xi32>)
  // Rows are counted over whole sequences.
  // CHECK: %[[ALL:.*]] = dist.all_gather %{{.*}} dim 1 over ["tp.0", "tp.1"] {{.*}}: tensor<1x2x2xi32> to tensor<1x8x2xi32>
  // CHECK: %[[SLOTS:.*]] = xf.expert_order %[[ALL]]
  %s = xf.expert_order %e {capacity = 4 : i64, experts = 4 : i64} : (tensor<2x8x2xi32>) -> tensor<2x8x2xi32>
  // CHECK-NEXT: %[[TOKENS:.*]] = dist.all_gather %[[X]] dim 1 over ["tp.1"] {{.*}}: tensor<1x2x8xf32> to tensor<1x4x8xf32>
  // CHECK-NEXT: %[[S:.*]] = dist.slice %[[SLOTS]] dim 1 over ["tp.0"]
  // CHECK-NEXT: %[[ROWS:.*]] = xf.dispatch %[[TOKENS]], %[[S]] {{.*}} -> tensor<4x1x4x8xf32>
  // CHECK-NEXT: %[[PAIR:.*]] = dist.reduce_scatter %[[ROWS]] dim 0 over ["tp.0"] {{.*}}: tensor<4x1x4x8xf32> to tensor<2x1x4x8xf32>
  // CHECK-NEXT: %[[SENT:.*]] = dist.all_to_all %[[PAIR]] split 0 concat 1 over ["ep"] {{.*}}: tensor<2x1x4x8xf32> to tensor<1x2x4x8xf32>
  // CHECK-NEXT: xf.grouped_linear %[[SENT]], {{.*}} -> tensor<1x2x4x8xf32>
  // CHECK-NEXT: %[[PART:.*]] = xf.grouped_linear_input_gradient
  // CHECK-NEXT: %[[LEFT:.*]] = dist.all_to_all %[[PART]] split 1 concat 0 over ["ep"]
  // CHECK-NEXT: %[[BACK:.*]] = dist.all_gather %[[LEFT]] dim 0 over ["tp.0"] {{.*}}: tensor<2x1x4x8xf32> to tensor<4x1x4x8xf32>
  // CHECK-NEXT: %[[W:.*]] = dist.all_gather %{{.*}} dim 1 over ["tp.1"]
  // CHECK-NEXT: %[[Z:.*]] = xf.combine %[[BACK]], %{{.*}}, %[[W]] {{.*}} -> tensor<1x4x8xf32>
  // CHECK-NEXT: %[[MINE:.*]] = dist.reduce_scatter %[[Z]] dim 1 over ["tp.1"] {{.*}}: tensor<1x4x8xf32> to tensor<1x2x8xf32>
  // CHECK-NEXT: xf.add
  %rows = xf.dispatch %n, %s : (tensor<2x8x8xf32>, tensor<2x8x2xi32>) -> tensor<4x2x4x8xf32>
  %h = xf.grouped_linear %rows, %up : (tensor<4x2x4x8xf32>, tensor<4x16x8xf32>) -> tensor<4x2x4x16xf32>
  %y = xf.grouped_linear_input_gradient %h, %up : (tensor<4x2x4x16xf32>, tensor<4x16x8xf32>) -> tensor<4x2x4x8xf32>
  %z = xf.combine %y, %s, %w : (tensor<4x2x4x8xf32>, tensor<2x8x2xi32>, tensor<2x8x2xf32>) -> tensor<2x8x8xf32>
  %o = xf.add %z, %n : (tensor<2x8x8xf32>, tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss, %rows : tensor<f32>, tensor<4x2x4x8xf32>
}
// CHECK-LABEL: func.func @backward(
func.func @backward(%tokens: tensor<2x8xi32>, %labels: tensor<2x8xi32>, %rows: tensor<4x2x4x8xf32>) {
  %up = xf.read @up : tensor<4x16x8xf32>
  %h = xf.grouped_linear %rows, %up : (tensor<4x2x4x8xf32>, tensor<4x16x8xf32>) -> tensor<4x2x4x16xf32>
  // CHECK-NOT: = dist.
  // CHECK: xf.grouped_linear_weight_gradient {{.*}} -> tensor<1x8x8xf32>
  // CHECK-NOT: = dist.
  // CHECK: xf.accumulate
  %g = xf.grouped_linear_weight_gradient %h, %rows : (tensor<4x2x4x16xf32>, tensor<4x2x4x8xf32>) -> tensor<4x16x8xf32>
  xf.accumulate %g, @up.grad : tensor<4x16x8xf32>
  return
}
func.func @update() {
  return
}
func.func @evaluate(%tokens: tensor<2x8xi32> {dist.sharding = #dist.sharding<@mesh, [["ep"], []], partial = []>}, %labels: tensor<2x8xi32> {dist.sharding = #dist.sharding<@mesh, [["ep"], []], partial = []>}) -> tensor<f32> {
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
xf.step microbatches(1) forward(@forward) backward(@backward) update(@update) evaluate(@evaluate)
}
