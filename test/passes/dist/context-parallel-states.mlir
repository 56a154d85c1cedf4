// RUN: split-file %s %t
// RUN: cat %t/two %t/step | hocket-opt --dist-propagate-shardings --dist-partition | FileCheck %s
// RUN: cat %t/eight %t/step | not hocket-opt --dist-propagate-shardings 2>&1 | FileCheck %s --check-prefix=FEW

// Two ranks share sequences of 8 positions. Convolutions and the scan see whole
// ones, of half of the channels and heads; three channels cannot be shared, and
// are convolved by both.

// FEW: error: D31: axis cp of 8 devices splits no heads of 'tensor<2x8x4x3xf32>'

//--- two
module {
dist.mesh @mesh ["cp"] sizes [2] context all_gather
//--- eight
module {
dist.mesh @mesh ["cp"] sizes [8] context all_gather
//--- step
xf.variable @table : tensor<32x12xf32> {dist.sharding = #dist.sharding<@mesh, [[], []], partial = []>, kind = #xf.variable_kind<parameter>}
xf.variable @maps : tensor<32x3xf32> {dist.sharding = #dist.sharding<@mesh, [[], []], partial = []>, kind = #xf.variable_kind<parameter>}
xf.variable @steps : tensor<32x4xf32> {dist.sharding = #dist.sharding<@mesh, [[], []], partial = []>, kind = #xf.variable_kind<parameter>}
xf.variable @conv : tensor<12x4xf32> {dist.sharding = #dist.sharding<@mesh, [[], []], partial = []>, kind = #xf.variable_kind<parameter>}
xf.variable @conv_maps : tensor<3x4xf32> {dist.sharding = #dist.sharding<@mesh, [[], []], partial = []>, kind = #xf.variable_kind<parameter>}
xf.variable @heads : tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [[]], partial = []>, kind = #xf.variable_kind<parameter>}
// CHECK-LABEL: func.func @forward(
func.func @forward(%tokens: tensor<2x8xi32> {dist.sharding = #dist.sharding<@mesh, [[], ["cp"]], partial = []>}, %labels: tensor<2x8xi32> {dist.sharding = #dist.sharding<@mesh, [[], ["cp"]], partial = []>}) -> tensor<f32> {
  %t = xf.read @table : tensor<32x12xf32>
  %m = xf.read @maps : tensor<32x3xf32>
  %s = xf.read @steps : tensor<32x4xf32>
  %w = xf.read @conv : tensor<12x4xf32>
  %wm = xf.read @conv_maps : tensor<3x4xf32>
  %a = xf.read @heads : tensor<4xf32>
  // CHECK: %[[X:.*]] = xf.embedding {{.*}} -> tensor<2x4x12xf32>
  %x = xf.embedding %tokens, %t : (tensor<2x8xi32>, tensor<32x12xf32>) -> tensor<2x8x12xf32>
  // CHECK: %[[B:.*]] = xf.embedding {{.*}} -> tensor<2x4x3xf32>
  %b = xf.embedding %tokens, %m : (tensor<2x8xi32>, tensor<32x3xf32>) -> tensor<2x8x3xf32>
  // CHECK: %[[D:.*]] = xf.embedding {{.*}} -> tensor<2x4x4xf32>
  %d = xf.embedding %tokens, %s : (tensor<2x8xi32>, tensor<32x4xf32>) -> tensor<2x8x4xf32>
  // CHECK: dist.all_to_all %[[X]] split 2 concat 1 over ["cp"] {{.*}} to tensor<2x8x6xf32>
  // CHECK: xf.causal_conv {{.*}} : (tensor<2x8x6xf32>, tensor<6x4xf32>) -> tensor<2x8x6xf32>
  %cx = xf.causal_conv %x, %w : (tensor<2x8x12xf32>, tensor<12x4xf32>) -> tensor<2x8x12xf32>
  // CHECK: dist.all_gather %[[B]] dim 1 over ["cp"]
  // CHECK: xf.causal_conv {{.*}} : (tensor<2x8x3xf32>, tensor<3x4xf32>) -> tensor<2x8x3xf32>
  %cb = xf.causal_conv %b, %wm : (tensor<2x8x3xf32>, tensor<3x4xf32>) -> tensor<2x8x3xf32>
  %hx = xf.reshape %cx : (tensor<2x8x12xf32>) -> tensor<2x8x4x3xf32>
  %hb = xf.reshape %cb : (tensor<2x8x3xf32>) -> tensor<2x8x1x3xf32>
  // CHECK: dist.all_to_all %[[D]] split 2 concat 1 over ["cp"] {{.*}} to tensor<2x8x2xf32>
  // CHECK: %[[Y:.*]] = xf.state_scan {{.*}} -> tensor<2x8x2x3xf32>
  // CHECK: dist.all_to_all %[[Y]] split 1 concat 2 over ["cp"] {{.*}} to tensor<2x4x4x3xf32>
  %y = xf.state_scan %hx, %d, %hb, %hb, %a, %a, %a : (tensor<2x8x4x3xf32>, tensor<2x8x4xf32>, tensor<2x8x1x3xf32>, tensor<2x8x1x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x8x4x3xf32>
  // CHECK: xf.activation {{.*}} -> tensor<2x4x4x3xf32>
  %z = xf.activation %y {kind = #xf.activation_kind<gelu>} : (tensor<2x8x4x3xf32>) -> tensor<2x8x4x3xf32>
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
