// RUN: hocket-opt %s --dist-partition | FileCheck %s
// RUN: sed 's/parts 2/parts 1 rounds 2/' %s | hocket-opt --dist-partition | FileCheck %s --check-prefix=ROUNDS

// Positions are stored out of order, and shared: masks go by position.

module {
dist.mesh @mesh ["cp"] sizes [2] parts 2
// CHECK-LABEL: func.func @dropped(
func.func @dropped(%x: tensor<4x8x16xf32> {dist.sharding = #dist.sharding<@mesh, [[], ["cp"], []], partial = []>}) -> tensor<4x8x16xf32> {
  // CHECK: %[[S:.*]] = dist.offset over ["cp"] step 4
  // CHECK: xf.dropout %{{.*}} at(%[[S]]) {dims = array<i64: 1>, parts = array<i64: 2>, {{.*}}whole = array<i64: 4, 8, 16>} : (tensor<4x4x16xf32>, i32) -> tensor<4x4x16xf32>
  // ROUNDS: xf.dropout %{{.*}} at(%{{.*}}) {dims = array<i64: 1>, parts = array<i64: 1>, {{.*}}rounds = 2 : i64, {{.*}}whole = array<i64: 4, 8, 16>}
  %y = xf.dropout %x {dist.placement = #dist.placement<operands = [#dist.sharding<@mesh, [[], ["cp"], []], partial = []>], results = [#dist.sharding<@mesh, [[], ["cp"], []], partial = []>]>, rate = 0.1, stream = 3 : i32} : (tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  return %y : tensor<4x8x16xf32>
}
}
