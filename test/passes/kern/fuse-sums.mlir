// RUN: hocket-opt %s --kern-fuse-sums=least-rows=8 --split-input-file | FileCheck %s
// RUN: hocket-opt %s --kern-fuse-sums --split-input-file | FileCheck %s --check-prefix=FEW

// The gradient of a norm's weight goes to that of its input, which has what it
// needs of a row: the statistics are not stored.
// CHECK-LABEL: func.func @norm
// FEW-LABEL: func.func @norm
func.func @norm(%dy: tensor<8x64xbf16>, %x: tensor<8x64xbf16>) -> (tensor<8x64xbf16>, tensor<64xf32>, tensor<64xf32>) {
  // CHECK: %[[R:.*]]:3 = kern.rows "norm_gradient+weight_gradient" [8 x 64] (%[[D:.*]] = %{{.*}} as full : tensor<8x64xbf16>, %[[X:.*]] = %{{.*}} as full : tensor<8x64xbf16>) -> (tensor<8x64xbf16> as full, tensor<64xf32> as col, tensor<64xf32> as col)
  // CHECK-NEXT: %[[S:.*]] = kern.reduce add %[[X]]
  // CHECK-NEXT: %[[G:.*]] = arith.mulf %[[D]], %[[S]]
  // CHECK-NEXT: kern.yield %[[G]], %[[G]], %[[D]]
  // CHECK-NOT: kern.columns
  // CHECK: return %[[R]]#0, %[[R]]#1, %[[R]]#2
  // FEW: kern.columns
  %r:2 = kern.rows "norm_gradient" [8 x 64] (%a = %dy as full : tensor<8x64xbf16>, %b = %x as full : tensor<8x64xbf16>) -> (tensor<8x64xbf16> as full, tensor<8xf32> as row) {
    %s = kern.reduce add %b : f32
    %0 = arith.mulf %a, %s : f32
    kern.yield %0, %s : f32, f32
  }
  %w:2 = kern.columns "weight_gradient" [8 x 64] (%a = %dy as full : tensor<8x64xbf16>, %s = %r#1 as row : tensor<8xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %0 = arith.mulf %a, %s : f32
    kern.yield %0, %a : f32, f32
  }
  return %r#0, %w#0, %w#1 : tensor<8x64xbf16>, tensor<64xf32>, tensor<64xf32>
}

// -----

// Of two regions, the one that has more of what is summed; it may come later,
// and read the tensor in another shape. What it computes is not rounded first.
// CHECK-LABEL: func.func @most
func.func @most(%x: tensor<8x64xbf16>, %y: tensor<2x4x64xf32>) -> (tensor<8x64xbf16>, tensor<8x64xf32>, tensor<64xf32>) {
  // CHECK: kern.rows "negate" {{.*}} -> (tensor<8x64xbf16> as full)
  // CHECK: kern.rows "sum+multiply" [8 x 64] (%[[A:.*]] = %{{.*}} as full : tensor<8x64xbf16>, %[[B:.*]] = %{{.*}} as full : tensor<2x4x64xf32>) -> (tensor<64xf32> as col, tensor<8x64xf32> as full)
  %n = kern.rows "negate" [8 x 64] (%a = %x as full : tensor<8x64xbf16>) -> (tensor<8x64xbf16> as full) {
    %0 = arith.negf %a : f32
    kern.yield %0 : f32
  }
  %v = kern.view %y : tensor<2x4x64xf32> to tensor<8x64xf32>
  %s = kern.columns "sum" [8 x 64] (%a = %x as full : tensor<8x64xbf16>, %b = %v as full : tensor<8x64xf32>) -> (tensor<64xf32>) {
    %0 = arith.addf %a, %b : f32
    kern.yield %0 : f32
  }
  %m = kern.rows "multiply" [8 x 64] (%a = %x as full : tensor<8x64xbf16>, %b = %y as full : tensor<2x4x64xf32>) -> (tensor<8x64xf32> as full) {
    %0 = arith.mulf %a, %b : f32
    kern.yield %0 : f32
  }
  return %n, %m, %s : tensor<8x64xbf16>, tensor<8x64xf32>, tensor<64xf32>
}

// -----

// What sums depend on, or what depends on them, cannot be computed with them;
// nor what has another shape of the same tensor.
// CHECK-LABEL: func.func @apart
func.func @apart(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<16x32xf32>) {
  // CHECK: kern.columns "sum"
  // CHECK: kern.rows "scale" {{.*}} -> (tensor<8x64xf32> as full)
  // CHECK: kern.rows "other" {{.*}} -> (tensor<16x32xf32> as full)
  %s = kern.columns "sum" [8 x 64] (%a = %x as full : tensor<8x64xf32>) -> (tensor<64xf32>) {
    kern.yield %a : f32
  }
  %m = kern.rows "scale" [8 x 64] (%a = %x as full : tensor<8x64xf32>, %b = %s as col : tensor<64xf32>) -> (tensor<8x64xf32> as full) {
    %0 = arith.mulf %a, %b : f32
    kern.yield %0 : f32
  }
  %o = kern.rows "other" [16 x 32] (%a = %x as full : tensor<8x64xf32>) -> (tensor<16x32xf32> as full) {
    %0 = kern.reduce add %a : f32
    %1 = arith.addf %0, %a : f32
    kern.yield %1 : f32
  }
  return %m, %o : tensor<8x64xf32>, tensor<16x32xf32>
}

// -----

// As many sums as a thread has registers for.
// CHECK-LABEL: func.func @many
func.func @many(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  // CHECK: kern.rows "negate"
  // CHECK: kern.columns "sums"
  %n = kern.rows "negate" [8 x 64] (%a = %x as full : tensor<8x64xf32>) -> (tensor<8x64xf32> as full) {
    %0 = arith.negf %a : f32
    kern.yield %0 : f32
  }
  %s:5 = kern.columns "sums" [8 x 64] (%a = %x as full : tensor<8x64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
    kern.yield %a, %a, %a, %a, %a : f32, f32, f32, f32, f32
  }
  return %n, %s#0, %s#1, %s#2, %s#3, %s#4 : tensor<8x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}
