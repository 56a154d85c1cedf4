// What is wrong with heads that are joined and cut.
// RUN: hocket-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<2x6x4x3xf32>, %r: tensor<2x6x2x5xf32>) {
  // expected-error @+1 {{X126: front has shape [2, 6, 2, 5], expected [2, 6, 4, 5]}}
  %y = xf.join_heads %x, %r : (tensor<2x6x4x3xf32>, tensor<2x6x2x5xf32>) -> tensor<2x6x4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x6x4x3xf32>, %r: tensor<2x6x1x5xf32>) {
  // expected-error @+1 {{X126: result has shape [2, 6, 4, 9], expected [2, 6, 4, 8]}}
  %y = xf.join_heads %x, %r : (tensor<2x6x4x3xf32>, tensor<2x6x1x5xf32>) -> tensor<2x6x4x9xf32>
  return
}

// -----

func.func @f(%x: tensor<2x6x4x3xf32>) {
  // expected-error @+1 {{X126: result has shape [2, 6, 4, 2], expected [2, 6, 4, 3]}}
  %y = xf.join_heads %x : (tensor<2x6x4x3xf32>) -> tensor<2x6x4x2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x6x4x3xf32>) {
  // expected-error @+1 {{X127: 2 channels from 2 on are no part of heads of 3}}
  %y = xf.part_heads %x {first = 2 : i64} : (tensor<2x6x4x3xf32>) -> tensor<2x6x4x2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x6x4x3xf32>) {
  // expected-error @+1 {{X127: result has shape [2, 6, 4, 2], expected [2, 6, 1, 2]}}
  %y = xf.sum_heads %x : (tensor<2x6x4x3xf32>) -> tensor<2x6x4x2xf32>
  return
}
