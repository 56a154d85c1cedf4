// RUN: hocket-opt %s --kern-fuse-columns --split-input-file | FileCheck %s

// A producer without another use.
// CHECK-LABEL: func.func @producer
func.func @producer(%d: tensor<8x64xbf16>, %x: tensor<8x64xbf16>) -> tensor<64xf32> {
  // CHECK: kern.columns "multiply+sum_leading" [8 x 64] (%[[A:.*]] = %{{.*}} as full : tensor<8x64xbf16>, %[[B:.*]] = %{{.*}} as full : tensor<8x64xbf16>) -> (tensor<64xf32>)
  // CHECK-NEXT: %[[P:.*]] = arith.mulf %[[A]], %[[B]]
  // CHECK-NEXT: kern.yield %[[P]]
  %g = kern.rows "multiply" [8 x 64] (%a = %d as full : tensor<8x64xbf16>, %b = %x as full : tensor<8x64xbf16>) -> (tensor<8x64xbf16> as full) {
    %0 = arith.mulf %a, %b : f32
    kern.yield %0 : f32
  }
  %s = kern.columns "sum_leading" [8 x 64] (%a = %g as full : tensor<8x64xbf16>) -> (tensor<64xf32>) {
    kern.yield %a : f32
  }
  return %s : tensor<64xf32>
}

// -----

// With another use it would be computed twice.
// CHECK-LABEL: func.func @used
func.func @used(%d: tensor<8x64xbf16>) -> (tensor<8x64xbf16>, tensor<64xf32>) {
  // CHECK: kern.rows "negate"
  // CHECK: kern.columns "sum_leading"
  %g = kern.rows "negate" [8 x 64] (%a = %d as full : tensor<8x64xbf16>) -> (tensor<8x64xbf16> as full) {
    %0 = arith.negf %a : f32
    kern.yield %0 : f32
  }
  %s = kern.columns "sum_leading" [8 x 64] (%a = %g as full : tensor<8x64xbf16>) -> (tensor<64xf32>) {
    kern.yield %a : f32
  }
  return %g, %s : tensor<8x64xbf16>, tensor<64xf32>
}

// -----

// A widening cast costs nothing to do twice.
// CHECK-LABEL: func.func @widened
func.func @widened(%d: tensor<8x64xbf16>) -> (tensor<8x64xf32>, tensor<64xf32>) {
  // CHECK: kern.rows "cast"
  // CHECK: kern.columns "cast+sum_leading" [8 x 64] (%{{.*}} = %{{.*}} as full : tensor<8x64xbf16>)
  %g = kern.rows "cast" [8 x 64] (%a = %d as full : tensor<8x64xbf16>) -> (tensor<8x64xf32> as full) {
    kern.yield %a : f32
  }
  %s = kern.columns "sum_leading" [8 x 64] (%a = %g as full : tensor<8x64xf32>) -> (tensor<64xf32>) {
    kern.yield %a : f32
  }
  return %g, %s : tensor<8x64xf32>, tensor<64xf32>
}

// -----

// Two sums over the same tensor.
// CHECK-LABEL: func.func @siblings
func.func @siblings(%d: tensor<8x64xf32>, %x: tensor<8x64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  // CHECK: %[[S:.*]]:2 = kern.columns "weight+bias" [8 x 64] {{.*}} -> (tensor<64xf32>, tensor<64xf32>)
  // CHECK: return %[[S]]#0, %[[S]]#1
  %w = kern.columns "weight" [8 x 64] (%a = %d as full : tensor<8x64xf32>, %b = %x as full : tensor<8x64xf32>) -> (tensor<64xf32>) {
    %0 = arith.mulf %a, %b : f32
    kern.yield %0 : f32
  }
  %b = kern.columns "bias" [8 x 64] (%a = %d as full : tensor<8x64xf32>) -> (tensor<64xf32>) {
    kern.yield %a : f32
  }
  return %w, %b : tensor<64xf32>, tensor<64xf32>
}
