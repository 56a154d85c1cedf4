// RUN: split-file %s %t
// RUN: cat %t/all_gather %t/step | hocket-opt --dist-propagate-shardings --dist-partition | FileCheck %s --check-prefixes=CHECK,GATHER
// RUN: cat %t/ring %t/step | hocket-opt --dist-propagate-shardings --dist-partition | FileCheck %s --check-prefixes=CHECK,RING
// RUN: cat %t/all_to_all %t/step | hocket-opt --dist-propagate-shardings --dist-partition | FileCheck %s --check-prefixes=CHECK,HEADS
// RUN: sed 's/"cp"] sizes \[2]/"cp"] sizes [8]/' %t/all_to_all > %t/eight
// RUN: cat %t/eight %t/step | not hocket-opt --dist-propagate-shardings 2>&1 | FileCheck %s --check-prefix=FEW

// Two ranks share sequences of 8 positions. What goes by position is told where
// the rank's rows are; attention sees other ranks' keys as the strategy says.

// FEW: error: D19: 4 key heads cannot be dealt to 8 devices

//--- all_gather
module {
dist.mesh @mesh ["cp"] sizes [2] context all_gather
//--- ring
module {
dist.mesh @mesh ["cp"] sizes [2] context ring
//--- all_to_all
module {
dist.mesh @mesh ["cp"] sizes [2] context all_to_all
//--- step
xf.variable @table : tensor<32x16xf32> {dist.sharding = #dist.sharding<@mesh, [[], []], partial = []>, kind = #xf.variable_kind<parameter>}
// CHECK-LABEL: func.func @forward(
func.func @forward(%tokens: tensor<2x8xi32> {dist.sharding = #dist.sharding<@mesh, [[], ["cp"]], partial = []>}, %labels: tensor<2x8xi32> {dist.sharding = #dist.sharding<@mesh, [[], ["cp"]], partial = []>}) -> tensor<f32> {
  %t = xf.read @table : tensor<32x16xf32>
  %x = xf.embedding %tokens, %t : (tensor<2x8xi32>, tensor<32x16xf32>) -> tensor<2x8x16xf32>
  // CHECK: %[[V:.*]] = xf.reshape %{{.*}} -> tensor<2x4x4x4xf32>
  %v = xf.reshape %x : (tensor<2x8x16xf32>) -> tensor<2x8x4x4xf32>
  // CHECK: %[[FIRST:.*]] = dist.offset over ["cp"] step 4
  // CHECK: xf.rope_table %[[FIRST]] {{.*}}part = 2 : i64, whole = 8 : i64} : (i32) -> tensor<4x2x2xf32>
  %r = xf.rope_table {inverse_frequencies = array<f64: 1.0, 0.1>, part = 2 : i64} : () -> tensor<8x2x2xf32>
  // CHECK: %[[K:.*]] = xf.rope {{.*}} -> tensor<2x4x4x4xf32>
  %k = xf.rope %v, %r : (tensor<2x8x4x4xf32>, tensor<8x2x2xf32>) -> tensor<2x8x4x4xf32>
  // GATHER: %[[AK:.*]] = dist.all_gather %[[K]] dim 1 over ["cp"]
  // GATHER: %[[AV:.*]] = dist.all_gather %[[V]] dim 1 over ["cp"]
  // GATHER: xf.attention %[[K]], %[[AK]], %[[AV]] from({{.*}}) {{.*}}whole = array<i64: 2, 4, 8>} : (tensor<2x4x4x4xf32>, tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>, i32, i32, i32, i32)
  // RING-NOT: dist.all
  // RING: xf.attention %[[K]], %[[K]], %[[V]] from({{.*}}) {{.*}}whole = array<i64: 2, 4, 8>}
  // HEADS: %[[AK:.*]] = dist.all_to_all %[[K]] split 2 concat 1 over ["cp"]
  // HEADS: xf.attention %{{.*}} -> (tensor<2x8x2x4xf32>, tensor<2x2x8xf32>)
  // HEADS: dist.all_to_all %{{.*}} split 1 concat 2 over ["cp"] {{.*}} to tensor<2x4x4x4xf32>
  %o, %l = xf.attention %k, %k, %v {causal, scale = 0.5, part = 2 : i64} : (tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>) -> (tensor<2x8x4x4xf32>, tensor<2x4x8xf32>)
  // CHECK: xf.activation {{.*}} : (tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xf32>
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
func.func @evaluate(%tokens: tensor<2x8xi32> {dist.sharding = #dist.sharding<@mesh, [[], ["cp"]], partial = []>}, %labels: tensor<2x8xi32> {dist.sharding = #dist.sharding<@mesh, [[], ["cp"]], partial = []>}) -> tensor<f32> {
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
xf.step microbatches(1) forward(@forward) backward(@backward) update(@update) evaluate(@evaluate)
}
