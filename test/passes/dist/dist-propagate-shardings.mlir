// RUN: hocket-opt %s --dist-propagate-shardings | FileCheck %s

// A column-parallel and a row-parallel layer over `tp`, sequences over `dp`.

module {
dist.mesh @mesh ["dp", "tp"] sizes [2, 2]
xf.variable @table : tensor<32x16xf32> {dist.sharding = #dist.sharding<@mesh, [["tp"], []], partial = []>, kind = #xf.variable_kind<parameter>}
xf.variable @up : tensor<64x16xf32> {dist.sharding = #dist.sharding<@mesh, [["tp"], []], partial = []>, kind = #xf.variable_kind<parameter>}
xf.variable @down : tensor<16x64xf32> {dist.sharding = #dist.sharding<@mesh, [[], ["tp"]], partial = []>, kind = #xf.variable_kind<parameter>}
xf.variable @bias : tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [[]], partial = []>, kind = #xf.variable_kind<parameter>}
// The gradient takes the sharding in which it is made: shards along `tp`, sums
// along `dp`.
// CHECK: xf.variable @up.grad {{.*}}dist.sharding = #dist.sharding<@mesh, {{\[\[}}"tp"], []], partial = ["dp"]>
xf.variable @up.grad : tensor<64x16xf32> {dist.sharding = #dist.sharding<@mesh, [["tp"], []], partial = []>, kind = #xf.variable_kind<gradient>, of = @up}

// CHECK-LABEL: func.func @forward
func.func @forward(%tokens: tensor<4x8xi32> {dist.sharding = #dist.sharding<@mesh, [["dp"], []], partial = []>}, %labels: tensor<4x8xi32> {dist.sharding = #dist.sharding<@mesh, [["dp"], []], partial = []>}) -> (tensor<f32>, tensor<4x8x16xf32>) {
  %t = xf.read @table : tensor<32x16xf32>
  %up = xf.read @up : tensor<64x16xf32>
  %down = xf.read @down : tensor<16x64xf32>
  %b = xf.read @bias : tensor<16xf32>
  // Each device has some rows of the table: partial sums.
  // CHECK: xf.embedding {{.*}}results = [#dist.sharding<@mesh, {{\[\[}}"dp"], [], []], partial = ["tp"]>]
  %x = xf.embedding %tokens, %t : (tensor<4x8xi32>, tensor<32x16xf32>) -> tensor<4x8x16xf32>
  // Features over `tp`; the input must be whole, in the stream's sharding.
  // What decided is there too: sums are formed, and weights move last.
  // CHECK: xf.linear {{.*}}moves = {{\[\[}}#dist.reason<form_sums over "tp">], unit], operands = [#dist.sharding<@mesh, {{\[\[}}"dp"], [], []], partial = []>, #dist.sharding<@mesh, {{\[\[}}"tp"], []], partial = []>], reasons = {{\[\[}}#dist.reason<operand over "dp" operand 0 dim 0>, #dist.reason<weight_first over "tp" operand 1 dim 0>]], results = [#dist.sharding<@mesh, {{\[\[}}"dp"], [], ["tp"]], partial = []>]
  %h = xf.linear %x, %up : (tensor<4x8x16xf32>, tensor<64x16xf32>) -> tensor<4x8x64xf32>
  // The bias is added once, to sums that are whole.
  // CHECK: xf.linear %{{[^,]*}}, %{{[^,]*}} {{.*}}#dist.reason<summed_over over "tp" operand 1 dim 1>]], results = [#dist.sharding<@mesh, {{\[\[}}"dp"], [], []], partial = ["tp"]>]
  // CHECK-NEXT: xf.add {{.*}}operands = [#dist.sharding<@mesh, {{\[\[}}"dp"], [], []], partial = []>
  %y = xf.linear %h, %down, %b : (tensor<4x8x64xf32>, tensor<16x64xf32>, tensor<16xf32>) -> tensor<4x8x16xf32>
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss, %x : tensor<f32>, tensor<4x8x16xf32>
}
func.func @backward(%tokens: tensor<4x8xi32>, %labels: tensor<4x8xi32>, %x: tensor<4x8x16xf32> {dist.stream = #dist.sharding<@mesh, [["dp"], [], []], partial = []>}) {
  %up = xf.read @up : tensor<64x16xf32>
  %h = xf.linear %x, %up : (tensor<4x8x16xf32>, tensor<64x16xf32>) -> tensor<4x8x64xf32>
  // CHECK: xf.linear_weight_gradient {{.*}}results = [#dist.sharding<@mesh, {{\[\[}}"tp"], []], partial = ["dp"]>]
  %g = xf.linear_weight_gradient %h, %x : (tensor<4x8x64xf32>, tensor<4x8x16xf32>) -> tensor<64x16xf32>
  xf.accumulate %g, @up.grad : tensor<64x16xf32>
  return
}
// CHECK-LABEL: func.func @update
func.func @update() {
  // Sums over `dp` are formed once, where the update begins.
  // CHECK: %[[G:.*]] = xf.read @up.grad
  // CHECK-NEXT: dist.constrain %[[G]] to <@mesh, {{\[\[}}"tp"], []], partial = []>
  %g = xf.read @up.grad : tensor<64x16xf32>
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
