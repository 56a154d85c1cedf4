// RUN: hocket-opt %s --split-input-file --count-model-flops | FileCheck %s

// One token costs 2 * 8 * 16 in the head and twice 2 * 8 * 8 in the layer, and
// three times that with the backward pass: 3 * (256 + 2 * 128) = 1536.
// CHECK: module attributes {hocket.flops_per_token = 1.536000e+03 : f64}
module {
  func.func private @layer(%x: tensor<2x4x8xf32>, %w: tensor<8x8xf32>) -> tensor<2x4x8xf32> {
    %y = xf.linear %x, %w : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    return %y : tensor<2x4x8xf32>
  }
  xf.variable @e : tensor<16x8xf32> {kind = #xf.variable_kind<parameter>}
  xf.variable @w : tensor<8x8xf32> {kind = #xf.variable_kind<parameter>}
  func.func @forward(%t: tensor<2x4xi32>) -> tensor<2x4x16xf32> {
    %e = xf.read @e : tensor<16x8xf32>
    %w = xf.read @w : tensor<8x8xf32>
    // What is no GEMM does not count.
    %x = xf.embedding %t, %e : (tensor<2x4xi32>, tensor<16x8xf32>) -> tensor<2x4x8xf32>
    %0 = func.call @layer(%x, %w) : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %1 = func.call @layer(%0, %w) : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %2 = xf.linear %1, %e : (tensor<2x4x8xf32>, tensor<16x8xf32>) -> tensor<2x4x16xf32>
    return %2 : tensor<2x4x16xf32>
  }
}

// -----

// Without a forward pass there is nothing to count.
// CHECK: module {
// CHECK-NOT: flops_per_token
module {
  func.func @other() {
    return
  }
}

// -----

// Experts cost what their tokens cost: 2 of 4 experts of 2 * 16 * 8 each a
// token, whatever the capacity is. 3 * 2 * 256 = 1536.
// CHECK: module attributes {hocket.flops_per_token = 1.536000e+03 : f64}
module {
  xf.variable @x : tensor<2x4x8xf32> {kind = #xf.variable_kind<parameter>}
  xf.variable @w : tensor<4x16x8xf32> {kind = #xf.variable_kind<parameter>}
  func.func @forward(%t: tensor<2x4xi32>, %e: tensor<2x4x2xi32>) -> tensor<4x2x3x16xf32> {
    %x = xf.read @x : tensor<2x4x8xf32>
    %w = xf.read @w : tensor<4x16x8xf32>
    %s = xf.expert_order %e {capacity = 3 : i64, experts = 4 : i64} : (tensor<2x4x2xi32>) -> tensor<2x4x2xi32>
    %r = xf.dispatch %x, %s : (tensor<2x4x8xf32>, tensor<2x4x2xi32>) -> tensor<4x2x3x8xf32>
    %y = xf.grouped_linear %r, %w : (tensor<4x2x3x8xf32>, tensor<4x16x8xf32>) -> tensor<4x2x3x16xf32>
    return %y : tensor<4x2x3x16xf32>
  }
}

// -----

// The embedding and the first layer's weight are frozen, the second's is not: 128
// forward alone, then 128 with the gradient of its weight, and the frozen head with
// the one of its input: 128 + 2 * 128 + 2 * 256 = 896.
// CHECK: module attributes {hocket.flops_per_token = 8.960000e+02 : f64}
module {
  func.func private @layer(%x: tensor<2x4x8xf32>, %w: tensor<8x8xf32>) -> tensor<2x4x8xf32> {
    %y = xf.linear %x, %w : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    return %y : tensor<2x4x8xf32>
  }
  xf.variable @e : tensor<16x8xf32> {frozen, kind = #xf.variable_kind<parameter>}
  xf.variable @v : tensor<8x8xf32> {frozen, kind = #xf.variable_kind<parameter>}
  xf.variable @w : tensor<8x8xf32> {kind = #xf.variable_kind<parameter>}
  func.func @forward(%t: tensor<2x4xi32>) -> tensor<2x4x16xf32> {
    %e = xf.read @e : tensor<16x8xf32>
    %v = xf.read @v : tensor<8x8xf32>
    %w = xf.read @w : tensor<8x8xf32>
    %x = xf.embedding %t, %e : (tensor<2x4xi32>, tensor<16x8xf32>) -> tensor<2x4x8xf32>
    %0 = func.call @layer(%x, %v) : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %1 = func.call @layer(%0, %w) : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %2 = xf.linear %1, %e : (tensor<2x4x8xf32>, tensor<16x8xf32>) -> tensor<2x4x16xf32>
    return %2 : tensor<2x4x16xf32>
  }
}

// -----

// A scan takes seven for each number of a state, of x's 2 * 2 for each of B's 4, and
// with its backward pass three times that: 21 * 16 = 336.
// CHECK: module attributes {hocket.flops_per_token = 3.360000e+02 : f64}
module {
  xf.variable @x : tensor<1x6x2x2xf32> {kind = #xf.variable_kind<parameter>}
  xf.variable @n : tensor<2xf32> {kind = #xf.variable_kind<parameter>}
  func.func @forward(%t: tensor<1x6xi32>, %d: tensor<1x6x2xf32>, %b: tensor<1x6x1x4xf32>) -> tensor<1x6x2x2xf32> {
    %x = xf.read @x : tensor<1x6x2x2xf32>
    %n = xf.read @n : tensor<2xf32>
    %y = xf.state_scan %x, %d, %b, %b, %n, %n, %n : (tensor<1x6x2x2xf32>, tensor<1x6x2xf32>, tensor<1x6x1x4xf32>, tensor<1x6x1x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x6x2x2xf32>
    return %y : tensor<1x6x2x2xf32>
  }
}

// -----

// Zeros that fill up values do not count: of 10 pairs of tokens that see each
// other, and 2 heads, 2 * (6 + 3) each, and three times that: 3 * 360 / 4 = 270.
// CHECK: module attributes {hocket.flops_per_token = 2.700000e+02 : f64}
module {
  xf.variable @e : tensor<16x12xf32> {kind = #xf.variable_kind<parameter>}
  xf.variable @v : tensor<16x6xf32> {kind = #xf.variable_kind<parameter>}
  func.func @forward(%t: tensor<1x4xi32>) -> tensor<1x4x2x3xf32> {
    %e = xf.read @e : tensor<16x12xf32>
    %v = xf.read @v : tensor<16x6xf32>
    %x = xf.embedding %t, %e : (tensor<1x4xi32>, tensor<16x12xf32>) -> tensor<1x4x12xf32>
    %y = xf.embedding %t, %v : (tensor<1x4xi32>, tensor<16x6xf32>) -> tensor<1x4x6xf32>
    %q = xf.reshape %x : (tensor<1x4x12xf32>) -> tensor<1x4x2x6xf32>
    %h = xf.reshape %y : (tensor<1x4x6xf32>) -> tensor<1x4x2x3xf32>
    %w = xf.join_heads %h : (tensor<1x4x2x3xf32>) -> tensor<1x4x2x6xf32>
    %o, %l = xf.attention %q, %q, %w {causal, scale = 1.0} : (tensor<1x4x2x6xf32>, tensor<1x4x2x6xf32>, tensor<1x4x2x6xf32>) -> (tensor<1x4x2x6xf32>, tensor<1x2x4xf32>)
    %p = xf.part_heads %o : (tensor<1x4x2x6xf32>) -> tensor<1x4x2x3xf32>
    return %p : tensor<1x4x2x3xf32>
  }
}
