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

// CHECK-LABEL: func.func @exchange(
// CHECK: %[[Y:.*]] = dist.exchange_rows %{{.*}}, %{{.*}}, %{{.*}} over ["tp"] : (tensor<1x6x5xf32>, tensor<1x8x2xi32>, tensor<1x4x2x2xi32>) -> tensor<1x9x5xf32>
// CHECK: dist.return_rows %[[Y]], %{{.*}}, %{{.*}} over ["tp"] {why = "back"} : (tensor<1x9x5xf32>, tensor<1x8x2xi32>, tensor<1x4x2x2xi32>) -> tensor<1x6x5xf32>
func.func @exchange(%x: tensor<1x6x5xf32>, %r: tensor<1x8x2xi32>, %s: tensor<1x4x2x2xi32>) -> tensor<1x6x5xf32> {
  %y = dist.exchange_rows %x, %r, %s over ["tp"] : (tensor<1x6x5xf32>, tensor<1x8x2xi32>, tensor<1x4x2x2xi32>) -> tensor<1x9x5xf32>
  %z = dist.return_rows %y, %r, %s over ["tp"] {why = "back"} : (tensor<1x9x5xf32>, tensor<1x8x2xi32>, tensor<1x4x2x2xi32>) -> tensor<1x6x5xf32>
  return %z : tensor<1x6x5xf32>
}

// CHECK-LABEL: func.func @placed(
// CHECK: xf.add {{.*}} {dist.placement = #dist.placement<line = 4, moves = {{\[}}unit, [#dist.reason<form_sums over "dp">]], operands = [#dist.sharding<@mesh, {{\[\[}}"dp"]], partial = []>, #dist.sharding<@mesh, {{\[\[}}"dp"]], partial = []>], reasons = {{\[\[}}#dist.reason<chosen line 4>]], results = [#dist.sharding<@mesh, {{\[\[}}"dp"]], partial = []>], split = {{\[\[}}"dp"]]>}
func.func @placed(%x: tensor<4xf32>) {
  %y = xf.add %x, %x {dist.placement = #dist.placement<line = 4, moves = [unit, [#dist.reason<form_sums over "dp">]], operands = [#dist.sharding<@mesh, [["dp"]], partial = []>, #dist.sharding<@mesh, [["dp"]], partial = []>], reasons = [[#dist.reason<chosen line 4>]], results = [#dist.sharding<@mesh, [["dp"]], partial = []>], split = [["dp"]]>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
