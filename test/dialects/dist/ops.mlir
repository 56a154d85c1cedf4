// RUN: hocket-opt %s | hocket-opt | FileCheck %s

// CHECK: dist.mesh @mesh ["dp", "tp"] sizes [2, 4]
dist.mesh @mesh ["dp", "tp"] sizes [2, 4]

// CHECK: xf.variable @w : tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, {{\[\[}}"dp"], ["tp"]], partial = []>
xf.variable @w : tensor<8x8xf32> {kind = #xf.variable_kind<parameter>, dist.sharding = #dist.sharding<@mesh, [["dp"], ["tp"]], partial = []>}

// CHECK: func.func @f(%{{.*}}: tensor<2x4xi32> {dist.sharding = #dist.sharding<@mesh, {{\[\[}}], []], partial = ["tp"]>})
func.func @f(%x: tensor<2x4xi32> {dist.sharding = #dist.sharding<@mesh, [[], []], partial = ["tp"]>}) {
  return
}

// CHECK-LABEL: func.func @shift(
// CHECK: dist.shift %{{.*}} over ["tp"] : tensor<2x4xf32>
func.func @shift(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %y = dist.shift %x over ["tp"] : tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
