// RUN: hocket-opt %s --kern-fuse-gemm-epilogue --split-input-file | FileCheck %s
// RUN: hocket-opt %s --kern-fuse-gemm-epilogue=library=cublaslt --split-input-file | FileCheck %s --check-prefix=LT

// CHECK-LABEL: func.func @bias_gelu_residual
// CHECK-SAME: (%[[X:.*]]: tensor<8x16xbf16>, %[[W:.*]]: tensor<32x16xbf16>, %[[B:.*]]: tensor<32xbf16>, %[[R:.*]]: tensor<8x32xbf16>)
func.func @bias_gelu_residual(%x: tensor<8x16xbf16>, %w: tensor<32x16xbf16>, %b: tensor<32xbf16>, %r: tensor<8x32xbf16>) -> tensor<8x32xf32> {
  // CHECK: %[[Y:.*]] = kern.gemm %[[X]], %[[W]] bias %[[B]] residual %[[R]] {epilogue = #kern.epilogue<gelu>, k = 16 : i64, label = "linear+bias+act+add+cast", m = 8 : i64, n = 32 : i64, transpose_b} : {{.*}} -> tensor<8x32xf32>
  // CHECK-NEXT: return %[[Y]]
  // cuBLASLt has no erf; what follows is not the GEMM's.
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

// A residual is not added to a GEMM that is read elsewhere, and other
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

// A residual that is computed after the GEMM.
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

// What cuBLASLt computes in one GEMM: a bias and a residual of the result's
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

// Behind operands of 8 bits cuBLASLt adds a bias and a residual of the result's
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

// -----

// cuBLASLt multiplies by GELU's derivative where the forward pass kept its
// input, and sums a bias gradient with the GEMM of the weight's.
// CHECK-LABEL: func.func @backward
// CHECK: kern.gemm
// CHECK-NEXT: kern.rows "gelu_tanh_gradient"
// CHECK: kern.gemm
// CHECK-NEXT: kern.columns "sum_leading"
// LT-LABEL: func.func @backward
// LT-SAME: (%[[DY:.*]]: tensor<8x16xbf16>, %[[W:.*]]: tensor<16x32xbf16>, %[[H:.*]]: tensor<8x32xbf16>, %[[X:.*]]: tensor<8x24xbf16>)
// LT: %[[DH:.*]] = kern.gemm %[[DY]], %[[W]] preactivation %[[H]] {epilogue = #kern.epilogue<gelu_tanh>, k = 16 : i64, label = "dx+gelu_tanh_gradient", m = 8 : i64, n = 32 : i64} : {{.*}} -> tensor<8x32xbf16>
// LT-NEXT: %[[V:.*]] = kern.view %[[DH]]
// LT-NEXT: %[[DW:.*]], %[[DB:.*]] = kern.gemm %[[V]], %[[X]] {bias_gradient, k = 8 : i64, label = "dw+sum_leading", m = 32 : i64, n = 24 : i64, transpose_a} : {{.*}} -> (tensor<32x24xf32>, tensor<32xf32>)
// LT-NEXT: return %[[DW]], %[[DB]]
func.func @backward(%dy: tensor<8x16xbf16>, %w: tensor<16x32xbf16>, %h: tensor<8x32xbf16>, %x: tensor<8x24xbf16>) -> (tensor<32x24xf32>, tensor<32xf32>) {
  %0 = kern.gemm %dy, %w {k = 16 : i64, label = "dx", m = 8 : i64, n = 32 : i64} : (tensor<8x16xbf16>, tensor<16x32xbf16>) -> tensor<8x32xbf16>
  %1 = kern.rows "gelu_tanh_gradient" [8 x 32] (%d = %0 as full : tensor<8x32xbf16>, %p = %h as full : tensor<8x32xbf16>) -> (tensor<8x32xbf16> as full) {
    %half = arith.constant 5.000000e-01 : f32
    %three = arith.constant 1.341450e-01 : f32
    %root = arith.constant 0.797884583 : f32
    %one = arith.constant 1.000000e+00 : f32
    %cubic = arith.constant 4.471500e-02 : f32
    %t0 = arith.mulf %p, %p : f32
    %t1 = arith.mulf %t0, %cubic : f32
    %t2 = arith.addf %t1, %one : f32
    %t3 = arith.mulf %p, %t2 : f32
    %t4 = arith.mulf %t3, %root : f32
    %t5 = math.tanh %t4 : f32
    %t6 = arith.mulf %t0, %three : f32
    %t7 = arith.addf %t6, %one : f32
    %t8 = arith.mulf %t7, %root : f32
    %t9 = arith.addf %t5, %one : f32
    %t10 = arith.mulf %t9, %half : f32
    %t11 = arith.mulf %p, %half : f32
    %t12 = arith.mulf %t5, %t5 : f32
    %t13 = arith.subf %one, %t12 : f32
    %t14 = arith.mulf %t13, %t8 : f32
    %t15 = arith.mulf %t11, %t14 : f32
    %t16 = arith.addf %t10, %t15 : f32
    %g = arith.mulf %d, %t16 : f32
    kern.yield %g : f32
  }
  %v = kern.view %1 : tensor<8x32xbf16> to tensor<2x4x32xbf16>
  %2 = kern.gemm %v, %x {k = 8 : i64, label = "dw", m = 32 : i64, n = 24 : i64, transpose_a} : (tensor<2x4x32xbf16>, tensor<8x24xbf16>) -> tensor<32x24xf32>
  %3 = kern.columns "sum_leading" [8 x 32] (%d = %1 as full : tensor<8x32xbf16>) -> (tensor<32xf32>) {
    kern.yield %d : f32
  }
  return %2, %3 : tensor<32x24xf32>, tensor<32xf32>
}

// -----

// Not that of a GEMM which is read elsewhere, nor a sum of another type.
// LT-LABEL: func.func @backward_stays
// LT: kern.gemm %{{[a-z0-9]+}}, %{{[a-z0-9]+}} {k
// LT: kern.rows "gelu_tanh_gradient"
// LT: kern.gemm {{.*}} {k
// LT: kern.columns "sum_leading"
func.func @backward_stays(%dy: tensor<8x16xbf16>, %w: tensor<16x32xbf16>, %h: tensor<8x32xbf16>, %x: tensor<8x24xbf16>) -> (tensor<8x32xbf16>, tensor<32x24xf32>, tensor<32xbf16>) {
  %0 = kern.gemm %dy, %w {k = 16 : i64, m = 8 : i64, n = 32 : i64} : (tensor<8x16xbf16>, tensor<16x32xbf16>) -> tensor<8x32xbf16>
  %1 = kern.rows "gelu_tanh_gradient" [8 x 32] (%d = %0 as full : tensor<8x32xbf16>, %p = %h as full : tensor<8x32xbf16>) -> (tensor<8x32xbf16> as full) {
    %half = arith.constant 5.000000e-01 : f32
    %three = arith.constant 1.341450e-01 : f32
    %root = arith.constant 0.797884583 : f32
    %one = arith.constant 1.000000e+00 : f32
    %cubic = arith.constant 4.471500e-02 : f32
    %t0 = arith.mulf %p, %p : f32
    %t1 = arith.mulf %t0, %cubic : f32
    %t2 = arith.addf %t1, %one : f32
    %t3 = arith.mulf %p, %t2 : f32
    %t4 = arith.mulf %t3, %root : f32
    %t5 = math.tanh %t4 : f32
    %t6 = arith.mulf %t0, %three : f32
    %t7 = arith.addf %t6, %one : f32
    %t8 = arith.mulf %t7, %root : f32
    %t9 = arith.addf %t5, %one : f32
    %t10 = arith.mulf %t9, %half : f32
    %t11 = arith.mulf %p, %half : f32
    %t12 = arith.mulf %t5, %t5 : f32
    %t13 = arith.subf %one, %t12 : f32
    %t14 = arith.mulf %t13, %t8 : f32
    %t15 = arith.mulf %t11, %t14 : f32
    %t16 = arith.addf %t10, %t15 : f32
    %g = arith.mulf %d, %t16 : f32
    kern.yield %g : f32
  }
  %2 = kern.gemm %1, %x {k = 8 : i64, m = 32 : i64, n = 24 : i64, transpose_a} : (tensor<8x32xbf16>, tensor<8x24xbf16>) -> tensor<32x24xf32>
  %3 = kern.columns "sum_leading" [8 x 32] (%d = %1 as full : tensor<8x32xbf16>) -> (tensor<32xbf16>) {
    kern.yield %d : f32
  }
  return %0, %2, %3 : tensor<8x32xbf16>, tensor<32x24xf32>, tensor<32xbf16>
}
