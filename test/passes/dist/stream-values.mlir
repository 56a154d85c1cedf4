// RUN: hocket-opt %s --dist-propagate-shardings --dist-partition | FileCheck %s

// What is of the residual stream follows from an argument that says so and from
// what ops tie to it, not from shapes: a branch that is added to the stream is
// reduced into the stream's shards; another value of the same shape is not.

module {
dist.mesh @mesh ["tp"] sizes [2]
xf.variable @table : tensor<32x16xf32> {dist.sharding = #dist.sharding<@mesh, [["tp"], []], partial = []>, kind = #xf.variable_kind<parameter>}
xf.variable @up : tensor<64x16xf32> {dist.sharding = #dist.sharding<@mesh, [["tp"], []], partial = []>, kind = #xf.variable_kind<parameter>}
xf.variable @down : tensor<16x64xf32> {dist.sharding = #dist.sharding<@mesh, [[], ["tp"]], partial = []>, kind = #xf.variable_kind<parameter>}

// CHECK-LABEL: func.func private @layer
// CHECK-NOT: dist.stream
func.func private @layer(%x: tensor<4x8x16xf32> {dist.stream = #dist.sharding<@mesh, [[], ["tp"], []], partial = []>}) -> tensor<4x8x16xf32> {
  %up = xf.read @up : tensor<64x16xf32>
  %down = xf.read @down : tensor<16x64xf32>
  // CHECK: dist.all_gather %{{.*}} dim 1 over ["tp"]
  %h = xf.linear %x, %up : (tensor<4x8x16xf32>, tensor<64x16xf32>) -> tensor<4x8x64xf32>
  // CHECK: %[[SHAPED:.*]] = xf.linear {{.*}} -> tensor<4x8x16xf32>
  // CHECK: dist.all_reduce %[[SHAPED]] over ["tp"]
  // CHECK-NEXT: xf.activation
  %shaped = xf.linear %h, %down : (tensor<4x8x64xf32>, tensor<16x64xf32>) -> tensor<4x8x16xf32>
  %other = xf.activation %shaped {kind = #xf.activation_kind<relu>} : (tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  // CHECK: %[[BRANCH:.*]] = xf.linear {{.*}} -> tensor<4x8x16xf32>
  // CHECK: %[[FIRST:.*]] = dist.reduce_scatter %[[BRANCH]] dim 1 over ["tp"]
  // CHECK-NEXT: %[[KEPT:.*]] = xf.activation %[[FIRST]]
  // CHECK-NEXT: xf.add %{{.*}}, %[[KEPT]]
  %branch = xf.linear %h, %down : (tensor<4x8x64xf32>, tensor<16x64xf32>) -> tensor<4x8x16xf32>
  %kept = xf.activation %branch {kind = #xf.activation_kind<relu>} : (tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  %y = xf.add %x, %kept : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  return %y : tensor<4x8x16xf32>
}
// CHECK-LABEL: func.func @forward
func.func @forward(%tokens: tensor<4x8xi32>, %labels: tensor<4x8xi32>) -> tensor<f32> {
  %table = xf.read @table : tensor<32x16xf32>
  %x = xf.embedding %tokens, %table : (tensor<4x8xi32>, tensor<32x16xf32>) -> tensor<4x8x16xf32>
  // CHECK: %[[X:.*]] = dist.reduce_scatter %{{.*}} dim 1 over ["tp"]
  // CHECK: call @layer(%[[X]]) : (tensor<4x4x16xf32>) -> tensor<4x4x16xf32>
  %y = call @layer(%x) : (tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
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
