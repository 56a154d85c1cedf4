// RUN: hocket-opt %s --kern-fit-f8-gemms | FileCheck %s
// RUN: hocket-opt %s --kern-fit-f8-gemms=layouts=any | FileCheck %s --check-prefix=ANY
// RUN: hocket-opt %s --kern-fit-f8-gemms=layouts=none | FileCheck %s --check-prefix=NONE
// RUN: not hocket-opt %s --kern-fit-f8-gemms=layouts=tn 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: error: layouts must be `none`, `inner-fastest` or `any`, it is `tn`

// A GEMM whose operands lie as most GPUs want them stays as it is.
// CHECK-LABEL: func.func @forward
// CHECK-NEXT: kern.gemm %{{.*}}, %{{.*}} bias %{{.*}} scale_a %{{.*}} scale_b %{{.*}} {k = 32 : i64, label = "linear", m = 64 : i64, n = 16 : i64, transpose_b}
// ANY-LABEL: func.func @forward
// ANY-NEXT: kern.gemm

// GPUs without 8-bit GEMMs multiply the same numbers in bf16, in f32, and
// scale what comes of it.
// NONE-LABEL: func.func @forward
// NONE-SAME: (%[[X:.*]]: tensor<4x16x32xf8E4M3FN>, %[[W:.*]]: tensor<16x32xf8E4M3FN>, %[[B:.*]]: tensor<16xbf16>, %[[S:.*]]: tensor<f32>, %[[T:.*]]: tensor<1xf32>)
// NONE-NEXT: %[[XW:.*]] = kern.rows "widen" [64 x 32] (%[[E:.*]] = %[[X]] as full : tensor<4x16x32xf8E4M3FN>) -> (tensor<4x16x32xbf16> as full) {
// NONE-NEXT: kern.yield %[[E]]
// NONE: %[[WW:.*]] = kern.rows "widen" [16 x 32] {{.*}} = %[[W]] as full
// NONE: %[[P:.*]] = kern.gemm %[[XW]], %[[WW]] {k = 32 : i64, label = "linear", m = 64 : i64, n = 16 : i64, transpose_b} : (tensor<4x16x32xbf16>, tensor<16x32xbf16>) -> tensor<4x16x16xf32>
// NONE-NEXT: %[[Y:.*]] = kern.rows "scale" [64 x 16] (%[[EP:.*]] = %[[P]] as full : {{.*}}, %[[ES:.*]] = %[[S]] as scalar : {{.*}}, %[[ET:.*]] = %[[T]] as scalar : {{.*}}, %[[EB:.*]] = %[[B]] as col : tensor<16xbf16>) -> (tensor<4x16x16xbf16> as full) {
// NONE-NEXT: %[[M:.*]] = arith.mulf %[[EP]], %[[ES]]
// NONE-NEXT: %[[N:.*]] = arith.mulf %[[M]], %[[ET]]
// NONE-NEXT: %[[A:.*]] = arith.addf %[[N]], %[[EB]]
// NONE-NEXT: kern.yield %[[A]]
// NONE: return %[[Y]]
func.func @forward(%x: tensor<4x16x32xf8E4M3FN>, %w: tensor<16x32xf8E4M3FN>, %b: tensor<16xbf16>, %s: tensor<f32>, %t: tensor<1xf32>) -> tensor<4x16x16xbf16> {
  %y = kern.gemm %x, %w bias %b scale_a %s scale_b %t {k = 32 : i64, label = "linear", m = 64 : i64, n = 16 : i64, transpose_b} : (tensor<4x16x32xf8E4M3FN>, tensor<16x32xf8E4M3FN>, tensor<16xbf16>, tensor<f32>, tensor<1xf32>) -> tensor<4x16x16xbf16>
  return %y : tensor<4x16x16xbf16>
}

// The gradients: of the weight, which wants both transposed, and of the input.
// GEMMs of one block share what was transposed.
// CHECK-LABEL: func.func @backward
// CHECK-SAME: (%[[G:.*]]: tensor<4x16x16xf8E5M2>, %[[X:.*]]: tensor<4x16x32xf8E4M3FN>, %[[W:.*]]: tensor<16x32xf8E4M3FN>)
// CHECK-NEXT: %[[GT:.*]] = kern.library "transpose"(%[[G]]) {{.*}}integers = array<i64: 8, 64, 16>{{.*}} : (tensor<4x16x16xf8E5M2>) -> tensor<16x64xf8E5M2>
// CHECK-NEXT: %[[XT:.*]] = kern.library "transpose"(%[[X]]) {{.*}}integers = array<i64: 7, 64, 32>{{.*}} : (tensor<4x16x32xf8E4M3FN>) -> tensor<32x64xf8E4M3FN>
// CHECK-NEXT: kern.gemm %[[GT]], %[[XT]] {k = 64 : i64, m = 16 : i64, n = 32 : i64, transpose_b} : {{.*}} -> tensor<16x32xf32>
// CHECK-NEXT: %[[WT:.*]] = kern.library "transpose"(%[[W]]) {{.*}}integers = array<i64: 7, 16, 32>{{.*}} : (tensor<16x32xf8E4M3FN>) -> tensor<32x16xf8E4M3FN>
// CHECK-NEXT: kern.gemm %[[G]], %[[WT]] {k = 16 : i64, m = 64 : i64, n = 32 : i64, transpose_b}
// CHECK-NOT: "transpose"
// CHECK: kern.gemm %[[GT]], %[[XT]] {{{.*}}transpose_b}
// CHECK-NEXT: return
// ANY-LABEL: func.func @backward
// ANY-NOT: transpose"
// NONE-LABEL: func.func @backward
// NONE-COUNT-3: "widen"
// NONE-NOT: "widen"
func.func @backward(%g: tensor<4x16x16xf8E5M2>, %x: tensor<4x16x32xf8E4M3FN>, %w: tensor<16x32xf8E4M3FN>) -> (tensor<16x32xf32>, tensor<4x16x32xbf16>, tensor<16x32xbf16>) {
  %dw = kern.gemm %g, %x {k = 64 : i64, m = 16 : i64, n = 32 : i64, transpose_a} : (tensor<4x16x16xf8E5M2>, tensor<4x16x32xf8E4M3FN>) -> tensor<16x32xf32>
  %dx = kern.gemm %g, %w {k = 16 : i64, m = 64 : i64, n = 32 : i64} : (tensor<4x16x16xf8E5M2>, tensor<16x32xf8E4M3FN>) -> tensor<4x16x32xbf16>
  %view = kern.view %g : tensor<4x16x16xf8E5M2> to tensor<64x16xf8E5M2>
  %dw2 = kern.gemm %view, %x {k = 64 : i64, m = 16 : i64, n = 32 : i64, transpose_a} : (tensor<64x16xf8E5M2>, tensor<4x16x32xf8E4M3FN>) -> tensor<16x32xbf16>
  return %dw, %dx, %dw2 : tensor<16x32xf32>, tensor<4x16x32xbf16>, tensor<16x32xbf16>
}

// A size that is no multiple of 16 fits no GPU.
// CHECK-LABEL: func.func @odd
// CHECK-COUNT-2: kern.rows "widen"
// CHECK: kern.gemm {{.*}} -> tensor<8x16xf32>
// CHECK-NEXT: kern.rows "scale" [8 x 16]
// NONE-LABEL: func.func @odd
// ANY-LABEL: func.func @odd
// ANY: kern.rows "scale" [8 x 16]
func.func @odd(%x: tensor<8x32xf8E4M3FN>, %w: tensor<16x32xf8E4M3FN>) -> tensor<8x16xbf16> {
  %y = kern.gemm %x, %w {k = 32 : i64, m = 8 : i64, n = 16 : i64, transpose_b} : (tensor<8x32xf8E4M3FN>, tensor<16x32xf8E4M3FN>) -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// The library would take a bias of bf16 here.
// CHECK-LABEL: func.func @f32_bias
// CHECK: %[[P:.*]] = kern.gemm %{{.*}}, %{{.*}} scale_a %{{.*}} {{{.*}}} : {{.*}} -> tensor<16x16xf32>
// CHECK-NEXT: kern.rows "scale" [16 x 16] (%{{.*}} = %[[P]] as full : tensor<16x16xf32>, %{{.*}} = %{{.*}} as col : tensor<16xf32>) -> (tensor<16x16xf32> as full) {
// CHECK-NEXT: arith.addf
func.func @f32_bias(%x: tensor<16x32xf8E4M3FN>, %w: tensor<16x32xf8E4M3FN>, %b: tensor<16xf32>, %s: tensor<f32>) -> tensor<16x16xf32> {
  %y = kern.gemm %x, %w bias %b scale_a %s {k = 32 : i64, m = 16 : i64, n = 16 : i64, transpose_b} : (tensor<16x32xf8E4M3FN>, tensor<16x32xf8E4M3FN>, tensor<16xf32>, tensor<f32>) -> tensor<16x16xf32>
  return %y : tensor<16x16xf32>
}

// Other GEMMs are none of this.
// CHECK-LABEL: func.func @bf16
// CHECK-NEXT: kern.gemm
// NONE-LABEL: func.func @bf16
// NONE-NEXT: kern.gemm
func.func @bf16(%x: tensor<8x32xbf16>, %w: tensor<32x16xbf16>) -> tensor<8x16xbf16> {
  %y = kern.gemm %x, %w {k = 32 : i64, m = 8 : i64, n = 16 : i64} : (tensor<8x32xbf16>, tensor<32x16xbf16>) -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}
