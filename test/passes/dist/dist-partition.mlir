// RUN: hocket-opt %s --dist-partition | FileCheck %s

// Two devices along `tp` that split features, two along `dp` that split rows.

dist.mesh @mesh ["dp", "tp"] sizes [2, 2]

// Devices hold shards, and remember the whole.
// CHECK: xf.variable @w : tensor<32x16xf32> {{.*}}whole = tensor<64x16xf32>
xf.variable @w : tensor<64x16xf32> {dist.sharding = #dist.sharding<@mesh, [["tp"], []], partial = []>, kind = #xf.variable_kind<parameter>}
// 9 rows over 2 devices: 5 each, one of them padding.
// CHECK: xf.variable @odd : tensor<5xf32> {{.*}}whole = tensor<9xf32>
xf.variable @odd : tensor<9xf32> {dist.sharding = #dist.sharding<@mesh, [["dp"]], partial = []>, kind = #xf.variable_kind<parameter>}

// CHECK-LABEL: func.func @sums(
// CHECK-SAME: tensor<2x8x16xf32>
func.func @sums(%x: tensor<4x8x16xf32> {dist.sharding = #dist.sharding<@mesh, [["dp"], [], []], partial = ["tp"]>}) -> (tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>) {
  // Sums that are wanted in shards are scattered; that are wanted whole, reduced.
  // CHECK: dist.reduce_scatter %{{.*}} dim 1 over ["tp"] {why = "an argument gives {{\[\[}}dp], [], []], partial = [tp], add wants {{\[\[}}dp], [tp], []], partial = []"} : tensor<2x8x16xf32> to tensor<2x4x16xf32>
  // CHECK: xf.add {{.*}} : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
  %a = xf.add %x, %x {dist.placement = #dist.placement<operands = [#dist.sharding<@mesh, [["dp"], ["tp"], []], partial = []>, #dist.sharding<@mesh, [["dp"], ["tp"], []], partial = []>], results = [#dist.sharding<@mesh, [["dp"], ["tp"], []], partial = []>]>} : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  // A value that two ops want in the same way moves once.
  // CHECK: %[[R:.*]] = dist.all_reduce %{{.*}} over ["tp"]
  // CHECK: xf.add %[[R]], %[[R]]
  // CHECK-NOT: dist.all_reduce
  %b = xf.add %x, %x {dist.placement = #dist.placement<operands = [#dist.sharding<@mesh, [["dp"], [], []], partial = []>, #dist.sharding<@mesh, [["dp"], [], []], partial = []>], results = [#dist.sharding<@mesh, [["dp"], [], []], partial = []>]>} : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  // CHECK: xf.add %[[R]], %
  %c = xf.add %x, %b {dist.placement = #dist.placement<operands = [#dist.sharding<@mesh, [["dp"], [], []], partial = []>, #dist.sharding<@mesh, [["dp"], [], []], partial = []>], results = [#dist.sharding<@mesh, [["dp"], [], []], partial = []>]>} : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  return %a, %b, %c : tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>
}

// CHECK-LABEL: func.func @moves(
func.func @moves(%x: tensor<4x8x16xf32> {dist.sharding = #dist.sharding<@mesh, [["dp"], ["tp"], []], partial = []>}) -> tensor<4x8x16xf32> {
  // An axis that leaves one dim for another is an exchange.
  // CHECK: dist.all_to_all %{{.*}} split 2 concat 1 over ["tp"] {{.*}}: tensor<2x4x16xf32> to tensor<2x8x8xf32>
  %a = dist.constrain %x to <@mesh, [["dp"], [], ["tp"]], partial = []> {dist.placement = #dist.placement<operands = [#dist.sharding<@mesh, [["dp"], [], ["tp"]], partial = []>], results = [#dist.sharding<@mesh, [["dp"], [], ["tp"]], partial = []>]>} : tensor<4x8x16xf32>
  // CHECK: dist.all_gather %{{.*}} dim 2 over ["tp"] {{.*}}: tensor<2x8x8xf32> to tensor<2x8x16xf32>
  %b = dist.constrain %a to <@mesh, [["dp"], [], []], partial = []> {dist.placement = #dist.placement<operands = [#dist.sharding<@mesh, [["dp"], [], []], partial = []>], results = [#dist.sharding<@mesh, [["dp"], [], []], partial = []>]>} : tensor<4x8x16xf32>
  // CHECK: dist.slice %{{.*}} dim 1 over ["tp"] {{.*}}: tensor<2x8x16xf32> to tensor<2x4x16xf32>
  %c = dist.constrain %b to <@mesh, [["dp"], ["tp"], []], partial = []> {dist.placement = #dist.placement<operands = [#dist.sharding<@mesh, [["dp"], ["tp"], []], partial = []>], results = [#dist.sharding<@mesh, [["dp"], ["tp"], []], partial = []>]>} : tensor<4x8x16xf32>
  return %c : tensor<4x8x16xf32>
}

// 9 rows lie in blocks of 3 over four devices and in blocks of 5 over two, which
// are not made of those: the dim is gathered whole and sliced again.
// CHECK-LABEL: func.func @padded(
func.func @padded(%x: tensor<9x16xf32> {dist.sharding = #dist.sharding<@mesh, [["dp", "tp"], []], partial = []>}) -> tensor<9x16xf32> {
  // CHECK: %[[G:.*]] = dist.all_gather %{{.*}} dim 0 over ["dp", "tp"] {{.*}}: tensor<3x16xf32> to tensor<9x16xf32>
  // CHECK: dist.slice %[[G]] dim 0 over ["dp"] {{.*}}: tensor<9x16xf32> to tensor<5x16xf32>
  %a = dist.constrain %x to <@mesh, [["dp"], []], partial = []> {dist.placement = #dist.placement<operands = [#dist.sharding<@mesh, [["dp"], []], partial = []>], results = [#dist.sharding<@mesh, [["dp"], []], partial = []>]>} : tensor<9x16xf32>
  // CHECK: %[[H:.*]] = dist.all_gather %{{.*}} dim 0 over ["dp"] {{.*}}: tensor<5x16xf32> to tensor<9x16xf32>
  // CHECK: dist.slice %[[H]] dim 0 over ["dp", "tp"] {{.*}}: tensor<9x16xf32> to tensor<3x16xf32>
  %b = dist.constrain %a to <@mesh, [["dp", "tp"], []], partial = []> {dist.placement = #dist.placement<operands = [#dist.sharding<@mesh, [["dp", "tp"], []], partial = []>], results = [#dist.sharding<@mesh, [["dp", "tp"], []], partial = []>]>} : tensor<9x16xf32>
  return %b : tensor<9x16xf32>
}

// Sums are scattered only into blocks that are there, and 8 rows nest.
// CHECK-LABEL: func.func @padded_sums(
func.func @padded_sums(%x: tensor<9x16xf32> {dist.sharding = #dist.sharding<@mesh, [["dp"], []], partial = ["tp"]>}, %y: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [["dp"], []], partial = ["tp"]>}) -> (tensor<9x16xf32>, tensor<8x16xf32>) {
  // CHECK: dist.all_reduce %{{.*}} over ["tp"] {{.*}}: tensor<5x16xf32>
  // CHECK: dist.all_gather %{{.*}} dim 0 over ["dp"] {{.*}}: tensor<5x16xf32> to tensor<9x16xf32>
  // CHECK: dist.slice %{{.*}} dim 0 over ["dp", "tp"] {{.*}}: tensor<9x16xf32> to tensor<3x16xf32>
  %a = dist.constrain %x to <@mesh, [["dp", "tp"], []], partial = []> {dist.placement = #dist.placement<operands = [#dist.sharding<@mesh, [["dp", "tp"], []], partial = []>], results = [#dist.sharding<@mesh, [["dp", "tp"], []], partial = []>]>} : tensor<9x16xf32>
  // CHECK: dist.reduce_scatter %{{.*}} dim 0 over ["tp"] {{.*}}: tensor<4x16xf32> to tensor<2x16xf32>
  %b = dist.constrain %y to <@mesh, [["dp", "tp"], []], partial = []> {dist.placement = #dist.placement<operands = [#dist.sharding<@mesh, [["dp", "tp"], []], partial = []>], results = [#dist.sharding<@mesh, [["dp", "tp"], []], partial = []>]>} : tensor<8x16xf32>
  return %a, %b : tensor<9x16xf32>, tensor<8x16xf32>
}

// A split table is told where it starts; an id of another shard gives zeros.
// CHECK-LABEL: func.func @table(
func.func @table(%ids: tensor<4x8xi32> {dist.sharding = #dist.sharding<@mesh, [["dp"], []], partial = []>}) -> tensor<4x8x16xf32> {
  %w = xf.read @w {dist.placement = #dist.placement<results = [#dist.sharding<@mesh, [["tp"], []], partial = []>]>} : tensor<64x16xf32>
  // CHECK: %[[O:.*]] = dist.offset over ["tp"] step 32
  // CHECK: xf.embedding %{{.*}}, %{{.*}}, %[[O]] : (tensor<2x8xi32>, tensor<32x16xf32>, i32) -> tensor<2x8x16xf32>
  %x = xf.embedding %ids, %w {dist.placement = #dist.placement<operands = [#dist.sharding<@mesh, [["dp"], []], partial = []>, #dist.sharding<@mesh, [["tp"], []], partial = []>], results = [#dist.sharding<@mesh, [["dp"], [], []], partial = ["tp"]>]>} : (tensor<4x8xi32>, tensor<64x16xf32>) -> tensor<4x8x16xf32>
  return %x : tensor<4x8x16xf32>
}

// Random numbers are counted over the whole tensor.
// CHECK-LABEL: func.func @dropped(
func.func @dropped(%x: tensor<4x8x16xf32> {dist.sharding = #dist.sharding<@mesh, [["dp"], ["tp"], []], partial = []>}, %layer: i32) -> tensor<4x8x16xf32> {
  // CHECK: %[[B:.*]] = dist.offset over ["dp"] step 2
  // CHECK: %[[S:.*]] = dist.offset over ["tp"] step 4
  // CHECK: xf.dropout %{{.*}}, %{{.*}} at(%[[B]], %[[S]]) {dims = array<i64: 0, 1>, parts = array<i64: 0, 0>, rate = {{.*}}, stream = 3 : i32, whole = array<i64: 4, 8, 16>} : (tensor<2x4x16xf32>, i32, i32, i32) -> tensor<2x4x16xf32>
  %y = xf.dropout %x, %layer {dist.placement = #dist.placement<operands = [#dist.sharding<@mesh, [["dp"], ["tp"], []], partial = []>, unit], results = [#dist.sharding<@mesh, [["dp"], ["tp"], []], partial = []>]>, rate = 0.1, stream = 3 : i32} : (tensor<4x8x16xf32>, i32) -> tensor<4x8x16xf32>
  return %y : tensor<4x8x16xf32>
}

// The norm over all gradients is formed of the norms of shards.
// CHECK-LABEL: func.func @norm(
func.func @norm(%a: tensor<64x16xf32> {dist.sharding = #dist.sharding<@mesh, [["tp"], []], partial = []>}, %b: tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [[]], partial = []>}) -> tensor<f32> {
  // CHECK: %[[N:.*]], %{{.*}} = xf.global_norm %{{[a-z0-9]*}} : (tensor<32x16xf32>)
  // CHECK: %[[V:.*]] = xf.reshape %[[N]]
  // CHECK: %[[G:.*]] = dist.all_gather %[[V]] dim 0 over ["tp"] {{.*}}: tensor<1xf32> to tensor<2xf32>
  // CHECK: xf.global_norm %{{[a-z0-9]*}}, %[[G]] : (tensor<16xf32>, tensor<2xf32>)
  %n, %bad = xf.global_norm %a, %b {dist.placement = #dist.placement<operands = [#dist.sharding<@mesh, [["tp"], []], partial = []>, #dist.sharding<@mesh, [[]], partial = []>], results = [#dist.sharding<@mesh, [], partial = []>, #dist.sharding<@mesh, [], partial = []>]>} : (tensor<64x16xf32>, tensor<16xf32>) -> (tensor<f32>, tensor<f32>)
  return %n : tensor<f32>
}

// The largest magnitude is that of all shards; codes follow the tensor.
// CHECK-LABEL: func.func @quantized(
func.func @quantized(%x: tensor<4x8xbf16> {dist.sharding = #dist.sharding<@mesh, [["dp"], ["tp"]], partial = []>}) -> tensor<4x8xf8E4M3FN> {
  // CHECK: %[[OWN:.*]] = xf.amax %[[X:.*]] : (tensor<2x4xbf16>) -> tensor<f32>
  // CHECK: %[[ONE:.*]] = xf.reshape %[[OWN]] : (tensor<f32>) -> tensor<1xf32>
  // CHECK: %[[ALL:.*]] = dist.all_gather %[[ONE]] dim 0 over ["dp", "tp"] {why = "the largest of a tensor in shards is wanted"} : tensor<1xf32> to tensor<4xf32>
  // CHECK: %[[A:.*]] = xf.amax %[[ALL]] : (tensor<4xf32>) -> tensor<f32>
  %a = xf.amax %x {dist.placement = #dist.placement<operands = [#dist.sharding<@mesh, [["dp"], ["tp"]], partial = []>], results = [#dist.sharding<@mesh, [], partial = []>]>} : (tensor<4x8xbf16>) -> tensor<f32>
  // CHECK: %[[Q:.*]] = xf.quantize %[[X]], %[[A]] : (tensor<2x4xbf16>, tensor<f32>) -> tensor<2x4xf8E4M3FN>
  %q = xf.quantize %x, %a {dist.placement = #dist.placement<operands = [#dist.sharding<@mesh, [["dp"], ["tp"]], partial = []>, #dist.sharding<@mesh, [], partial = []>], results = [#dist.sharding<@mesh, [["dp"], ["tp"]], partial = []>]>} : (tensor<4x8xbf16>, tensor<f32>) -> tensor<4x8xf8E4M3FN>
  // CHECK: dist.all_gather %[[Q]] dim 1 over ["tp"] {{.*}} : tensor<2x4xf8E4M3FN> to tensor<2x8xf8E4M3FN>
  %r = dist.constrain %q to <@mesh, [["dp"], []], partial = []> {dist.placement = #dist.placement<operands = [#dist.sharding<@mesh, [["dp"], []], partial = []>], results = [#dist.sharding<@mesh, [["dp"], []], partial = []>]>} : tensor<4x8xf8E4M3FN>
  return %r : tensor<4x8xf8E4M3FN>
}
