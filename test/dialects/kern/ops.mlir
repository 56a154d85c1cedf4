// RUN: hocket-opt %s | hocket-opt | FileCheck %s
// RUN: hocket-opt %s --mlir-print-op-generic | hocket-opt | FileCheck %s

kern.variable @q : tensor<8x64xf8E4M3FN> {kind = #kern.variable_kind<working>}
// CHECK: kern.variable @w : tensor<8x64xf32> {kind = #kern.variable_kind<parameter>}
kern.variable @w : tensor<8x64xf32> {kind = #kern.variable_kind<parameter>}

// CHECK: kern.kernel @sum by_columns "sum" [8 x 64] (%[[A:.*]]: tensor<8x64xbf16> as full) -> (tensor<64xf32> as col) {
// CHECK-NEXT: kern.yield %[[A]] : f32
kern.kernel @sum by_columns "sum" [8 x 64] (%a: tensor<8x64xbf16> as full) -> (tensor<64xf32> as col) {
  kern.yield %a : f32
}

// CHECK: kern.kernel @drop [8 x 64] (%{{.*}}: tensor<8x64xf32> as full) instances (%[[I:.*]]) -> (tensor<8x64xf32> as full) {
// CHECK-NEXT: kern.keep_scale %[[I]] {rate = 1.000000e-01 : f64, stream = 1 : i32}
kern.kernel @drop [8x64] (%a: tensor<8x64xf32> as full) instances (%i) -> (tensor<8x64xf32> as full) {
  %k = kern.keep_scale %i {rate = 0.1, stream = 1 : i32}
  // CHECK-NEXT: kern.keep_scale %[[I]] {jitter, rate
  %jittered = kern.keep_scale %i {jitter, rate = 0.1, stream = 1 : i32}
  // CHECK-NEXT: kern.keep_scale %[[I]] at(%[[I]]) {rate = {{.*}}, shard = #kern.shard<[2, 4, 64] of [2, 8, 64] dims [1] parts [1] rounds 2>, stream
  %r = kern.keep_scale %i at(%i) {rate = 0.1, shard = #kern.shard<[2, 4, 64] of [2, 8, 64] dims [1] parts [1] rounds 2>, stream = 1 : i32}
  // CHECK-NEXT: kern.keep_scale %[[I]] at(%[[I]]) {rate = {{.*}}, shard = #kern.shard<[2, 4, 64] of [2, 8, 64] dims [1] parts [0]>, stream = 1 : i32}
  %l = kern.keep_scale %i at(%i) {rate = 0.1, shard = #kern.shard<[2, 4, 64] of [2, 8, 64] dims [1] parts [0]>, stream = 1 : i32}
  %0 = arith.mulf %a, %k : f32
  kern.yield %0 : f32
}

// CHECK-LABEL: func.func @regions
func.func @regions(%x: tensor<8x64xbf16>, %w: tensor<64xf32>, %p: tensor<2x64xf32>, %i: i32) -> tensor<8x64xf32> {
  // CHECK: %{{.*}}:2 = kern.rows "norm" [8 x 64] (%[[A:.*]] = %{{.*}} as full : tensor<8x64xbf16>, %[[B:.*]] = %{{.*}} as col : tensor<64xf32>, %[[C:.*]] = %{{.*}} as tiled : tensor<2x64xf32>) instances (%[[J:.*]] = %{{.*}}) -> (tensor<8x64xf32> as full, tensor<8xf32> as row) {
  // CHECK-NEXT: kern.reduce max %[[A]] : f32
  // CHECK-NEXT: kern.keep_scale %[[J]]
  %y, %m = kern.rows "norm" [8 x 64] (%a = %x as full : tensor<8x64xbf16>, %b = %w as col : tensor<64xf32>, %c = %p as tiled : tensor<2x64xf32>) instances (%j = %i) -> (tensor<8x64xf32> as full, tensor<8xf32> as row) {
    %0 = kern.reduce max %a : f32
    %1 = kern.keep_scale %j {rate = 0.5, stream = 0 : i32}
    %2 = arith.mulf %b, %1 : f32
    %3 = arith.addf %2, %c : f32
    kern.yield %3, %0 : f32, f32
  }
  // CHECK: kern.columns [8 x 64] (%{{.*}} = %{{.*}} as full : tensor<8x64xf32>, %{{.*}} = %{{.*}} as row : tensor<8xf32>) -> (tensor<64xf32>) attributes {note = 1 : i64} {
  %s = kern.columns [8 x 64] (%a = %y as full : tensor<8x64xf32>, %b = %m as row : tensor<8xf32>) -> (tensor<64xf32>) attributes {note = 1 : i64} {
    %0 = arith.mulf %a, %b : f32
    kern.yield %0 : f32
  }
  // CHECK: kern.launch @sum(%{{.*}}) : (tensor<8x64xbf16>) -> tensor<64xf32>
  %t = kern.launch @sum(%x) : (tensor<8x64xbf16>) -> tensor<64xf32>
  // CHECK: kern.launch @drop(%{{.*}}) instances(%{{.*}}) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %u = kern.launch @drop(%y) instances(%i) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %u : tensor<8x64xf32>
}

// CHECK-LABEL: func.func @others
func.func @others(%x: tensor<4x2x64xf32>, %b: tensor<8xf32>) {
  // CHECK: kern.read @w : tensor<8x64xf32>
  %w = kern.read @w : tensor<8x64xf32>
  // CHECK: %[[R:.*]], %[[H:.*]] = kern.gemm %{{.*}}, %{{.*}} bias %{{.*}} {epilogue = #kern.epilogue<gelu>, k = 64 : i64, m = 8 : i64, n = 8 : i64, transpose_b}
  %y, %h = kern.gemm %x, %w bias %b {epilogue = #kern.epilogue<gelu>, k = 64 : i64, m = 8 : i64, n = 8 : i64, transpose_b} : (tensor<4x2x64xf32>, tensor<8x64xf32>, tensor<8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
  // CHECK: kern.view %[[R]] : tensor<8x8xf32> to tensor<32xf32>
  %v = kern.view %y : tensor<8x8xf32> to tensor<32xf32>
  // CHECK: kern.library "pad_rows"(%{{.*}}) {floats = array<f64>, integers = array<i64: 1, 32, 64>} : (tensor<32xf32>) -> tensor<64xf32>
  %p = kern.library "pad_rows"(%v) {floats = array<f64>, integers = array<i64: 1, 32, 64>} : (tensor<32xf32>) -> tensor<64xf32>
  %q = kern.read @q : tensor<8x64xf8E4M3FN>
  %s = kern.input "scale" : tensor<f32>
  // CHECK: kern.gemm %{{.*}}, %{{.*}} scale_a %[[S:.*]] scale_b %[[S]] {k = 64 : i64, m = 8 : i64, n = 8 : i64, transpose_b} : (tensor<8x64xf8E4M3FN>, tensor<8x64xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<8x8xbf16>
  %n = kern.gemm %q, %q scale_a %s scale_b %s {k = 64 : i64, m = 8 : i64, n = 8 : i64, transpose_b} : (tensor<8x64xf8E4M3FN>, tensor<8x64xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<8x8xbf16>
  // CHECK: kern.accumulate %{{.*}}, @w {always} : tensor<8x64xf32>
  kern.accumulate %w, @w {always} : tensor<8x64xf32>
  // CHECK: kern.write %{{.*}}, @w : tensor<8x64xf32>
  kern.write %w, @w : tensor<8x64xf32>
  // CHECK: %[[L:.*]] = kern.input "learning_rate" : tensor<f32>
  %l = kern.input "learning_rate" : tensor<f32>
  // CHECK: kern.output %[[L]], "loss" : tensor<f32>
  kern.output %l, "loss" : tensor<f32>
  return
}

// CHECK: kern.schedule "train_step" slots 1 {{\[}}#kern.action<@others microbatch 0 slot 0>]
kern.schedule "train_step" slots 1 [#kern.action<@others microbatch 0 slot 0>]

// CHECK-LABEL: func.func @exchange(
// CHECK: %[[Y:.*]] = kern.exchange %{{.*}}, %{{.*}}, %{{.*}} over ["ep"] : (tensor<1x6x5xf32>, tensor<1x8x2xi32>, tensor<1x4x2x2xi32>) -> tensor<1x9x5xf32>
// CHECK: kern.exchange %[[Y]], %{{.*}}, %{{.*}} over ["ep"] {returns} : (tensor<1x9x5xf32>, tensor<1x8x2xi32>, tensor<1x4x2x2xi32>) -> tensor<1x6x5xf32>
func.func @exchange(%x: tensor<1x6x5xf32>, %r: tensor<1x8x2xi32>, %s: tensor<1x4x2x2xi32>) -> tensor<1x6x5xf32> {
  %y = kern.exchange %x, %r, %s over ["ep"] : (tensor<1x6x5xf32>, tensor<1x8x2xi32>, tensor<1x4x2x2xi32>) -> tensor<1x9x5xf32>
  %z = kern.exchange %y, %r, %s over ["ep"] {returns} : (tensor<1x9x5xf32>, tensor<1x8x2xi32>, tensor<1x4x2x2xi32>) -> tensor<1x6x5xf32>
  return %z : tensor<1x6x5xf32>
}

// CHECK: kern.fragment F @forward_1(%[[T:.*]]: tensor<4x8xi32> from host "tokens" split {{\[}}["dp"], []], %[[X:.*]]: tensor<8xf32> from rank 0 tag 2) -> (tensor<8xf32> to rank 2 tag 3, tensor<8xf32>) stage 1 {
// CHECK-NEXT: kern.return %[[X]], %[[X]] : tensor<8xf32>, tensor<8xf32>
kern.fragment F @forward_1(%t: tensor<4x8xi32> from host "tokens" split [["dp"], []], %x: tensor<8xf32> from rank 0 tag 2) -> (tensor<8xf32> to rank 2 tag 3, tensor<8xf32>) stage 1 {
  kern.return %x, %x : tensor<8xf32>, tensor<8xf32>
}
// CHECK: kern.fragment B @backward_1(%{{.*}}: tensor<4x8xi32> from F argument 0, %{{.*}}: tensor<8xf32> from F result 1) stage 1 {
// CHECK-NEXT: kern.return
kern.fragment B @backward_1(%t: tensor<4x8xi32> from F argument 0, %x: tensor<8xf32> from F result 1) stage 1 {
  kern.return
}
// CHECK: kern.fragment U @update() attributes {note} {
kern.fragment U @update() attributes {note} {
  kern.return
}
