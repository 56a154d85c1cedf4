// RUN: split-file %s %t
// RUN: cat %t/all_gather %t/step | hocket-opt --dist-propagate-shardings --dist-partition | FileCheck %s --check-prefixes=CHECK,GATHER
// RUN: cat %t/ring %t/step | hocket-opt --dist-propagate-shardings --dist-partition --dist-ring-attention | FileCheck %s --check-prefixes=CHECK,RING
// RUN: cat %t/all_to_all %t/step | hocket-opt --dist-propagate-shardings --dist-partition | FileCheck %s --check-prefixes=CHECK,HEADS

// Four ranks share sequences of 8 positions, along two axes that only experts tell
// apart. To attention they are one group: one collective each, and one ring.

//--- all_gather
module {
dist.mesh @mesh ["cp.0", "cp.1"] sizes [2, 2] context all_gather
//--- ring
module {
dist.mesh @mesh ["cp.0", "cp.1"] sizes [2, 2] context ring
//--- all_to_all
module {
dist.mesh @mesh ["cp.0", "cp.1"] sizes [2, 2] context all_to_all
//--- step
xf.variable @table : tensor<32x16xf32> {dist.sharding = #dist.sharding<@mesh, [[], []], partial = []>, kind = #xf.variable_kind<parameter>}
// CHECK-LABEL: func.func @forward(
func.func @forward(%tokens: tensor<2x8xi32> {dist.sharding = #dist.sharding<@mesh, [[], ["cp.0", "cp.1"]], partial = []>}, %labels: tensor<2x8xi32> {dist.sharding = #dist.sharding<@mesh, [[], ["cp.0", "cp.1"]], partial = []>}) -> tensor<f32> {
  %t = xf.read @table : tensor<32x16xf32>
  %x = xf.embedding %tokens, %t : (tensor<2x8xi32>, tensor<32x16xf32>) -> tensor<2x8x16xf32>
  // CHECK: %[[V:.*]] = xf.reshape %{{.*}} -> tensor<2x2x4x4xf32>
  %v = xf.reshape %x : (tensor<2x8x16xf32>) -> tensor<2x8x4x4xf32>
  // CHECK: %[[FIRST:.*]] = dist.offset over ["cp.0", "cp.1"] step 2
  // CHECK: xf.rope_table %[[FIRST]] {{.*}}part = 1 : i64, whole = 8 : i64} : (i32) -> tensor<2x2x2xf32>
  %r = xf.rope_table {inverse_frequencies = array<f64: 1.0, 0.1>, part = 1 : i64} : () -> tensor<8x2x2xf32>
  // CHECK: %[[K:.*]] = xf.rope {{.*}} -> tensor<2x2x4x4xf32>
  %k = xf.rope %v, %r : (tensor<2x8x4x4xf32>, tensor<8x2x2xf32>) -> tensor<2x8x4x4xf32>
  // GATHER: %[[AK:.*]] = dist.all_gather %[[K]] dim 1 over ["cp.0", "cp.1"] {{.*}}: tensor<2x2x4x4xf32> to tensor<2x8x4x4xf32>
  // GATHER: %[[AV:.*]] = dist.all_gather %[[V]] dim 1 over ["cp.0", "cp.1"]
  // GATHER-NOT: = dist.all
  // GATHER: xf.attention %[[K]], %[[AK]], %[[AV]] from({{.*}}) {{.*}}whole = array<i64: 2, 4, 8>} : (tensor<2x2x4x4xf32>, tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>, i32, i32, i32, i32)
  // RING-NOT: dist.all
  // RING-COUNT-6: dist.shift %{{.*}} over ["cp.0", "cp.1"]
  // RING-NOT: dist.shift
  // Keys, which are queries here, and values, which are moved as they are kept.
  // HEADS: dist.all_to_all %[[K]] split 2 concat 1 over ["cp.0", "cp.1"] {{.*}}: tensor<2x2x4x4xf32> to tensor<2x8x1x4xf32>
  // HEADS: dist.all_to_all %{{.*}} split 2 concat 1 over ["cp.0", "cp.1"] {{.*}}: tensor<2x2x16xf32> to tensor<2x8x4xf32>
  // HEADS-NOT: = dist.all
  // HEADS: xf.attention %{{.*}} -> (tensor<2x8x1x4xf32>, tensor<2x1x8xf32>)
  // HEADS-NEXT: dist.all_to_all %{{.*}} split 1 concat 2 over ["cp.0", "cp.1"] {{.*}}: tensor<2x8x1x4xf32> to tensor<2x2x4x4xf32>
  %o, %l = xf.attention %k, %k, %v {causal, scale = 0.5, part = 1 : i64} : (tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>) -> (tensor<2x8x4x4xf32>, tensor<2x4x8xf32>)
  // CHECK: xf.activation {{.*}} : (tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
  %y = xf.activation %o {kind = #xf.activation_kind<gelu>} : (tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32>
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
func.func @backward(%tokens: tensor<2x8xi32>, %labels: tensor<2x8xi32>) {
  return
}
func.func @update() {
  return
}
func.func @evaluate(%tokens: tensor<2x8xi32> {dist.sharding = #dist.sharding<@mesh, [[], ["cp.0", "cp.1"]], partial = []>}, %labels: tensor<2x8xi32> {dist.sharding = #dist.sharding<@mesh, [[], ["cp.0", "cp.1"]], partial = []>}) -> tensor<f32> {
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
xf.step microbatches(1) forward(@forward) backward(@backward) update(@update) evaluate(@evaluate)
}
