// RUN: hocket-opt %s --convert-xf-to-dist | FileCheck %s
// RUN: hocket-opt %s --xf-set-plan=plan=dp=2 --convert-xf-to-dist | FileCheck %s --check-prefix=TWO
// RUN: not hocket-opt %s --xf-set-plan=plan=dp 2>&1 | FileCheck %s --check-prefix=SIZE

// A mesh of one device: every tensor is whole, on every axis.

// CHECK: dist.mesh @mesh ["dp"] sizes [1]
// On two devices sequences are split, and parameters are not.
// TWO: dist.mesh @mesh ["dp"] sizes [2]
// TWO: xf.variable @w : tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, {{\[\[}}], []], partial = []>
// TWO: func.func @forward(%{{.*}}: tensor<2x4xi32> {dist.sharding = #dist.sharding<@mesh, {{\[\[}}"dp"], []], partial = []>}

// SIZE: error: plan: dp has no value; write dp=...

// CHECK: xf.variable @w : tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, {{\[\[}}], []], partial = []>
xf.variable @w : tensor<8x8xf32> {kind = #xf.variable_kind<parameter>}

// What the host hands over is placed; what one function hands to the next is not.
// CHECK: func.func @forward(%{{.*}}: tensor<2x4xi32> {dist.sharding = #dist.sharding<@mesh, {{\[\[}}], []], partial = []>}, %{{.*}}: tensor<2x4xi32> {dist.sharding
func.func @forward(%tokens: tensor<2x4xi32>, %labels: tensor<2x4xi32>) -> (tensor<f32>, tensor<8x8xf32>) {
  %w = xf.read @w : tensor<8x8xf32>
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss, %w : tensor<f32>, tensor<8x8xf32>
}
// CHECK: func.func @backward(%{{.*}}: tensor<2x4xi32>, %{{.*}}: tensor<2x4xi32>, %{{.*}}: tensor<8x8xf32>)
func.func @backward(%tokens: tensor<2x4xi32>, %labels: tensor<2x4xi32>, %w: tensor<8x8xf32>) {
  return
}
// CHECK: func.func @evaluate(%{{.*}}: tensor<2x4xi32> {dist.sharding
func.func @evaluate(%tokens: tensor<2x4xi32>, %labels: tensor<2x4xi32>) -> tensor<f32> {
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
func.func @update() {
  return
}
xf.step microbatches(1) forward(@forward) backward(@backward) update(@update) evaluate(@evaluate)
