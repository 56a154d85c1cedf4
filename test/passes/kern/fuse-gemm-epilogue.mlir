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
