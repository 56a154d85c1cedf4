// RUN: hocket-opt %s --kern-outline-kernels | FileCheck %s
// RUN: hocket-opt %s --kern-outline-kernels | hocket-opt | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<8x64xbf16>, %[[W:.*]]: tensor<64xf32>, %[[I:.*]]: i32)
func.func @main(%x: tensor<8x64xbf16>, %w: tensor<64xf32>, %i: i32) -> (tensor<8x64xbf16>, tensor<64xf32>) {
  // Equal regions are one kernel; another formula is another.
  // CHECK-NEXT: %[[A:.*]] = kern.launch @scale_8x64_bf16(%[[X]], %[[W]])
  %0 = kern.rows "scale" [8 x 64] (%a = %x as full : tensor<8x64xbf16>, %b = %w as col : tensor<64xf32>) -> (tensor<8x64xbf16> as full) {
    %p = arith.mulf %a, %b : f32
    kern.yield %p : f32
  }
  // CHECK-NEXT: %[[B:.*]] = kern.launch @scale_8x64_bf16(%[[A]], %[[W]])
  %1 = kern.rows "scale" [8 x 64] (%a = %0 as full : tensor<8x64xbf16>, %b = %w as col : tensor<64xf32>) -> (tensor<8x64xbf16> as full) {
    %p = arith.mulf %a, %b : f32
    kern.yield %p : f32
  }
  // CHECK-NEXT: %[[C:.*]] = kern.launch @[[OTHER:scale_8x64_bf16_[0-9]+]](%[[B]], %[[W]])
  %2 = kern.rows "scale" [8 x 64] (%a = %1 as full : tensor<8x64xbf16>, %b = %w as col : tensor<64xf32>) -> (tensor<8x64xbf16> as full) {
    %p = arith.divf %a, %b : f32
    kern.yield %p : f32
  }
  // CHECK-NEXT: %[[D:.*]] = kern.launch @dropout_add_8x64_bf16(%[[C]]) instances(%[[I]])
  %3 = kern.rows "dropout+add" [8 x 64] (%a = %2 as full : tensor<8x64xbf16>) instances (%j = %i) -> (tensor<8x64xbf16> as full) {
    %k = kern.keep_scale %j {rate = 0.1, stream = 1 : i32}
    %p = arith.mulf %a, %k : f32
    %q = arith.addf %p, %a : f32
    kern.yield %q : f32
  }
  // CHECK-NEXT: kern.launch @sum_8x64_f32(%[[D]])
  %4 = kern.columns "sum" [8 x 64] (%a = %3 as full : tensor<8x64xbf16>) -> (tensor<64xf32>) {
    kern.yield %a : f32
  }
  return %3, %4 : tensor<8x64xbf16>, tensor<64xf32>
}

// CHECK: kern.kernel @scale_8x64_bf16 "scale" [8 x 64] (%[[P:.*]]: tensor<8x64xbf16> as full, %[[Q:.*]]: tensor<64xf32> as col) -> (tensor<8x64xbf16> as full) {
// CHECK-NEXT: arith.mulf %[[P]], %[[Q]]
// CHECK: kern.kernel @[[OTHER]] "scale"
// CHECK-NEXT: arith.divf
// CHECK: kern.kernel @dropout_add_8x64_bf16 "dropout+add" [8 x 64] (%{{.*}}: tensor<8x64xbf16> as full) instances (%[[J:.*]]) ->
// CHECK-NEXT: kern.keep_scale %[[J]]
// CHECK: kern.kernel @sum_8x64_f32 by_columns "sum" [8 x 64] (%{{.*}}: tensor<8x64xbf16> as full) -> (tensor<64xf32> as col)
// CHECK-NOT: kern.kernel
