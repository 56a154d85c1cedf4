// RUN: hocket-opt %s --split-input-file --xf-set-plan="plan=dp=2,tp=2,sp=1" --convert-xf-to-dist --verify-diagnostics | FileCheck %s

// A layer says which argument the residual stream is.

// CHECK: func.func private @layer(%{{.*}}: i32, %{{.*}}: tensor<2x4x8xf32> {dist.stream = #dist.sharding<@mesh, {{\[\[}}"dp"], ["tp"], []], partial = []>})
func.func private @layer(%i: i32, %x: tensor<2x4x8xf32> {xf.stream}) -> tensor<2x4x8xf32> {
  return %x : tensor<2x4x8xf32>
}
func.func @evaluate(%t: tensor<2x4xi32>, %l: tensor<2x4xi32>, %i: i32) -> tensor<f32> {
  %x = xf.constant {value = 1.0} : () -> tensor<2x4x8xf32>
  %y = call @layer(%i, %x) : (i32, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
xf.serve evaluate(@evaluate) {alone}

// -----

// Without a mark it is not guessed, and that is said once.

// expected-warning @+2 {{no argument of @layer is marked as the residual stream, so partial sums are formed where they are first needed: write `{xf.stream}` behind the type of the argument that is}}
// CHECK: func.func private @layer(%{{.*}}: tensor<2x4x8xf32>) ->
func.func private @layer(%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  return %x : tensor<2x4x8xf32>
}
func.func @evaluate(%t: tensor<2x4xi32>, %l: tensor<2x4xi32>) -> tensor<f32> {
  %x = xf.constant {value = 1.0} : () -> tensor<2x4x8xf32>
  %y = call @layer(%x) : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %z = call @layer(%y) : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
xf.serve evaluate(@evaluate) {alone}

// -----

// A stream has three dims.

// expected-error @+1 {{D4: a sharding of 3 dims stands on 'tensor<2x4xf32>'}}
func.func private @layer(%x: tensor<2x4xf32> {xf.stream}) -> tensor<2x4xf32> {
  return %x : tensor<2x4xf32>
}
func.func @evaluate(%t: tensor<2x4xi32>, %l: tensor<2x4xi32>) -> tensor<f32> {
  %x = xf.constant {value = 1.0} : () -> tensor<2x4xf32>
  %y = call @layer(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
xf.serve evaluate(@evaluate) {alone}
