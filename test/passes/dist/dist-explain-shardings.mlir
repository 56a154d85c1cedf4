// RUN: hocket-opt %s --dist-propagate-shardings --dist-explain-shardings | FileCheck %s

// A column-parallel and a row-parallel layer over `tp`, sequences over `dp`.

module {
// CHECK: dist.mesh @mesh
dist.mesh @mesh ["dp", "tp"] sizes [2, 2]
// A table that no axis splits, and a parameter that lies as the plan says.
// CHECK-SAME: name = "table", {{.*}}why = "whole on every rank: the plan splits no dim of it"
xf.variable @table : tensor<32x16xf32> {dist.sharding = #dist.sharding<@mesh, [[], []], partial = []>, kind = #xf.variable_kind<parameter>}
// CHECK-SAME: kind = "parameter", local = tensor<32x16xf32>, name = "layers.*.up.weight",
// CHECK-SAME: why = "dim 0 over tp: by the plan, tp = 2 splits output features"
xf.variable @layers.7.up.weight : tensor<64x16xf32> {dist.placement = #dist.placement<reasons = [[#dist.reason<model over "tp">]]>, dist.sharding = #dist.sharding<@mesh, [["tp"], []], partial = []>, kind = #xf.variable_kind<parameter>}
// Of all layers there is one: the names of others add nothing.
// CHECK-SAME: name = "layers.*.down.weight"
// CHECK-NOT: name = "layers.*.up.weight"
xf.variable @layers.8.up.weight : tensor<64x16xf32> {dist.placement = #dist.placement<reasons = [[#dist.reason<model over "tp">]]>, dist.sharding = #dist.sharding<@mesh, [["tp"], []], partial = []>, kind = #xf.variable_kind<parameter>}
xf.variable @layers.7.down.weight : tensor<16x64xf32> {dist.placement = #dist.placement<reasons = [[#dist.reason<model over "tp">]]>, dist.sharding = #dist.sharding<@mesh, [[], ["tp"]], partial = []>, kind = #xf.variable_kind<parameter>}
// CHECK-SAME: kind = "gradient", {{.*}}why = "dim 0 over tp: by the plan, tp = 2 splits output features; partial sums over dp: each rank adds up the gradient of its own data, and their sum is formed once a step, where the update begins"
xf.variable @layers.7.up.weight.grad : tensor<64x16xf32> {dist.placement = #dist.placement<reasons = [[#dist.reason<model over "tp">]]>, dist.sharding = #dist.sharding<@mesh, [["tp"], []], partial = []>, kind = #xf.variable_kind<gradient>, of = @layers.7.up.weight}

func.func @forward(%tokens: tensor<4x8xi32> {dist.sharding = #dist.sharding<@mesh, [["dp"], []], partial = []>} loc("tokens"), %labels: tensor<4x8xi32> {dist.sharding = #dist.sharding<@mesh, [["dp"], []], partial = []>} loc("labels")) -> (tensor<f32>, tensor<4x8x16xf32>) {
  // CHECK-SAME: kind = "input", {{.*}}name = "tokens"
  %table = xf.read @table : tensor<32x16xf32>
  %x = xf.embedding %tokens, %table : (tensor<4x8xi32>, tensor<32x16xf32>) -> tensor<4x8x16xf32> loc("hidden")
  %up = xf.read @layers.7.up.weight : tensor<64x16xf32>
  %down = xf.read @layers.7.down.weight : tensor<16x64xf32>
  // CHECK-SAME: kind = "linear", local = tensor<2x8x32xf32>, name = "up", {{.*}}where = "forward", why = "dim 0 over dp: follows dim 0 of 'hidden'; dim 2 over tp: follows dim 0 of 'layers.*.up.weight', a weight, and weights move last"
  %h = xf.linear %x, %up : (tensor<4x8x16xf32>, tensor<64x16xf32>) -> tensor<4x8x64xf32> loc("up")
  // CHECK-SAME: kind = "linear", local = tensor<2x8x16xf32>, name = "down", {{.*}}why = "dim 0 over dp: follows dim 0 of 'up'; partial sums over tp: the op sums over dim 1 of 'layers.*.down.weight', which tp splits"
  %y = xf.linear %h, %down : (tensor<4x8x64xf32>, tensor<16x64xf32>) -> tensor<4x8x16xf32> loc("down")
  // Sums are not added to what is whole.
  // CHECK-SAME: kind = "add", {{.*}}name = "residual", {{.*}}'down' moves from {{\[\[}}dp], [], []], partial = [tp] to {{\[\[}}dp], [], []], partial = [], because sums over tp must be formed first"
  %z = xf.add %x, %y : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32> loc("residual")
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss, %z : tensor<f32>, tensor<4x8x16xf32>
}
func.func @backward(%tokens: tensor<4x8xi32>, %labels: tensor<4x8xi32>, %z: tensor<4x8x16xf32> {dist.stream = #dist.sharding<@mesh, [["dp"], [], []], partial = []>}) {
  %up = xf.read @layers.7.up.weight : tensor<64x16xf32>
  // Backward calls a residual what forward calls it.
  // CHECK-SAME: name = "again", {{.*}}follows dim 0 of 'residual'
  %h = xf.linear %z, %up : (tensor<4x8x16xf32>, tensor<64x16xf32>) -> tensor<4x8x64xf32> loc("again")
  %g = xf.linear_weight_gradient %h, %z : (tensor<4x8x64xf32>, tensor<4x8x16xf32>) -> tensor<64x16xf32>
  xf.accumulate %g, @layers.7.up.weight.grad : tensor<64x16xf32>
  return
}
// What the update computes is explained by its variables.
// CHECK-NOT: where = "update"
func.func @update() {
  %g = xf.read @layers.7.up.weight.grad : tensor<64x16xf32>
  %n, %bad = xf.global_norm %g : (tensor<64x16xf32>) -> (tensor<f32>, tensor<f32>)
  xf.output %n, "grad_norm" : tensor<f32>
  return
}
func.func @evaluate(%tokens: tensor<4x8xi32>, %labels: tensor<4x8xi32>) -> tensor<f32> {
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
xf.step microbatches(1) forward(@forward) backward(@backward) update(@update) evaluate(@evaluate)
}
