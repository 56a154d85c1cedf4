// RUN: hocket-opt %s --dist-propagate-shardings --split-input-file --verify-diagnostics

// D26: who exchanges rows in groups of a size has a mesh that shares experts out
// among as many devices, each with a run of its own.

module {
dist.mesh @mesh ["ep"] sizes [2] experts ["ep"]
func.func @forward(%n: tensor<4x8x2xi32> {dist.sharding = #dist.sharding<@mesh, [["ep"], [], []], partial = []>}, %labels: tensor<4x8x2xi32>) -> tensor<f32> {
  // expected-error @+1 {{D26: 4 runs are exchanged in groups of 2, but the mesh has 2 devices with runs of their own and splits experts over 2}}
  %where = xf.expert_segments %n : (tensor<4x8x2xi32>) -> tensor<4x2x4x2xi32>
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
func.func @backward(%n: tensor<4x8x2xi32>, %labels: tensor<4x8x2xi32>) {
  return
}
func.func @update() {
  return
}
func.func @evaluate(%n: tensor<4x8x2xi32>, %labels: tensor<4x8x2xi32>) -> tensor<f32> {
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
xf.step microbatches(1) forward(@forward) backward(@backward) update(@update) evaluate(@evaluate)
}

// -----

module {
dist.mesh @mesh ["dp", "ep"] sizes [2, 2] experts ["ep"]
func.func @forward(%n: tensor<4x8x2xi32> {dist.sharding = #dist.sharding<@mesh, [["dp", "ep"], [], []], partial = []>}, %labels: tensor<4x8x2xi32>) -> tensor<f32> {
  // expected-error @+1 {{D26: 4 runs are exchanged in groups of 4, but the mesh has 4 devices with runs of their own and splits experts over 2}}
  %where = xf.expert_segments %n : (tensor<4x8x2xi32>) -> tensor<4x4x2x2xi32>
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
func.func @backward(%n: tensor<4x8x2xi32>, %labels: tensor<4x8x2xi32>) {
  return
}
func.func @update() {
  return
}
func.func @evaluate(%n: tensor<4x8x2xi32>, %labels: tensor<4x8x2xi32>) -> tensor<f32> {
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
xf.step microbatches(1) forward(@forward) backward(@backward) update(@update) evaluate(@evaluate)
}
