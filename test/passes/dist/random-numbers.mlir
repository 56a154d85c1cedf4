// RUN: hocket-opt %s --dist-propagate-shardings --dist-partition | FileCheck %s

// Masks are counted over the whole tensor, and a shard is told where it starts.

module {
dist.mesh @mesh ["dp"] sizes [2]
xf.variable @table : tensor<32x16xf32> {kind = #xf.variable_kind<parameter>}
func.func @forward(%tokens: tensor<4x8xi32> {dist.sharding = #dist.sharding<@mesh, [["dp"], []], partial = []>}, %labels: tensor<4x8xi32>) -> tensor<f32> {
  %t = xf.read @table : tensor<32x16xf32>
  %x = xf.embedding %tokens, %t : (tensor<4x8xi32>, tensor<32x16xf32>) -> tensor<4x8x16xf32>
  %y = xf.dropout %x {rate = 0.1, stream = 2 : i32} : (tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  %q = xf.reshape %y : (tensor<4x8x16xf32>) -> tensor<4x8x2x8xf32>
  // CHECK: dist.offset over ["dp"] step 2
  // CHECK: xf.dropout {{.*}} whole = array<i64: 4, 8, 16>
  // CHECK: %[[Z:.*]] = arith.constant 0 : i32
  // CHECK: %[[B:.*]] = dist.offset over ["dp"] step 2
  // CHECK: xf.attention %{{.*}}, %{{.*}}, %{{.*}} from(%{{.*}}, %{{.*}}, %[[B]], %{{.*}}) {{.*}}whole = array<i64: 4, 2, 8>
  %o, %lse = xf.attention %q, %q, %q {causal, scale = 0.5, dropout = 0.1, stream = 3 : i32} : (tensor<4x8x2x8xf32>, tensor<4x8x2x8xf32>, tensor<4x8x2x8xf32>) -> (tensor<4x8x2x8xf32>, tensor<4x2x8xf32>)
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
func.func @backward(%tokens: tensor<4x8xi32> {dist.sharding = #dist.sharding<@mesh, [["dp"], []], partial = []>}, %labels: tensor<4x8xi32>) {
  return
}
func.func @update() {
  return
}
func.func @evaluate(%tokens: tensor<4x8xi32> {dist.sharding = #dist.sharding<@mesh, [["dp"], []], partial = []>}, %labels: tensor<4x8xi32>) -> tensor<f32> {
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
xf.step microbatches(1) forward(@forward) backward(@backward) update(@update) evaluate(@evaluate)
}
