// RUN: hocket-opt %s --xf-set-plan="plan=dp=2,tp=2,sp=1" --convert-xf-to-dist | FileCheck %s

// Tokens, rows and pages are shared out as sequences are, heads of keys as those
// of their parameters. A token is alone in its row, so its hidden state is
// nowhere shared by position.

// CHECK: xf.variable @cache.keys : tensor<8x64x2x4xf32> {dist.placement = #dist.placement<reasons = {{\[\[}}#dist.reason<cache_pages over "dp">, #dist.reason<cache_heads over "tp">]]>, dist.sharding = #dist.sharding<@mesh, {{\[\[}}"dp"], [], ["tp"], []], partial = []>
xf.variable @cache.keys : tensor<8x64x2x4xf32> {kind = #xf.variable_kind<cache>}

// CHECK: func.func private @layer(%{{.*}}: tensor<2x4x8xf32> {dist.stream = #dist.sharding<@mesh, {{\[\[}}"dp"], ["tp"], []], partial = []>})
func.func private @layer(%x: tensor<2x4x8xf32> {xf.stream}) -> tensor<2x4x8xf32> {
  %q = xf.constant {value = 1.0} : () -> tensor<2x4x2x4xf32>
  %a, %l = xf.attention %q, %q, %q {causal, scale = 0.5} : (tensor<2x4x2x4xf32>, tensor<2x4x2x4xf32>, tensor<2x4x2x4xf32>) -> (tensor<2x4x2x4xf32>, tensor<2x2x4xf32>)
  return %x : tensor<2x4x8xf32>
}
// CHECK: func.func private @write_layer(%{{.*}}: tensor<4x1x8xf32> {dist.stream = #dist.sharding<@mesh, {{\[\[}}"dp"], [], []], partial = []>})
func.func private @write_layer(%x: tensor<4x1x8xf32> {xf.stream}) -> tensor<4x1x8xf32> {
  return %x : tensor<4x1x8xf32>
}

// CHECK: func.func @evaluate(%{{.*}}: tensor<2x4xi32> {dist.sharding = #dist.sharding<@mesh, {{\[\[}}"dp"], []], partial = []>}
func.func @evaluate(%t: tensor<2x4xi32>, %l: tensor<2x4xi32>) -> tensor<f32> {
  %x = xf.constant {value = 1.0} : () -> tensor<2x4x8xf32>
  %y = call @layer(%x) : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
// CHECK: func.func @write(%{{.*}}: tensor<4x1xi32> {dist.sharding = #dist.sharding<@mesh, {{\[\[}}"dp"], []], partial = []>}
// CHECK-SAME: tensor<2x4xi32> {dist.sharding = #dist.sharding<@mesh, {{\[\[}}"dp"], []], partial = []>}
func.func @write(%tokens: tensor<4x1xi32>, %l: tensor<4x1xi32>, %p: tensor<4x1xi32>, %r: tensor<4x1xi32>, %table: tensor<2x4xi32>) {
  %x = xf.constant {value = 1.0} : () -> tensor<4x1x8xf32>
  %y = call @write_layer(%x) : (tensor<4x1x8xf32>) -> tensor<4x1x8xf32>
  return
}
xf.serve prefill(@write) decode(@write) evaluate(@evaluate) {alone}
