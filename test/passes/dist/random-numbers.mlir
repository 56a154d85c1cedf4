// RUN: not hocket-opt %s --dist-propagate-shardings 2>&1 | FileCheck %s

// Masks are counted over the whole tensor; a piece would draw others.

module {
dist.mesh @mesh ["dp"] sizes [2]
xf.variable @table : tensor<32x16xf32> {kind = #xf.variable_kind<parameter>}
func.func @forward(%tokens: tensor<4x8xi32> {dist.sharding = #dist.sharding<@mesh, [["dp"], []], partial = []>}, %labels: tensor<4x8xi32>) -> tensor<f32> {
  %t = xf.read @table : tensor<32x16xf32>
  %x = xf.embedding %tokens, %t : (tensor<4x8xi32>, tensor<32x16xf32>) -> tensor<4x8x16xf32>
  // CHECK: [[@LINE+1]]:8: error: D18: random numbers are counted over whole tensors, and this one would be split
  %y = xf.dropout %x {probability = 0.1, stream = 2 : i32} : (tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
func.func @backward(%tokens: tensor<4x8xi32>, %labels: tensor<4x8xi32>) {
  return
}
func.func @update() {
  return
}
func.func @evaluate(%tokens: tensor<4x8xi32>, %labels: tensor<4x8xi32>) -> tensor<f32> {
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
xf.step microbatches(1) forward(@forward) backward(@backward) update(@update) evaluate(@evaluate)
}
