// RUN: hocket-opt %s --kern-invariant-gemms --split-input-file --verify-diagnostics | FileCheck %s

// The gradients keep the library's GEMMs.
// CHECK-LABEL: @layer
// CHECK: %[[Y:.*]] = kern.library "grouped_linear"(%{{.*}}, %{{.*}}) {{{.*}}integers = array<i64: 2, 16, 64, 32, 1, 1, 1, 16>{{.*}}results_first
// CHECK: kern.rows "add_bias" [16 x 64] (%{{.*}} = %[[Y]] as full {{.*}} as col
// CHECK: kern.gemm {{.*}}k = 64
// CHECK: kern.gemm {{.*}}transpose_a
func.func @layer(%x: tensor<16x32xbf16>, %w: tensor<64x32xbf16>, %b: tensor<64xbf16>, %g: tensor<16x64xbf16>) -> (tensor<16x64xbf16>, tensor<16x32xbf16>, tensor<64x32xf32>) {
  %y = kern.gemm %x, %w bias %b {k = 32, m = 16, n = 64, transpose_b} : (tensor<16x32xbf16>, tensor<64x32xbf16>, tensor<64xbf16>) -> tensor<16x64xbf16>
  %dx = kern.gemm %g, %w {k = 64, m = 16, n = 32} : (tensor<16x64xbf16>, tensor<64x32xbf16>) -> tensor<16x32xbf16>
  %dw = kern.gemm %g, %x {k = 16, m = 64, n = 32, transpose_a} : (tensor<16x64xbf16>, tensor<16x32xbf16>) -> tensor<64x32xf32>
  return %y, %dx, %dw : tensor<16x64xbf16>, tensor<16x32xbf16>, tensor<64x32xf32>
}

// -----

func.func @mixed(%x: tensor<16x32xbf16>, %w: tensor<64x32xbf16>) -> tensor<16x64xf32> {
  // expected-error @+1 {{no kernel of fixed tiles computes this GEMM}}
  %y = kern.gemm %x, %w {k = 32, m = 16, n = 64, transpose_b} : (tensor<16x32xbf16>, tensor<64x32xbf16>) -> tensor<16x64xf32>
  return %y : tensor<16x64xf32>
}
