// RUN: hocket-opt %s --convert-pipe-to-kern | FileCheck %s
// RUN: hocket-opt %s --convert-pipe-to-kern | hocket-opt | FileCheck %s --check-prefix=NONE
// NONE-NOT: xf.

// CHECK-LABEL: func.func @add
func.func @add(%x: tensor<2x4x8xbf16>, %p: tensor<4x8xbf16>, %b: tensor<8xbf16>)
    -> tensor<2x4x8xbf16> {
  // CHECK: kern.rows "add" [8 x 8] (%[[A:.*]] = %{{.*}} as full : tensor<2x4x8xbf16>, %[[B:.*]] = %{{.*}} as tiled : tensor<4x8xbf16>) -> (tensor<2x4x8xbf16> as full) {
  // CHECK-NEXT: %[[S:.*]] = arith.addf %[[A]], %[[B]] : f32
  // CHECK-NEXT: kern.yield %[[S]] : f32
  %0 = xf.add %x, %p : (tensor<2x4x8xbf16>, tensor<4x8xbf16>) -> tensor<2x4x8xbf16>
  // CHECK: kern.rows "add" {{.*}} as col : tensor<8xbf16>
  %1 = xf.add %0, %b : (tensor<2x4x8xbf16>, tensor<8xbf16>) -> tensor<2x4x8xbf16>
  return %1 : tensor<2x4x8xbf16>
}

// CHECK-LABEL: func.func @multiply
func.func @multiply(%x: tensor<4x8xf32>, %s: tensor<f32>) -> tensor<4x8xf32> {
  // CHECK: kern.rows "multiply" [4 x 8] ({{.*}} as full : tensor<4x8xf32>, {{.*}} as scalar : tensor<f32>)
  // CHECK: arith.mulf
  %0 = xf.multiply %x, %s : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @cast
func.func @cast(%x: tensor<4x8xf32>) -> (tensor<4x8xbf16>, tensor<f32>) {
  // CHECK: kern.rows "cast" [4 x 8] (%[[A:.*]] = {{.*}}) -> (tensor<4x8xbf16> as full)
  // CHECK-NEXT: kern.yield %[[A]]
  %0 = xf.cast %x : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  // CHECK: kern.rows "constant" [1 x 1] () -> (tensor<f32> as scalar)
  // CHECK-NEXT: arith.constant 2.500000e+00 : f32
  %1 = xf.constant {value = 2.5} : () -> tensor<f32>
  return %0, %1 : tensor<4x8xbf16>, tensor<f32>
}

// CHECK-LABEL: func.func @dropout
func.func @dropout(%x: tensor<4x8xf32>, %layer: i32, %o: i32) -> tensor<4x8xf32> {
  // CHECK: kern.rows "dropout" [4 x 8] (%[[X:.*]] = {{.*}}) instances (%[[I:.*]] = %{{.*}}) -> (tensor<4x8xf32> as full)
  // CHECK-NEXT: %[[K:.*]] = kern.keep_scale %[[I]] {rate = 1.000000e-01 : f64, stream = 2 : i32}
  // CHECK-NEXT: arith.mulf %[[X]], %[[K]]
  %0 = xf.dropout %x, %layer {rate = 0.1, stream = 2 : i32} : (tensor<4x8xf32>, i32) -> tensor<4x8xf32>
  // CHECK: kern.rows "dropout"
  // CHECK-NEXT: kern.keep_scale {rate
  %1 = xf.dropout %0 {rate = 0.1, stream = 0 : i32} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // Of a shard: its start is a number as the layer's is.
  // CHECK: kern.rows "dropout" {{.*}} instances (%[[I:.*]] = %{{.*}}, %[[O:.*]] = %{{.*}}) ->
  // CHECK-NEXT: kern.keep_scale %[[I]] at(%[[O]]) {rate = 1.000000e-01 : f64, shard = #kern.shard<[4, 8] of [12, 8] dims [0] parts [0]>, stream = 2 : i32}
  %2 = xf.dropout %1, %layer at(%o) {dims = array<i64: 0>, parts = array<i64: 0>, rate = 0.1, stream = 2 : i32, whole = array<i64: 12, 8>} : (tensor<4x8xf32>, i32, i32) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @activations
func.func @activations(%x: tensor<4x8xf32>, %d: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK: kern.rows "gelu"
  // CHECK: math.erf
  %0 = xf.activation %x {kind = #xf.activation_kind<gelu>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: kern.rows "gelu_tanh"
  // CHECK: math.tanh
  %1 = xf.activation %0 {kind = #xf.activation_kind<gelu_tanh>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: kern.rows "silu"
  // CHECK: math.exp
  // CHECK: arith.divf
  %2 = xf.activation %1 {kind = #xf.activation_kind<silu>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: kern.rows "relu"
  // CHECK: arith.maximumf
  %3 = xf.activation %2 {kind = #xf.activation_kind<relu>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: kern.rows "relu_squared"
  // CHECK: %[[P:.*]] = arith.maximumf
  // CHECK-NEXT: arith.mulf %[[P]], %[[P]]
  %4 = xf.activation %3 {kind = #xf.activation_kind<relu_squared>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: kern.rows "gelu_gradient"
  // CHECK: math.erf
  // CHECK: math.exp
  %5 = xf.activation_gradient %d, %4 {kind = #xf.activation_kind<gelu>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: kern.rows "gelu_tanh_gradient"
  %6 = xf.activation_gradient %5, %x {kind = #xf.activation_kind<gelu_tanh>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: kern.rows "silu_gradient"
  %7 = xf.activation_gradient %6, %x {kind = #xf.activation_kind<silu>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: kern.rows "relu_gradient"
  // CHECK: arith.select
  %8 = xf.activation_gradient %7, %x {kind = #xf.activation_kind<relu>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: kern.rows "relu_squared_gradient"
  %9 = xf.activation_gradient %8, %x {kind = #xf.activation_kind<relu_squared>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %9 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @softcap
func.func @softcap(%x: tensor<4x8xbf16>) -> (tensor<4x8xbf16>, tensor<4x8xbf16>) {
  // CHECK: kern.rows "softcap" [4 x 8]
  // CHECK: math.tanh
  %0 = xf.softcap %x {cap = 30.0} : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  // CHECK: kern.rows "softcap_gradient"
  // CHECK-NOT: math.tanh
  %1 = xf.softcap_gradient %x, %0 {cap = 30.0} : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4x8xbf16>
  // CHECK: return
  return %0, %1 : tensor<4x8xbf16>, tensor<4x8xbf16>
}

// CHECK-LABEL: func.func @gated
func.func @gated(%g: tensor<4x8xbf16>, %u: tensor<4x8xbf16>) -> (tensor<4x8xbf16>, tensor<4x8xbf16>) {
  // CHECK: kern.rows "gated_silu" [4 x 8]
  %0 = xf.gated %g, %u {kind = #xf.activation_kind<silu>} : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4x8xbf16>
  // CHECK: kern.rows "gated_silu_gradient" {{.*}} -> (tensor<4x8xbf16> as full, tensor<4x8xbf16> as full)
  %1, %2 = xf.gated_gradient %0, %g, %u {kind = #xf.activation_kind<silu>} : (tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<4x8xbf16>) -> (tensor<4x8xbf16>, tensor<4x8xbf16>)
  return %1, %2 : tensor<4x8xbf16>, tensor<4x8xbf16>
}

// CHECK-LABEL: func.func @row_gate
func.func @row_gate(%x: tensor<4x8xbf16>, %g: tensor<4x1xbf16>) -> (tensor<4x8xbf16>, tensor<4x1xbf16>) {
  // CHECK: kern.rows "row_gate" [4 x 8]
  %0 = xf.row_gate %x, %g : (tensor<4x8xbf16>, tensor<4x1xbf16>) -> tensor<4x8xbf16>
  // CHECK: kern.rows "row_gate_gradient" {{.*}} -> (tensor<4x8xbf16> as full, tensor<4x1xbf16> as row)
  %1, %2 = xf.row_gate_gradient %0, %x, %g : (tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<4x1xbf16>) -> (tensor<4x8xbf16>, tensor<4x1xbf16>)
  return %1, %2 : tensor<4x8xbf16>, tensor<4x1xbf16>
}

// CHECK-LABEL: func.func @choices
func.func @choices(%x: tensor<6x4x1xbf16>) -> tensor<6x4x1xbf16> {
  // CHECK: kern.library "gather_shards"(%{{.*}}) {floats = array<f64>, integers = array<i64: {{[0-9]+}}, 6, 4, 1, 6>
  // CHECK: kern.library "gather_shards"{{.*}} 4, 2, 3, 12>
  // CHECK: kern.library "scatter_shards"{{.*}} 3, 2, 12, 12>
  // CHECK: kern.library "gather_shards"{{.*}} 3, 2, 12, 36>
  %0 = xf.gather_choices %x : (tensor<6x4x1xbf16>) -> tensor<6x4x3xbf16>
  // CHECK: kern.library "slice_shard"{{.*}} 2, 12, 36>
  // CHECK: kern.library "scatter_shards"{{.*}} 4, 2, 3, 12>
  // CHECK: kern.library "scatter_shards"{{.*}} 6, 4, 1, 6>
  %1 = xf.gather_choices_gradient %0 : (tensor<6x4x3xbf16>) -> tensor<6x4x1xbf16>
  return %1 : tensor<6x4x1xbf16>
}

// CHECK-LABEL: func @heads
func.func @heads(%x: tensor<2x6x4x3xbf16>, %r: tensor<2x6x1x5xbf16>) -> (tensor<2x6x4x3xbf16>, tensor<2x6x1x5xbf16>) {
  // CHECK: kern.library "join_heads"(%arg1, %arg0) {floats = array<f64>, integers = array<i64: 2, 12, 4, 1, 5, 3>
  %0 = xf.join_heads %x, %r : (tensor<2x6x4x3xbf16>, tensor<2x6x1x5xbf16>) -> tensor<2x6x4x8xbf16>
  // CHECK: kern.library "slice_shard"{{.*}} integers = array<i64: 2, 48, 9, 8>
  %1 = xf.join_heads %0 : (tensor<2x6x4x8xbf16>) -> tensor<2x6x4x9xbf16>
  // CHECK: %[[FIRST:.*]] = arith.constant 5
  // CHECK: kern.library "slice_shard"{{.*}} integers = array<i64: 2, 48, 3, 9>
  %2 = xf.part_heads %1 {first = 5 : i64} : (tensor<2x6x4x9xbf16>) -> tensor<2x6x4x3xbf16>
  // CHECK: kern.library "sum_heads"(%{{.*}}) {floats = array<f64>, integers = array<i64: 2, 12, 4, 9, 5>
  %3 = xf.sum_heads %1 : (tensor<2x6x4x9xbf16>) -> tensor<2x6x1x5xbf16>
  return %2, %3 : tensor<2x6x4x3xbf16>, tensor<2x6x1x5xbf16>
}

// CHECK-LABEL: func @chunks
func.func @chunks(%x: tensor<2x6x4xbf16>) -> tensor<2x6x4xbf16> {
  // CHECK: kern.library "shift_rows"(%arg0) {floats = array<f64>, integers = array<i64: 2, 2, 24, 8>
  %0 = xf.split_chunks %x {shift = 2 : i64} : (tensor<2x6x4xbf16>) -> tensor<4x3x4xbf16>
  // CHECK: kern.view
  %1 = xf.join_chunks %0 : (tensor<4x3x4xbf16>) -> tensor<2x6x4xbf16>
  // CHECK: kern.view
  %2 = xf.split_chunks %1 : (tensor<2x6x4xbf16>) -> tensor<4x3x4xbf16>
  // CHECK: kern.library "shift_rows"(%{{.*}}) {floats = array<f64>, integers = array<i64: 2, 2, 24, -8>
  %3 = xf.join_chunks %2 {shift = 2 : i64} : (tensor<4x3x4xbf16>) -> tensor<2x6x4xbf16>
  return %3 : tensor<2x6x4xbf16>
}

// CHECK-LABEL: func.func @images
func.func @images(%x: tensor<2x5x4xbf16>, %r: tensor<2x5xi32>, %s: tensor<6x3x4xbf16>) -> (tensor<2x5x4xbf16>, tensor<6x3x4xbf16>) {
  // CHECK: kern.library "place_rows"(%arg1, %arg0, %arg2) {floats = array<f64>, integers = array<i64: 2, 2, 5, 9, 4, 1>
  %0 = xf.place_rows %x, %r, %s : (tensor<2x5x4xbf16>, tensor<2x5xi32>, tensor<6x3x4xbf16>) -> tensor<2x5x4xbf16>
  // CHECK: kern.library "place_rows"(%arg1, %{{.*}}) {floats = array<f64>, integers = array<i64: 2, 2, 5, 9, 4, 0>
  %1 = xf.place_rows_gradient %0, %r {sources = 9 : i64} : (tensor<2x5x4xbf16>, tensor<2x5xi32>) -> tensor<2x5x4xbf16>
  // CHECK: kern.library "placed_rows_gradient"(%arg1, %{{.*}}) {floats = array<f64>, integers = array<i64: 2, 2, 5, 9, 4>
  %2 = xf.placed_rows_gradient %0, %r : (tensor<2x5x4xbf16>, tensor<2x5xi32>) -> tensor<6x3x4xbf16>
  return %1, %2 : tensor<2x5x4xbf16>, tensor<6x3x4xbf16>
}

// CHECK-LABEL: func.func @state_space
func.func @state_space(%x: tensor<1x6x4xbf16>, %w: tensor<4x2xbf16>, %i: tensor<1x6x2x2xbf16>, %d: tensor<1x6x2xbf16>, %b: tensor<1x6x1x4xbf16>, %n: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: kern.library "causal_conv"(%{{.*}}, %{{.*}}) {floats = array<f64>, integers = array<i64: 2, 1, 6, 4, 2>
  %c = xf.causal_conv %x, %w : (tensor<1x6x4xbf16>, tensor<4x2xbf16>) -> tensor<1x6x4xbf16>
  // CHECK: kern.library "causal_conv_gradient"({{.*}} workspaces = 1
  %dx, %dw = xf.causal_conv_gradient %c, %x, %w : (tensor<1x6x4xbf16>, tensor<1x6x4xbf16>, tensor<4x2xbf16>) -> (tensor<1x6x4xbf16>, tensor<4x2xf32>)
  // CHECK: kern.library "state_scan"({{.*}} {floats = array<f64: 1.000000e-03, 1.000000e-01>, integers = array<i64: 2, 1, 6, 2, 2, 1, 4>
  %y = xf.state_scan %i, %d, %b, %b, %n, %n, %n {least = 0.001, most = 0.1} : (tensor<1x6x2x2xbf16>, tensor<1x6x2xbf16>, tensor<1x6x1x4xbf16>, tensor<1x6x1x4xbf16>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x6x2x2xbf16>
  // CHECK: kern.library "state_scan_gradient"({{.*}} workspaces = 1 {{.*}} tensor<138xf32>
  %g:7 = xf.state_scan_gradient %y, %i, %d, %b, %b, %n, %n, %n : (tensor<1x6x2x2xbf16>, tensor<1x6x2x2xbf16>, tensor<1x6x2xbf16>, tensor<1x6x1x4xbf16>, tensor<1x6x1x4xbf16>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x6x2x2xbf16>, tensor<1x6x2xbf16>, tensor<1x6x1x4xbf16>, tensor<1x6x1x4xbf16>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
  return %g#6 : tensor<2xf32>
}

// CHECK-LABEL: func.func @norms
func.func @norms(%x: tensor<2x4x8xbf16>, %w: tensor<8xf32>, %b: tensor<8xf32>, %d: tensor<2x4x8xbf16>)
    -> (tensor<2x4x8xbf16>, tensor<2x4x8xbf16>) {
  // CHECK: kern.rows "layer_norm" [8 x 8]
  // CHECK: kern.reduce add
  // CHECK: kern.reduce add
  // CHECK: math.sqrt
  %0 = xf.norm %x, %w, %b {kind = #xf.norm_kind<layer>, epsilon = 1.0e-5} : (tensor<2x4x8xbf16>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x4x8xbf16>
  // CHECK: kern.rows "rms_norm" [8 x 8]
  // CHECK: kern.reduce add
  // CHECK-NOT: kern.reduce
  // CHECK: kern.yield
  %1 = xf.norm %0, %w {kind = #xf.norm_kind<rms>, epsilon = 1.0e-5} : (tensor<2x4x8xbf16>, tensor<8xf32>) -> tensor<2x4x8xbf16>
  // CHECK: %[[L:.*]]:3 = kern.rows "layer_norm_gradient" {{.*}} -> (tensor<2x4x8xbf16> as full, tensor<8xf32> as row, tensor<8xf32> as row)
  // CHECK: kern.columns "layer_norm_weight_gradient" {{.*}} %[[L]]#1 as row {{.*}} %[[L]]#2 as row {{.*}} -> (tensor<8xf32>, tensor<8xf32>)
  %2, %dw, %db = xf.norm_gradient %d, %x, %w {kind = #xf.norm_kind<layer>, epsilon = 1.0e-5} : (tensor<2x4x8xbf16>, tensor<2x4x8xbf16>, tensor<8xf32>) -> (tensor<2x4x8xbf16>, tensor<8xf32>, tensor<8xf32>)
  // CHECK: %[[R:.*]]:2 = kern.rows "rms_norm_gradient" {{.*}} -> (tensor<2x4x8xbf16> as full, tensor<8xf32> as row)
  // CHECK: kern.columns "rms_norm_weight_gradient" {{.*}} -> (tensor<8xf32>)
  %3, %dv = xf.norm_gradient %2, %x, %w {kind = #xf.norm_kind<rms>, epsilon = 1.0e-5} : (tensor<2x4x8xbf16>, tensor<2x4x8xbf16>, tensor<8xf32>) -> (tensor<2x4x8xbf16>, tensor<8xf32>)
  return %1, %3 : tensor<2x4x8xbf16>, tensor<2x4x8xbf16>
}

// CHECK-LABEL: func.func @sum_leading
func.func @sum_leading(%x: tensor<2x4x8xbf16>) -> (tensor<8xf32>, tensor<4x8xf32>) {
  // CHECK: kern.columns "sum_leading" [8 x 8] ({{.*}} as full : tensor<2x4x8xbf16>) -> (tensor<8xf32>)
  %0 = xf.sum_leading %x : (tensor<2x4x8xbf16>) -> tensor<8xf32>
  // CHECK: kern.columns "sum_leading" [2 x 32]
  %1 = xf.sum_leading %x : (tensor<2x4x8xbf16>) -> tensor<4x8xf32>
  return %0, %1 : tensor<8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @quantize
func.func @quantize(%x: tensor<2x4x8xbf16>, %w: tensor<16x8xf8E4M3FN>, %t: tensor<f32>) -> tensor<2x4x16xbf16> {
  // By row, where it joins what makes the rows, then over all rows.
  // CHECK: %[[R:.*]] = kern.rows "amax" [8 x 8] (%[[A:.*]] = %[[X:.*]] as full : tensor<2x4x8xbf16>) -> (tensor<8xf32> as row) {
  // CHECK-NEXT: %[[N:.*]] = arith.truncf %[[A]] : f32 to bf16
  // CHECK-NEXT: %[[W:.*]] = arith.extf %[[N]] : bf16 to f32
  // CHECK-NEXT: %[[M:.*]] = math.absf %[[W]]
  // CHECK-NEXT: kern.reduce max %[[M]]
  // CHECK: %[[G:.*]] = kern.rows "amax" [1 x 8] (%{{.*}} = %[[R]] as full : tensor<8xf32>) -> (tensor<f32> as scalar)
  %a = xf.amax %x : (tensor<2x4x8xbf16>) -> tensor<f32>
  // CHECK: %[[S:.*]] = kern.rows "quantize_scale" [1 x 1] (%{{.*}} = %[[G]] as scalar : tensor<f32>)
  // CHECK: arith.constant 4.480000e+02
  %s = xf.quantize_scale %a {format = f8E4M3FN} : (tensor<f32>) -> tensor<f32>
  // CHECK: %[[Q:.*]] = kern.rows "quantize" [8 x 8] (%{{.*}} = %[[X]] as full : tensor<2x4x8xbf16>, %{{.*}} = %[[S]] as scalar : tensor<f32>) -> (tensor<2x4x8xf8E4M3FN> as full)
  %q = xf.quantize %x, %s : (tensor<2x4x8xbf16>, tensor<f32>) -> tensor<2x4x8xf8E4M3FN>
  // CHECK: kern.gemm %[[Q]], %{{.*}} scale_a %[[S]] scale_b %{{.*}} {k = 8 : i64, label = "linear", m = 8 : i64, n = 16 : i64, transpose_b}
  %y = xf.linear %q, %w scales(%s, %t) : (tensor<2x4x8xf8E4M3FN>, tensor<16x8xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<2x4x16xbf16>
  return %y : tensor<2x4x16xbf16>
}

// CHECK-LABEL: func.func @blocks
func.func @blocks(%x: tensor<2x64x40xbf16>) -> tensor<2x64x40xbf16> {
  // Of rows all are one matrix's.
  // CHECK: %[[Q:.*]]:2 = kern.library "quantize_blocks"(%{{.*}}) {{.*}}integers = array<i64: 2, 7, 1, 128, 40, 1, 32>
  %q, %s = xf.quantize_blocks %x {blocks = array<i64: 1, 1, 32>} : (tensor<2x64x40xbf16>) -> (tensor<2x64x40xf8E4M3FN>, tensor<2x64x2xf32>)
  // CHECK: %[[Y:.*]] = kern.library "dequantize_blocks"(%[[Q]]#0, %[[Q]]#1) {{.*}}integers = array<i64: 7, 2, 1, 128, 40, 1, 32>
  %y = xf.dequantize_blocks %q, %s {blocks = array<i64: 1, 1, 32>} : (tensor<2x64x40xf8E4M3FN>, tensor<2x64x2xf32>) -> tensor<2x64x40xbf16>
  // Blocks of tokens lie in one sequence.
  // CHECK: kern.library "quantize_blocks"(%[[Y]]) {{.*}}integers = array<i64: 2, 7, 2, 64, 40, 32, 1>
  %r, %t = xf.quantize_blocks %y {blocks = array<i64: 1, 32, 1>} : (tensor<2x64x40xbf16>) -> (tensor<2x64x40xf8E4M3FN>, tensor<2x2x40xf32>)
  %z = xf.dequantize_blocks %r, %t {blocks = array<i64: 1, 32, 1>} : (tensor<2x64x40xf8E4M3FN>, tensor<2x2x40xf32>) -> tensor<2x64x40xbf16>
  return %z : tensor<2x64x40xbf16>
}

// CHECK-LABEL: func.func @linear
func.func @linear(%x: tensor<2x4x8xbf16>, %w: tensor<16x8xbf16>, %b: tensor<16xbf16>)
    -> (tensor<2x4x8xbf16>, tensor<16x8xf32>) {
  // CHECK: %[[Y:.*]] = kern.gemm %{{.*}}, %{{.*}} bias %{{.*}} {k = 8 : i64, label = "linear", m = 8 : i64, n = 16 : i64, transpose_b}
  %0 = xf.linear %x, %w, %b : (tensor<2x4x8xbf16>, tensor<16x8xbf16>, tensor<16xbf16>) -> tensor<2x4x16xbf16>
  // CHECK: kern.gemm %[[Y]], %{{.*}} {k = 16 : i64, label = "linear_input_gradient", m = 8 : i64, n = 8 : i64}
  %1 = xf.linear_input_gradient %0, %w : (tensor<2x4x16xbf16>, tensor<16x8xbf16>) -> tensor<2x4x8xbf16>
  // CHECK: kern.gemm %[[Y]], %{{.*}} {k = 8 : i64, label = "linear_weight_gradient", m = 16 : i64, n = 8 : i64, transpose_a} : {{.*}} -> tensor<16x8xf32>
  %2 = xf.linear_weight_gradient %0, %x : (tensor<2x4x16xbf16>, tensor<2x4x8xbf16>) -> tensor<16x8xf32>
  return %1, %2 : tensor<2x4x8xbf16>, tensor<16x8xf32>
}

// CHECK-LABEL: func.func @tables
func.func @tables(%ids: tensor<2x4xi32>, %t: tensor<32x8xbf16>) -> (tensor<2x4x8xbf16>, tensor<32x8xf32>, tensor<6x8xf32>) {
  // CHECK: kern.library "embedding"({{.*}}) {{.*}}integers = array<i64: 2, 2, 8, 32, 8>
  %0 = xf.embedding %ids, %t : (tensor<2x4xi32>, tensor<32x8xbf16>) -> tensor<2x4x8xbf16>
  // CHECK: kern.library "embedding_gradient"({{.*}}) {{.*}}integers = array<i64: 2, 8, 32, 8>
  %1 = xf.embedding_gradient %ids, %0 : (tensor<2x4xi32>, tensor<2x4x8xbf16>) -> tensor<32x8xf32>
  // CHECK: kern.view %{{.*}} : tensor<32x8xf32> to tensor<4x8xf32>
  %2 = xf.prefix %1 : (tensor<32x8xf32>) -> tensor<4x8xf32>
  // CHECK: kern.view %{{.*}} : tensor<4x8xf32> to tensor<2x16xf32>
  %3 = xf.reshape %2 : (tensor<4x8xf32>) -> tensor<2x16xf32>
  %4 = xf.reshape %3 : (tensor<2x16xf32>) -> tensor<4x8xf32>
  // CHECK: kern.library "pad_rows"({{.*}}) {{.*}}integers = array<i64: 1, 32, 48>
  %5 = xf.pad_rows %4 : (tensor<4x8xf32>) -> tensor<6x8xf32>
  return %0, %1, %5 : tensor<2x4x8xbf16>, tensor<32x8xf32>, tensor<6x8xf32>
}

// CHECK-LABEL: func.func @rope
func.func @rope(%x: tensor<2x4x2x8xbf16>) -> tensor<2x4x2x8xbf16> {
  // CHECK: %[[T:.*]] = kern.library "rope_table"() {floats = array<f64: 1.000000e+00, 1.000000e-01, 1.000000e-02, 1.000000e-03>, integers = array<i64: 4, 8>
  %t = xf.rope_table {inverse_frequencies = array<f64: 1.0, 0.1, 0.01, 0.001>} : () -> tensor<4x4x2xf32>
  // CHECK: kern.library "rope"(%{{.*}}, %[[T]]) {{.*}}in_place = array<i64: 0>, integers = array<i64: 2, 2, 4, 2, 8, 0, 8>
  %0 = xf.rope %x, %t : (tensor<2x4x2x8xbf16>, tensor<4x4x2xf32>) -> tensor<2x4x2x8xbf16>
  // CHECK: kern.library "rope"{{.*}}integers = array<i64: 2, 2, 4, 2, 8, 1, 8>
  %1 = xf.rope %0, %t {inverse} : (tensor<2x4x2x8xbf16>, tensor<4x4x2xf32>) -> tensor<2x4x2x8xbf16>
  return %1 : tensor<2x4x2x8xbf16>
}

// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<2x4x4x8xf32>, %k: tensor<2x4x2x8xf32>, %v: tensor<2x4x2x8xf32>, %layer: i32)
    -> (tensor<2x4x4x8xf32>, tensor<2x4x2x8xf32>, tensor<2x4x2x8xf32>) {
  // CHECK: %[[O:.*]]:2 = kern.library "attention_forward"(%[[Q:.*]], %[[K:.*]], %[[V:.*]]) instance(%{{.*}}) {elements = 128 : i64, floats = array<f64: 1.250000e-01, 1.000000e-01>, integers = array<i64: 1, 2, 4, 4, 2, 8, 1, 3, 196608>, label = "attention_forward", random, stream = 3 : i32}
  %o, %lse = xf.attention %q, %k, %v, %layer {causal, window = 3, scale = 0.125, dropout = 0.1, stream = 3 : i32} : (tensor<2x4x4x8xf32>, tensor<2x4x2x8xf32>, tensor<2x4x2x8xf32>, i32) -> (tensor<2x4x4x8xf32>, tensor<2x4x4xf32>)
  // CHECK: kern.library "attention_backward"(%[[Q]], %[[K]], %[[V]], %[[O]]#0, %[[O]]#1, %[[O]]#0) {{.*}} workspaces = 1 : i64} : {{.*}} -> (tensor<2x4x4x8xf32>, tensor<2x4x2x8xf32>, tensor<2x4x2x8xf32>, tensor<2x4x4xf32>)
  %dq, %dk, %dv = xf.attention_gradient %o, %q, %k, %v, %o, %lse {causal, scale = 0.125} : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x2x8xf32>, tensor<2x4x2x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4xf32>) -> (tensor<2x4x4x8xf32>, tensor<2x4x2x8xf32>, tensor<2x4x2x8xf32>)
  return %dq, %dk, %dv : tensor<2x4x4x8xf32>, tensor<2x4x2x8xf32>, tensor<2x4x2x8xf32>
}

// CHECK-LABEL: func.func @capped_attention
func.func @capped_attention(%q: tensor<2x4x4x8xf32>) -> tensor<2x4x4x8xf32> {
  // CHECK: kern.library "attention_forward"({{.*}}floats = array<f64: 1.250000e-01, 0.000000e+00, 5.000000e+01>
  %o, %lse = xf.attention %q, %q, %q {causal, scale = 0.125, softcap = 50.0} : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>) -> (tensor<2x4x4x8xf32>, tensor<2x4x4xf32>)
  // CHECK: kern.library "attention_backward"({{.*}}floats = array<f64: 1.250000e-01, 0.000000e+00, 5.000000e+01>
  %dq, %dk, %dv = xf.attention_gradient %o, %q, %q, %q, %o, %lse {causal, scale = 0.125, softcap = 50.0} : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4xf32>) -> (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>)
  return %dq : tensor<2x4x4x8xf32>
}

// CHECK-LABEL: func.func @biased_cached_attention
func.func @biased_cached_attention(%t: tensor<8x1x4x8xf32>, %p: tensor<8x1xi32>, %table: tensor<4x2xi32>, %c: tensor<8x64x4x8xf32>, %bias: tensor<11x4xf32>) -> tensor<8x1x4x8xf32> {
  // CHECK: kern.library "cached_attention_biased"({{.*}}) {floats = array<f64: 1.250000e-01>, in_place = array<i64: -1, 6, 7>, integers = array<i64: 1, 8, 4, 4, 8, 0, 4, 2, 8, 4, 5>
  %r, %a, %b = xf.cached_attention %t, %t, %t, %p, %p, %table, %c, %c bias %bias {scale = 0.125} : (tensor<8x1x4x8xf32>, tensor<8x1x4x8xf32>, tensor<8x1x4x8xf32>, tensor<8x1xi32>, tensor<8x1xi32>, tensor<4x2xi32>, tensor<8x64x4x8xf32>, tensor<8x64x4x8xf32>, tensor<11x4xf32>) -> (tensor<8x1x4x8xf32>, tensor<8x64x4x8xf32>, tensor<8x64x4x8xf32>)
  return %r : tensor<8x1x4x8xf32>
}

// CHECK-LABEL: func.func @sloped_attention
func.func @sloped_attention(%q: tensor<2x4x4x8xf32>, %t: tensor<8x1x4x8xf32>, %p: tensor<8x1xi32>, %table: tensor<4x2xi32>, %c: tensor<8x64x4x8xf32>, %first: i32) -> tensor<8x1x4x8xf32> {
  // CHECK: kern.library "attention_forward"({{.*}}floats = array<f64: 1.250000e-01, 0.000000e+00, 0.000000e+00, 1.000000e+00>
  %o, %lse = xf.attention %q, %q, %q {alibi, causal, scale = 0.125} : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>) -> (tensor<2x4x4x8xf32>, tensor<2x4x4xf32>)
  // CHECK: kern.library "cached_attention_shard"({{.*}}) scalars(%{{.*}}) {floats = array<f64: 1.250000e-01, 0.000000e+00, 1.000000e+00>, in_place = array<i64: -1, 6, 7>, integers = array<i64: 1, 8, 4, 4, 8, 0, 4, 2, 8, 12>
  %r, %a, %b = xf.cached_attention %t, %t, %t, %p, %p, %table, %c, %c, %first {alibi, scale = 0.125, whole_heads = 12 : i64} : (tensor<8x1x4x8xf32>, tensor<8x1x4x8xf32>, tensor<8x1x4x8xf32>, tensor<8x1xi32>, tensor<8x1xi32>, tensor<4x2xi32>, tensor<8x64x4x8xf32>, tensor<8x64x4x8xf32>, i32) -> (tensor<8x1x4x8xf32>, tensor<8x64x4x8xf32>, tensor<8x64x4x8xf32>)
  return %r : tensor<8x1x4x8xf32>
}

// Keys of another sequence are a shard of one that is as long as the longer.
// CHECK-LABEL: func.func @cross_attention
func.func @cross_attention(%q: tensor<2x4x4x8xf32>, %k: tensor<2x6x2x8xf32>, %p: tensor<2x4xi32>) -> tensor<2x6x2x8xf32> {
  // CHECK: kern.library "attention_forward_shard"({{.*}}integers = array<i64: 1, 2, 4, 4, 2, 8, 0, 0, 6, 4, 6, 0, 0, 0>
  %o, %lse = xf.attention %q, %k, %k {scale = 1.0} : (tensor<2x4x4x8xf32>, tensor<2x6x2x8xf32>, tensor<2x6x2x8xf32>) -> (tensor<2x4x4x8xf32>, tensor<2x4x4xf32>)
  // CHECK: kern.library "attention_backward_documents"({{.*}}integers = array<i64: 1, 2, 4, 4, 2, 8, 0, 0, 6, 4, 6, 0, 0, 0>
  %dq, %dk, %dv = xf.attention_gradient %o, %q, %k, %k, %o, %lse positions %p {scale = 1.0} : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x6x2x8xf32>, tensor<2x6x2x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4xf32>, tensor<2x4xi32>) -> (tensor<2x4x4x8xf32>, tensor<2x6x2x8xf32>, tensor<2x6x2x8xf32>)
  return %dk : tensor<2x6x2x8xf32>
}

// Results stand first, and rounds and the reach before the stream.
// CHECK-LABEL: func.func @biased_attention
func.func @biased_attention(%q: tensor<2x4x4x8xf32>, %p: tensor<2x4xi32>, %table: tensor<4x4xf32>) -> tensor<7x4xf32> {
  // CHECK: %[[I:.*]] = kern.library "relative_buckets"() {{.*}}integers = array<i64: 4, 3, 0>
  %i = xf.relative_buckets {buckets = 4 : i64, max_distance = 3 : i64} : () -> tensor<7xi32>
  // CHECK: %[[B:.*]] = kern.library "embedding"(%[[I]],
  %b = xf.embedding %i, %table : (tensor<7xi32>, tensor<4x4xf32>) -> tensor<7x4xf32>
  // CHECK: kern.library "attention_forward_biased"(%{{.*}}, %{{.*}}, %{{.*}}, %[[B]], %{{.*}}) {{.*}}integers = array<i64: 1, 2, 4, 4, 4, 8, 1, 0, 4, 4, 4, 0, 0, 1, 3, 0>{{.*}}results_first
  %o, %lse = xf.attention %q, %q, %q positions %p bias %b {causal, scale = 1.0} : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4xi32>, tensor<7x4xf32>) -> (tensor<2x4x4x8xf32>, tensor<2x4x4xf32>)
  // CHECK: kern.library "attention_backward_biased"({{.*}}, %[[B]]) {{.*}}results_first, workspaces = 2 : i64} : {{.*}} -> (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<7x4xf32>, tensor<2x4x4xf32>, tensor<2x1x4x7xf32>)
  %dq, %dk, %dv, %db = xf.attention_gradient %o, %q, %q, %q, %o, %lse bias %b {causal, scale = 1.0} : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4xf32>, tensor<7x4xf32>) -> (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<7x4xf32>)
  return %db : tensor<7x4xf32>
}

// Caches are written in place: the last result is the last operand.
// CHECK-LABEL: func.func @cached_states
func.func @cached_states(%x: tensor<6x1x4xbf16>, %w: tensor<4x3xbf16>, %bias: tensor<4xbf16>, %c: tensor<3x2x4xbf16>, %i: tensor<6x1x2x3xbf16>, %d: tensor<6x1x2xbf16>, %b: tensor<6x1x1x4xbf16>, %n: tensor<2xf32>, %p: tensor<6x1xi32>, %h: tensor<3x2x3x4xf32>) {
  // CHECK: kern.library "cached_conv"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {floats = array<f64>, in_place = array<i64: -1, 5>, integers = array<i64: 2, 6, 4, 3, 3>
  %y, %c1 = xf.cached_conv %x, %w, %p, %p, %bias, %c : (tensor<6x1x4xbf16>, tensor<4x3xbf16>, tensor<6x1xi32>, tensor<6x1xi32>, tensor<4xbf16>, tensor<3x2x4xbf16>) -> (tensor<6x1x4xbf16>, tensor<3x2x4xbf16>)
  // CHECK: kern.library "cached_scan"({{.*}} {floats = array<f64: 1.000000e-03, 1.000000e-01>, in_place = array<i64: -1, 9>, integers = array<i64: 2, 6, 2, 3, 1, 4, 3>
  %s, %h1 = xf.cached_scan %i, %d, %b, %b, %n, %n, %n, %p, %p, %h {least = 0.001, most = 0.1} : (tensor<6x1x2x3xbf16>, tensor<6x1x2xbf16>, tensor<6x1x1x4xbf16>, tensor<6x1x1x4xbf16>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<6x1xi32>, tensor<6x1xi32>, tensor<3x2x3x4xf32>) -> (tensor<6x1x2x3xbf16>, tensor<3x2x3x4xf32>)
  return
}

// A shard says where it starts, and what it is a shard of.
// CHECK-LABEL: func.func @attention_shard
func.func @attention_shard(%q: tensor<2x4x4x8xf32>, %k: tensor<2x8x2x8xf32>, %zero: i32)
    -> tensor<2x4x4x8xf32> {
  %first = arith.constant 4 : i32
  // CHECK: kern.library "attention_forward_shard"(%{{.*}}, %{{.*}}, %{{.*}}) scalars(%[[F:.*]], %[[Z:.*]], %[[Z]], %[[Z]]) {elements = 512 : i64, {{.*}} integers = array<i64: 1, 2, 4, 4, 2, 8, 1, 0, 8, 4, 8, 2, 0, 0>
  %o, %lse = xf.attention %q, %k, %k from (%first, %zero, %zero, %zero) {causal, scale = 0.125, dropout = 0.1, part = 2 : i64, whole = array<i64: 2, 4, 8>} : (tensor<2x4x4x8xf32>, tensor<2x8x2x8xf32>, tensor<2x8x2x8xf32>, i32, i32, i32, i32) -> (tensor<2x4x4x8xf32>, tensor<2x4x4xf32>)
  // Without dropout the key is zeros.
  // CHECK: kern.library "attention_backward_shard"(%{{.*}}) scalars(%[[F]], %[[Z]], %[[Z]], %[[Z]]) {floats{{.*}} integers = array<i64: 1, 2, 4, 4, 2, 8, 1, 0, 8, 4, 8, 2, 0, 0>
  %dq, %dk, %dv = xf.attention_gradient %o, %q, %k, %k, %o, %lse from (%first, %zero, %zero, %zero) {causal, scale = 0.125, part = 2 : i64, whole = array<i64: 2, 4, 8>} : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x8x2x8xf32>, tensor<2x8x2x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4xf32>, i32, i32, i32, i32) -> (tensor<2x4x4x8xf32>, tensor<2x8x2x8xf32>, tensor<2x8x2x8xf32>)
  return %dq : tensor<2x4x4x8xf32>
}

// Rounds are said where there are several.
// CHECK-LABEL: func.func @rounds
func.func @rounds(%q: tensor<2x4x4x8xf32>, %p: tensor<2x4xi32>, %first: i32, %zero: i32) -> (tensor<2x4x4x8xf32>, tensor<4xi32>, tensor<4x4x2xf32>) {
  // CHECK: kern.library "attention_forward_documents"({{.*}} integers = array<i64: 1, 2, 4, 4, 4, 8, 1, 0, 4, 4, 8, 1, 4, 2, 0>
  %o, %lse = xf.attention %q, %q, %q positions %p from (%first, %first, %zero, %zero) {behind = 4 : i64, causal, scale = 0.125, part = 1 : i64, rounds = 2 : i64, whole = array<i64: 2, 4, 8>} : (tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4x4x8xf32>, tensor<2x4xi32>, i32, i32, i32, i32) -> (tensor<2x4x4x8xf32>, tensor<2x4x4xf32>)
  // CHECK: kern.library "positions"() {{.*}} integers = array<i64: 4, 8, 1, 2>
  %i = xf.positions %first {part = 1 : i64, rounds = 2 : i64, whole = 8 : i64} : (i32) -> tensor<4xi32>
  // CHECK: kern.library "rope_table_shard"() {{.*}} integers = array<i64: 4, 8, 8, 1, 2>
  %t = xf.rope_table %first {inverse_frequencies = array<f64: 1.0, 0.1, 0.01, 0.001>, part = 1 : i64, rounds = 2 : i64, whole = 8 : i64} : (i32) -> tensor<4x4x2xf32>
  return %o, %i, %t : tensor<2x4x4x8xf32>, tensor<4xi32>, tensor<4x4x2xf32>
}

// CHECK-LABEL: func.func @loss
func.func @loss(%l: tensor<2x4x32xbf16>, %y: tensor<2x4xi32>, %d: tensor<f32>) -> (tensor<f32>, tensor<2x4x32xbf16>) {
  // CHECK: %[[L:.*]]:2 = kern.library "cross_entropy_forward"({{.*}}integers = array<i64: 2, 8, 32, 17>
  %loss, %lse = xf.cross_entropy %l, %y {valid_vocab = 17 : i64} : (tensor<2x4x32xbf16>, tensor<2x4xi32>) -> (tensor<f32>, tensor<2x4xf32>)
  // CHECK: kern.library "cross_entropy_backward"(%{{.*}}, %{{.*}}, %[[L]]#1, %{{.*}}) {{.*}}in_place = array<i64: 0>, integers = array<i64: 2, 8, 32, 17>
  %0 = xf.cross_entropy_gradient %d, %l, %y, %lse {valid_vocab = 17 : i64} : (tensor<f32>, tensor<2x4x32xbf16>, tensor<2x4xi32>, tensor<2x4xf32>) -> tensor<2x4x32xbf16>
  return %loss, %0 : tensor<f32>, tensor<2x4x32xbf16>
}

// CHECK-LABEL: func.func @optimizer
func.func @optimizer(%p: tensor<96x64xf32>, %g: tensor<96x64xf32>, %m: tensor<96x64xf32>, %v: tensor<96x64xf32>, %t: tensor<f32>)
    -> (tensor<96x64xf32>, tensor<96x64xf32>, tensor<96x64xf32>) {
  // CHECK: kern.library "global_norm"({{.*}}integers = array<i64: 1, 6144, 1, 6144>{{.*}}results_first
  %n, %bad = xf.global_norm %g, %m : (tensor<96x64xf32>, tensor<96x64xf32>) -> (tensor<f32>, tensor<f32>)
  // CHECK: kern.rows "gradient_scale" [1 x 1]
  // CHECK: arith.minimumf
  %s, %n1 = xf.gradient_scale %n {max_norm = 1.0, microbatches = 2 : i64} : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  // CHECK: kern.rows "advance_step"
  %t1 = xf.advance_step %t, %bad : (tensor<f32>, tensor<f32>) -> tensor<f32>
  // CHECK: kern.rows "bias_correction"
  // CHECK: arith.constant -0.105360515 : f32
  // CHECK: math.expm1
  %c1 = xf.bias_correction %t1 {beta = 0.9} : (tensor<f32>) -> tensor<f32>
  %c2 = xf.bias_correction %t1 {beta = 0.95} : (tensor<f32>) -> tensor<f32>
  // CHECK: kern.rows "adamw" [2 x 3072]
  // CHECK: math.sqrt
  // CHECK-COUNT-3: arith.select
  %p1, %m1, %v1 = xf.adamw %p, %g, %m, %v, %t1, %c1, %c2, %s, %bad {beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = 0.1} : (tensor<96x64xf32>, tensor<96x64xf32>, tensor<96x64xf32>, tensor<96x64xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<96x64xf32>, tensor<96x64xf32>, tensor<96x64xf32>)
  // CHECK: kern.rows "sgd" [2 x 3072]
  %p2, %b1 = xf.sgd %p1, %g, %t, %s, %bad, %m1 {momentum = 0.9, weight_decay = 0.1} : (tensor<96x64xf32>, tensor<96x64xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<96x64xf32>) -> (tensor<96x64xf32>, tensor<96x64xf32>)
  %p3 = xf.sgd %p2, %g, %t, %s, %bad {momentum = 0.0, weight_decay = 0.0} : (tensor<96x64xf32>, tensor<96x64xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<96x64xf32>
  // CHECK: kern.rows "loss_scale_update" [1 x 1]
  %s1, %good = xf.loss_scale_update %s, %t, %bad {policy = #xf.loss_scale<initial = 65536.0, growth_factor = 2.0, backoff_factor = 0.5, growth_interval = 1000, minimum = 1.0>} : (tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %p3, %b1, %v1 : tensor<96x64xf32>, tensor<96x64xf32>, tensor<96x64xf32>
}

// CHECK-LABEL: func.func @sinkhorn
func.func @sinkhorn(%l: tensor<2x4x8xf32>) -> (tensor<2x4x2xf32>, tensor<2x4x2xi32>) {
  // CHECK: %[[B:.*]]:2 = kern.library "sinkhorn"(%{{.*}}) {{.*}}integers = array<i64: 8, 8, 2>{{.*}}workspaces = 1 : i64{{.*}} -> (tensor<2x8xf32>, tensor<10x9xf64>)
  %b = xf.sinkhorn %l : (tensor<2x4x8xf32>) -> tensor<2x8xf32>
  // CHECK: kern.library "router_by_sequence"(%{{.*}}, %[[B]]#0) {floats = array<f64: 1.000000e+00>, integers = array<i64: 8, 8, 2, 0, 0, 1, 1, 2>
  %w, %e = xf.router %l, %b {scale = 1.0, scores = #xf.router_scores<softmax>, top_k = 2 : i64} : (tensor<2x4x8xf32>, tensor<2x8xf32>) -> (tensor<2x4x2xf32>, tensor<2x4x2xi32>)
  return %w, %e : tensor<2x4x2xf32>, tensor<2x4x2xi32>
}

// CHECK-LABEL: func.func @router
func.func @router(%l: tensor<2x4x8xf32>, %b: tensor<8xf32>, %n: tensor<8xf32>, %d: tensor<f32>) -> (tensor<2x4x8xf32>, tensor<8xf32>, tensor<2x4x8xf32>) {
  // CHECK: %[[R:.*]]:2 = kern.library "router"(%{{.*}}, %{{.*}}) {floats = array<f64: 2.500000e+00>, integers = array<i64: 8, 8, 2, 1, 1, 4, 2>{{.*}}results_first
  %w, %e = xf.router %l, %b {groups = 4 : i64, renormalise, scale = 2.5, scores = #xf.router_scores<sigmoid>, top_k = 2 : i64, topk_groups = 2 : i64} : (tensor<2x4x8xf32>, tensor<8xf32>) -> (tensor<2x4x2xf32>, tensor<2x4x2xi32>)
  // CHECK: kern.library "router_gradient"(%[[R]]#0, %{{.*}}, %[[R]]#1) {floats = array<f64: 2.500000e+00>, integers = array<i64: 8, 8, 2, 1, 1>
  %0 = xf.router_gradient %w, %l, %e {renormalise, scale = 2.5, scores = #xf.router_scores<sigmoid>} : (tensor<2x4x2xf32>, tensor<2x4x8xf32>, tensor<2x4x2xi32>) -> tensor<2x4x8xf32>
  // CHECK: %[[P:.*]]:2 = kern.library "router_probabilities"({{.*}}integers = array<i64: 8, 8, 0, 1>{{.*}}workspaces = 1 : i64{{.*}} -> (tensor<8xf32>, tensor<32x8xf64>)
  %p = xf.router_probabilities %l {scores = #xf.router_scores<softmax>} : (tensor<2x4x8xf32>) -> tensor<8xf32>
  // CHECK: kern.library "router_probabilities_gradient"(%[[P]]#0, %{{.*}}) {{.*}}integers = array<i64: 8, 8, 0, 1>
  %1 = xf.router_probabilities_gradient %p, %l {scores = #xf.router_scores<softmax>} : (tensor<8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  // CHECK: kern.library "router_z_loss"({{.*}}integers = array<i64: 8, 8>{{.*}} -> (tensor<f32>, tensor<32xf64>)
  %z = xf.router_z_loss %l : (tensor<2x4x8xf32>) -> tensor<f32>
  // CHECK: kern.library "router_z_loss_gradient"({{.*}}integers = array<i64: 8, 8>
  %2 = xf.router_z_loss_gradient %z, %l : (tensor<f32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  // CHECK: kern.library "expert_counts"(%[[R]]#1) {{.*}}integers = array<i64: 16, 8, 1>
  %c = xf.expert_counts %e : (tensor<2x4x2xi32>) -> tensor<8xf32>
  // CHECK: kern.library "balance_bias"({{.*}}floats = array<f64: 1.000000e-01>, integers = array<i64: 8>
  %b1 = xf.balance_bias %b, %c, %d {rate = 0.1} : (tensor<8xf32>, tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = xf.add %0, %1 : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %3, %b1, %2 : tensor<2x4x8xf32>, tensor<8xf32>, tensor<2x4x8xf32>
}

// Weights of bf16 rows are given in f32; with a capacity the ranges are scratch.
// CHECK-LABEL: func.func @experts
func.func @experts(%x: tensor<2x4x16xbf16>, %e: tensor<2x4x2xi32>, %w: tensor<2x4x2xbf16>, %m: tensor<8x24x16xbf16>) -> (tensor<2x4x16xbf16>, tensor<8x24x16xf32>, tensor<2x4x2xf32>) {
  // CHECK: %[[S:.*]]:2 = kern.library "expert_order"({{.*}}integers = array<i64: 2, 4, 2, 8, 3, 1>{{.*}}workspaces = 1 : i64
  %s = xf.expert_order %e {capacity = 3 : i64, experts = 8 : i64} : (tensor<2x4x2xi32>) -> tensor<2x4x2xi32>
  // CHECK: %[[ROWS:.*]] = kern.library "dispatch"(%{{.*}}, %[[S]]#0) {{.*}}integers = array<i64: 2, 2, 4, 2, 8, 3, 1, 48, 16>
  %r = xf.dispatch %x, %s : (tensor<2x4x16xbf16>, tensor<2x4x2xi32>) -> tensor<8x2x3x16xbf16>
  // CHECK: %[[Y:.*]] = kern.library "grouped_linear"(%[[ROWS]], %{{.*}}) {{.*}}integers = array<i64: 2, 48, 24, 16, 8, 1, 8, 48>
  %y = xf.grouped_linear %r, %m : (tensor<8x2x3x16xbf16>, tensor<8x24x16xbf16>) -> tensor<8x2x3x24xbf16>
  // CHECK: kern.library "grouped_linear_weight_gradient"(%[[Y]], %[[ROWS]]) {{.*}}integers = array<i64: 2, 48, 24, 16, 8, 1, 8, 48>{{.*}} -> tensor<8x24x16xf32>
  %dm = xf.grouped_linear_weight_gradient %y, %r : (tensor<8x2x3x24xbf16>, tensor<8x2x3x16xbf16>) -> tensor<8x24x16xf32>
  // CHECK: %[[W:.*]] = kern.rows "cast"
  // CHECK: kern.library "combine"(%[[ROWS]], %[[S]]#0, %[[W]]) {{.*}}integers = array<i64: 2, 2, 4, 2, 8, 3, 1, 48, 16>
  %c = xf.combine %r, %s, %w : (tensor<8x2x3x16xbf16>, tensor<2x4x2xi32>, tensor<2x4x2xbf16>) -> tensor<2x4x16xbf16>
  // CHECK: kern.library "combine_weight_gradient"(%{{.*}}, %[[ROWS]], %[[S]]#0)
  %dw = xf.combine_weight_gradient %c, %r, %s : (tensor<2x4x16xbf16>, tensor<8x2x3x16xbf16>, tensor<2x4x2xi32>) -> tensor<2x4x2xf32>
  return %c, %dm, %dw : tensor<2x4x16xbf16>, tensor<8x24x16xf32>, tensor<2x4x2xf32>
}

// CHECK-LABEL: func.func @dropless
func.func @dropless(%x: tensor<2x4x16xf32>, %e: tensor<2x4x2xi32>, %m: tensor<8x24x16xf32>) -> tensor<2x8x16xf32> {
  // CHECK: %[[S:.*]]:2 = kern.library "expert_order"({{.*}}integers = array<i64: 2, 4, 2, 8, 0, 2>
  %s, %n = xf.expert_order %e {experts = 8 : i64} : (tensor<2x4x2xi32>) -> (tensor<2x4x2xi32>, tensor<2x8x2xi32>)
  // CHECK: %[[ROWS:.*]] = kern.library "dispatch"(%{{.*}}, %[[S]]#0) {{.*}}integers = array<i64: 1, 2, 4, 2, 1, 0, 2, 16, 16>
  %r = xf.dispatch %x, %s : (tensor<2x4x16xf32>, tensor<2x4x2xi32>) -> tensor<2x8x16xf32>
  // CHECK: %[[Y:.*]] = kern.library "grouped_linear"(%[[ROWS]], %{{.*}}, %[[S]]#1) {{.*}}integers = array<i64: 1, 16, 24, 16, 8, 2, 8, 16>
  %y = xf.grouped_linear %r, %m, %n : (tensor<2x8x16xf32>, tensor<8x24x16xf32>, tensor<2x8x2xi32>) -> tensor<2x8x24xf32>
  // CHECK: kern.library "grouped_linear_input_gradient"(%[[Y]], %{{.*}}, %[[S]]#1) {{.*}}integers = array<i64: 1, 16, 24, 16, 8, 2, 8, 16>
  %d = xf.grouped_linear_input_gradient %y, %m, %n : (tensor<2x8x24xf32>, tensor<8x24x16xf32>, tensor<2x8x2xi32>) -> tensor<2x8x16xf32>
  return %d : tensor<2x8x16xf32>
}

// Rows that are computed by themselves, and put together in place.

// CHECK-LABEL: func.func @rows(
func.func @rows(%x: tensor<2x4x8xf32>, %y: tensor<2x4xi32>) -> (tensor<2x4x8xf32>, tensor<3xi32>) {
  // CHECK: %[[FIRST:.*]] = arith.constant 40 : i32
  // CHECK: %[[X:.*]] = kern.library "slice_shard"(%arg0) scalars(%[[FIRST]]) {{.*}}integers = array<i64: 1, 1, 24, 64>
  %0 = pipe.slice_rows %x from 5 : tensor<2x4x8xf32> to tensor<3x8xf32>
  // CHECK: arith.constant 5 : i32
  // CHECK: kern.library "slice_shard"(%arg1) {{.*}}integers = array<i64: 4, 1, 3, 8>
  %1 = pipe.slice_rows %y from 5 : tensor<2x4xi32> to tensor<3xi32>
  // CHECK: %[[ALL:.*]] = kern.library "pad_rows"(%[[X]]) {{.*}}integers = array<i64: 1, 24, 64>
  %2 = pipe.insert_rows %0 at 0 : (tensor<3x8xf32>) -> tensor<2x4x8xf32>
  // CHECK: kern.library "insert_rows"(%[[X]], %[[ALL]]) {{.*}}in_place = array<i64: 1>, integers = array<i64: 1, 24, 64, 24>
  %3 = pipe.insert_rows %0 at 3 into %2 : (tensor<3x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %3, %1 : tensor<2x4x8xf32>, tensor<3xi32>
}
