// RUN: hocket-opt %s --kern-fuse-gemm-epilogue --split-input-file | FileCheck %s
// RUN: hocket-opt %s --kern-fuse-gemm-epilogue=library=cublaslt --split-input-file | FileCheck %s --check-prefix=LT

// CHECK-LABEL: func.func @bias_gelu_residual
// CHECK-SAME: (%[[X:.*]]: tensor<8x16xbf16>, %[[W:.*]]: tensor<32x16xbf16>, %[[B:.*]]: tensor<32xbf16>, %[[R:.*]]: tensor<8x32xbf16>)
func.func @bias_gelu_residual(%x: tensor<8x16xbf16>, %w: tensor<32x16xbf16>, %b: tensor<32xbf16>, %r: tensor<8x32xbf16>) -> tensor<8x32xf32> {
  // CHECK: %[[Y:.*]] = kern.gemm %[[X]], %[[W]] bias %[[B]] residual %[[R]] {epilogue = #kern.epilogue<gelu>, k = 16 : i64, label = "linear+bias+act+add+cast", m = 8 : i64, n = 32 : i64, transpose_b} : {{.*}} -> tensor<8x32xf32>
  // CHECK-NEXT: return %[[Y]]
  // cuBLASLt has no erf; what follows is not the product's.
  // LT-LABEL: func.func @bias_gelu_residual
  // LT: kern.gemm {{.*}} bias {{.*}}label = "linear+bias"{{.*}} -> tensor<8x32xbf16>
  // LT-NEXT: kern.rows "act"
  // LT: kern.rows "add"
  // LT: kern.rows "cast"
  %0 = kern.gemm %x, %w {k = 16 : i64, label = "linear", m = 8 : i64, n = 32 : i64, transpose_b} : (tensor<8x16xbf16>, tensor<32x16xbf16>) -> tensor<8x32xbf16>
  %1 = kern.rows "bias" [8 x 32] (%p = %0 as full : tensor<8x32xbf16>, %q = %b as col : tensor<32xbf16>) -> (tensor<8x32xbf16> as full) {
    %s = arith.addf %p, %q : f32
    kern.yield %s : f32
  }
  // gelu is known by what it computes.
  %2 = kern.rows "act" [8 x 32] (%p = %1 as full : tensor<8x32xbf16>) -> (tensor<8x32xbf16> as full) {
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %root = arith.constant 0.707106769 : f32
    %t = arith.mulf %p, %root : f32
    %e = math.erf %t : f32
    %u = arith.addf %e, %one : f32
    %c = arith.mulf %u, %half : f32
    %g = arith.mulf %c, %p : f32
    kern.yield %g : f32
  }
  %3 = kern.rows "add" [8 x 32] (%p = %r as full : tensor<8x32xbf16>, %q = %2 as full : tensor<8x32xbf16>) -> (tensor<8x32xbf16> as full) {
    %s = arith.addf %p, %q : f32
    kern.yield %s : f32
  }
  %4 = kern.rows "cast" [8 x 32] (%p = %3 as full : tensor<8x32xbf16>) -> (tensor<8x32xf32> as full) {
    kern.yield %p : f32
  }
  return %4 : tensor<8x32xf32>
}

// -----

// The input of a nonlinearity is kept where something else reads it.
// CHECK-LABEL: func.func @kept
func.func @kept(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>) -> (tensor<8x32xf32>, tensor<8x32xf32>) {
  // CHECK: %[[Y:.*]], %[[H:.*]] = kern.gemm %{{.*}}, %{{.*}} {epilogue = #kern.epilogue<relu>, {{.*}} -> (tensor<8x32xf32>, tensor<8x32xf32>)
  // CHECK-NEXT: return %[[H]], %[[Y]]
  // LT-LABEL: func.func @kept
  // LT: kern.rows "relu"
  %0 = kern.gemm %x, %w {k = 16 : i64, m = 8 : i64, n = 32 : i64} : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %1 = kern.rows "relu" [8 x 32] (%p = %0 as full : tensor<8x32xf32>) -> (tensor<8x32xf32> as full) {
    %zero = arith.constant 0.0 : f32
    %g = arith.maximumf %p, %zero : f32
    kern.yield %g : f32
  }
  return %0, %1 : tensor<8x32xf32>, tensor<8x32xf32>
}

// -----

// A residual is not added to a product that is read elsewhere, and other
// arithmetic stays outside.
// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>, %r: tensor<8x32xf32>) -> (tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>) {
  // CHECK: kern.gemm
  // CHECK: kern.rows "add"
  // CHECK: kern.gemm
  // CHECK: kern.rows "negate"
  %0 = kern.gemm %x, %w {k = 16 : i64, m = 8 : i64, n = 32 : i64} : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %1 = kern.rows "add" [8 x 32] (%p = %0 as full : tensor<8x32xf32>, %q = %r as full : tensor<8x32xf32>) -> (tensor<8x32xf32> as full) {
    %s = arith.addf %p, %q : f32
    kern.yield %s : f32
  }
  %2 = kern.gemm %x, %w {k = 16 : i64, m = 8 : i64, n = 32 : i64} : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %3 = kern.rows "negate" [8 x 32] (%p = %2 as full : tensor<8x32xf32>) -> (tensor<8x32xf32> as full) {
    %s = arith.negf %p : f32
    kern.yield %s : f32
  }
  return %0, %1, %3 : tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>
}

// -----

// A residual that is computed after the product.
// CHECK-LABEL: func.func @later_residual
func.func @later_residual(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>) -> tensor<2x4x32xf32> {
  // CHECK: %[[A:.*]] = kern.gemm
  // CHECK: %[[Y:.*]] = kern.gemm {{.*}} residual %[[A]]
  // CHECK: return
  %0 = kern.gemm %x, %w {k = 16 : i64, m = 8 : i64, n = 32 : i64} : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %v = kern.view %0 : tensor<8x32xf32> to tensor<2x4x32xf32>
  %1 = kern.gemm %x, %w {k = 16 : i64, m = 8 : i64, n = 32 : i64} : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<2x4x32xf32>
  %2 = kern.rows "add" [8 x 32] (%p = %v as full : tensor<2x4x32xf32>, %q = %1 as full : tensor<2x4x32xf32>) -> (tensor<2x4x32xf32> as full) {
    %s = arith.addf %p, %q : f32
    kern.yield %s : f32
  }
  return %2 : tensor<2x4x32xf32>
}

// -----

// What is kept for the gradient stays when a residual follows.
// CHECK-LABEL: func.func @kept_and_added
func.func @kept_and_added(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>, %r: tensor<8x32xf32>) -> (tensor<8x32xf32>, tensor<8x32xf32>) {
  // CHECK: %[[Y:.*]], %[[H:.*]] = kern.gemm %{{.*}}, %{{.*}} residual %{{.*}} {epilogue = #kern.epilogue<relu>
  // CHECK-NEXT: return %[[H]], %[[Y]]
  %0 = kern.gemm %x, %w {k = 16 : i64, m = 8 : i64, n = 32 : i64} : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %1 = kern.rows "relu" [8 x 32] (%p = %0 as full : tensor<8x32xf32>) -> (tensor<8x32xf32> as full) {
    %zero = arith.constant 0.0 : f32
    %g = arith.maximumf %p, %zero : f32
    kern.yield %g : f32
  }
  %2 = kern.rows "add" [8 x 32] (%p = %1 as full : tensor<8x32xf32>, %q = %r as full : tensor<8x32xf32>) -> (tensor<8x32xf32> as full) {
    %s = arith.addf %p, %q : f32
    kern.yield %s : f32
  }
  return %0, %2 : tensor<8x32xf32>, tensor<8x32xf32>
}

// -----

// What cuBLASLt computes in one product: a bias and a residual of the result's
// type.
// LT-LABEL: func.func @bias_residual
func.func @bias_residual(%x: tensor<8x16xbf16>, %w: tensor<16x32xbf16>, %b: tensor<32xbf16>, %r: tensor<8x32xbf16>, %f: tensor<8x32xf32>) -> (tensor<8x32xbf16>, tensor<8x32xbf16>) {
  // LT: kern.gemm {{.*}} bias {{.*}} residual
  // LT-NEXT: kern.gemm %{{.*}}, %{{.*}} {k
  // LT-NEXT: kern.rows "wide"
  %0 = kern.gemm %x, %w {k = 16 : i64, m = 8 : i64, n = 32 : i64} : (tensor<8x16xbf16>, tensor<16x32xbf16>) -> tensor<8x32xbf16>
  %1 = kern.rows "bias" [8 x 32] (%p = %0 as full : tensor<8x32xbf16>, %q = %b as col : tensor<32xbf16>) -> (tensor<8x32xbf16> as full) {
    %s = arith.addf %p, %q : f32
    kern.yield %s : f32
  }
  %2 = kern.rows "add" [8 x 32] (%p = %1 as full : tensor<8x32xbf16>, %q = %r as full : tensor<8x32xbf16>) -> (tensor<8x32xbf16> as full) {
    %s = arith.addf %p, %q : f32
    kern.yield %s : f32
  }
  %3 = kern.gemm %x, %w {k = 16 : i64, m = 8 : i64, n = 32 : i64} : (tensor<8x16xbf16>, tensor<16x32xbf16>) -> tensor<8x32xbf16>
  %4 = kern.rows "wide" [8 x 32] (%p = %3 as full : tensor<8x32xbf16>, %q = %f as full : tensor<8x32xf32>) -> (tensor<8x32xbf16> as full) {
    %s = arith.addf %p, %q : f32
    kern.yield %s : f32
  }
  return %2, %4 : tensor<8x32xbf16>, tensor<8x32xbf16>
}

// -----

// Behind factors of 8 bits cuBLASLt adds a bias and a residual of the result's
// type; no nonlinearity is sure to be there, and no bias of f32.
// CHECK-LABEL: func.func @f8
// CHECK: kern.gemm {{.*}} bias {{.*}} residual {{.*}} scale_a %{{.*}} {
// CHECK: kern.gemm {{.*}} scale_a %{{.*}} {epilogue = #kern.epilogue<gelu_tanh>
// CHECK: kern.gemm {{.*}} bias {{.*}} -> tensor<16x32xf32>
// LT-LABEL: func.func @f8
// LT: kern.gemm %{{.*}}, %{{.*}} bias %{{.*}} residual %{{.*}} scale_a %{{.*}} {{{.*}}} : {{.*}} -> tensor<16x32xbf16>
// LT-NEXT: kern.gemm {{.*}} scale_a %{{.*}} {{{.*}}} : {{.*}} -> tensor<16x32xbf16>
// LT-NEXT: kern.rows "gelu_tanh"
// LT: kern.gemm {{.*}} scale_a %{{.*}} {{{.*}}} : {{.*}} -> tensor<16x32xf32>
// LT-NEXT: kern.rows "bias"
func.func @f8(%x: tensor<16x16xf8E4M3FN>, %w: tensor<32x16xf8E4M3FN>, %s: tensor<f32>, %b: tensor<32xbf16>, %r: tensor<16x32xbf16>, %c: tensor<32xf32>) -> (tensor<16x32xbf16>, tensor<16x32xbf16>, tensor<16x32xf32>) {
  %0 = kern.gemm %x, %w scale_a %s {k = 16 : i64, m = 16 : i64, n = 32 : i64, transpose_b} : (tensor<16x16xf8E4M3FN>, tensor<32x16xf8E4M3FN>, tensor<f32>) -> tensor<16x32xbf16>
  %1 = kern.rows "bias" [16 x 32] (%p = %0 as full : tensor<16x32xbf16>, %q = %b as col : tensor<32xbf16>) -> (tensor<16x32xbf16> as full) {
    %t = arith.addf %p, %q : f32
    kern.yield %t : f32
  }
  %2 = kern.rows "add" [16 x 32] (%p = %1 as full : tensor<16x32xbf16>, %q = %r as full : tensor<16x32xbf16>) -> (tensor<16x32xbf16> as full) {
    %t = arith.addf %p, %q : f32
    kern.yield %t : f32
  }
  %3 = kern.gemm %x, %w scale_a %s {k = 16 : i64, m = 16 : i64, n = 32 : i64, transpose_b} : (tensor<16x16xf8E4M3FN>, tensor<32x16xf8E4M3FN>, tensor<f32>) -> tensor<16x32xbf16>
  %4 = kern.rows "gelu_tanh" [16 x 32] (%p = %3 as full : tensor<16x32xbf16>) -> (tensor<16x32xbf16> as full) {
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %cubic = arith.constant 4.471500e-02 : f32
    %root = arith.constant 0.797884583 : f32
    %h = arith.mulf %half, %p : f32
    %t0 = arith.mulf %p, %p : f32
    %t1 = arith.mulf %cubic, %t0 : f32
    %t2 = arith.addf %one, %t1 : f32
    %t3 = arith.mulf %p, %t2 : f32
    %t4 = arith.mulf %root, %t3 : f32
    %t5 = math.tanh %t4 : f32
    %t6 = arith.addf %one, %t5 : f32
    %g = arith.mulf %h, %t6 : f32
    kern.yield %g : f32
  }
  %5 = kern.gemm %x, %w scale_a %s {k = 16 : i64, m = 16 : i64, n = 32 : i64, transpose_b} : (tensor<16x16xf8E4M3FN>, tensor<32x16xf8E4M3FN>, tensor<f32>) -> tensor<16x32xf32>
  %6 = kern.rows "bias" [16 x 32] (%p = %5 as full : tensor<16x32xf32>, %q = %c as col : tensor<32xf32>) -> (tensor<16x32xf32> as full) {
    %t = arith.addf %p, %q : f32
    kern.yield %t : f32
  }
  return %2, %4, %6 : tensor<16x32xbf16>, tensor<16x32xbf16>, tensor<16x32xf32>
}
