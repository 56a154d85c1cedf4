// RUN: hocket-opt %s --dist-ring-attention | FileCheck %s

dist.mesh @mesh ["dp", "cp"] sizes [2, 2]

// Keys and values are sent on before they are attended to.
// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: {{.*}}, %[[K:[a-z0-9]+]]: {{.*}}, %[[V:[a-z0-9]+]]: tensor
// CHECK: %[[K1:.*]] = dist.shift %[[K]] over ["cp"]
// CHECK-NEXT: %[[V1:.*]] = dist.shift %[[V]] over ["cp"]
// CHECK-NEXT: %[[A:.*]], %[[LA:.*]] = xf.attention %[[Q]], %[[K]], %[[V]] from
// CHECK-NOT: dist.shift
// CHECK: %[[B:.*]], %[[LB:.*]] = xf.attention %[[Q]], %[[K1]], %[[V1]] from{{.*}}behind = 8
// CHECK-NEXT: %[[O:.*]], %{{.*}} = xf.merge_attention %[[A]], %[[LA]], %[[B]], %[[LB]]
// CHECK-NEXT: return %[[O]]
func.func @forward(%q: tensor<1x8x4x4xf32>, %k: tensor<1x8x2x4xf32>, %v: tensor<1x8x2x4xf32>, %zero: i32) -> tensor<1x8x4x4xf32> {
  %first = dist.offset over ["cp"] step 8
  %o, %lse = xf.attention %q, %k, %v from (%first, %first, %zero, %zero) {causal, scale = 0.5, part = 4 : i64, whole = array<i64: 1, 4, 16>} : (tensor<1x8x4x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, i32, i32, i32, i32) -> (tensor<1x8x4x4xf32>, tensor<1x4x8xf32>)
  return %o : tensor<1x8x4x4xf32>
}

// Gradients by keys and values travel with them, in f32, and home.
// CHECK-LABEL: func.func @backward(
// CHECK-COUNT-2: dist.shift %{{.*}} over ["cp"] {{.*}}tensor<1x8x2x4xbf16>
// CHECK: %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]] = xf.attention_gradient
// CHECK: %[[WK:.*]] = xf.cast %[[DK]] : (tensor<1x8x2x4xbf16>) -> tensor<1x8x2x4xf32>
// CHECK: %[[SK:.*]] = dist.shift %[[WK]] over ["cp"] {{.*}}tensor<1x8x2x4xf32>
// CHECK: xf.attention_gradient {{.*}}behind = 8
// CHECK: %[[SUM:.*]] = xf.add %[[SK]], %{{.*}}
// CHECK: %[[HOME:.*]] = dist.shift %[[SUM]] over ["cp"]
// CHECK: xf.cast %[[HOME]] : (tensor<1x8x2x4xf32>) -> tensor<1x8x2x4xbf16>
// CHECK-NOT: dist.shift %{{.*}}bf16
func.func @backward(%q: tensor<1x8x4x4xbf16>, %k: tensor<1x8x2x4xbf16>, %v: tensor<1x8x2x4xbf16>, %lse: tensor<1x4x8xf32>, %zero: i32) -> (tensor<1x8x4x4xbf16>, tensor<1x8x2x4xbf16>, tensor<1x8x2x4xbf16>) {
  %first = dist.offset over ["cp"] step 8
  %dq, %dk, %dv = xf.attention_gradient %q, %q, %k, %v, %q, %lse from (%first, %first, %zero, %zero) {causal, scale = 0.5, whole = array<i64: 1, 4, 16>} : (tensor<1x8x4x4xbf16>, tensor<1x8x4x4xbf16>, tensor<1x8x2x4xbf16>, tensor<1x8x2x4xbf16>, tensor<1x8x4x4xbf16>, tensor<1x4x8xf32>, i32, i32, i32, i32) -> (tensor<1x8x4x4xbf16>, tensor<1x8x2x4xbf16>, tensor<1x8x2x4xbf16>)
  return %dq, %dk, %dv : tensor<1x8x4x4xbf16>, tensor<1x8x2x4xbf16>, tensor<1x8x2x4xbf16>
}

// Every step is told in how many rounds positions are dealt out.
// CHECK-LABEL: func.func @rounds(
// CHECK-COUNT-2: xf.attention {{.*}}part = 2 : i64, rounds = 2 : i64
func.func @rounds(%q: tensor<1x8x4x4xf32>, %k: tensor<1x8x2x4xf32>, %p: tensor<1x8xi32>, %zero: i32) -> tensor<1x8x4x4xf32> {
  %first = dist.offset over ["cp"] step 8
  %o, %lse = xf.attention %q, %k, %k positions %p from (%first, %first, %zero, %zero) {causal, scale = 0.5, part = 2 : i64, rounds = 2 : i64, whole = array<i64: 1, 4, 16>} : (tensor<1x8x4x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8xi32>, i32, i32, i32, i32) -> (tensor<1x8x4x4xf32>, tensor<1x4x8xf32>)
  return %o : tensor<1x8x4x4xf32>
}

// All keys are there: no ring.
// CHECK-LABEL: func.func @gathered(
// CHECK-NOT: dist.shift
func.func @gathered(%q: tensor<1x8x4x4xf32>, %k: tensor<1x16x2x4xf32>, %zero: i32) -> tensor<1x8x4x4xf32> {
  %first = dist.offset over ["cp"] step 8
  %o, %lse = xf.attention %q, %k, %k from (%first, %zero, %zero, %zero) {causal, scale = 0.5, whole = array<i64: 1, 4, 16>} : (tensor<1x8x4x4xf32>, tensor<1x16x2x4xf32>, tensor<1x16x2x4xf32>, i32, i32, i32, i32) -> (tensor<1x8x4x4xf32>, tensor<1x4x8xf32>)
  return %o : tensor<1x8x4x4xf32>
}
