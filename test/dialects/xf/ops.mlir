// RUN: hocket-opt %s | hocket-opt | FileCheck %s
// RUN: hocket-opt %s --mlir-print-op-generic | hocket-opt | FileCheck %s

// Every op, printed and read again.

// CHECK: xf.variable @embedding.weight : tensor<512x64xf32> {decay, init = #xf.init<normal, 2.000000e-02 : f64>, kind = #xf.variable_kind<parameter>, role = #xf.parameter_role<embedding>}
xf.variable @embedding.weight : tensor<512x64xf32> {decay, init = #xf.init<normal, 0.02>, kind = #xf.variable_kind<parameter>, role = #xf.parameter_role<embedding>}
xf.variable @embedding.weight.grad : tensor<512x64xf32> {kind = #xf.variable_kind<gradient>, of = @embedding.weight}

// CHECK-LABEL: func @embedding(
// CHECK: xf.embedding {{.*}}: (tensor<4x256xi32>, tensor<512x64xf32>) -> tensor<4x256x64xf32>
func.func @embedding(%ids: tensor<4x256xi32>, %w: tensor<512x64xf32>) {
  %x = xf.embedding %ids, %w : (tensor<4x256xi32>, tensor<512x64xf32>) -> tensor<4x256x64xf32>
  return
}

// CHECK-LABEL: func @prefix(
// CHECK: xf.prefix {{.*}}: (tensor<1024x64xf32>) -> tensor<256x64xf32>
func.func @prefix(%w: tensor<1024x64xf32>) {
  %p = xf.prefix %w : (tensor<1024x64xf32>) -> tensor<256x64xf32>
  return
}

// CHECK-LABEL: func @linear(
// CHECK: xf.linear {{.*}}: (tensor<4x256x64xf32>, tensor<192x64xf32>, tensor<192xf32>) -> tensor<4x256x192xf32>
func.func @linear(%x: tensor<4x256x64xf32>, %w: tensor<192x64xf32>, %b: tensor<192xf32>) {
  %y = xf.linear %x, %w, %b : (tensor<4x256x64xf32>, tensor<192x64xf32>, tensor<192xf32>) -> tensor<4x256x192xf32>
  return
}

// CHECK-LABEL: func @norm(
// CHECK: xf.norm {{.*}}: (tensor<4x256x64xf32>, tensor<64xf32>) -> tensor<4x256x64xf32>
func.func @norm(%x: tensor<4x256x64xf32>, %w: tensor<64xf32>) {
  %y = xf.norm %x, %w {kind = #xf.norm_kind<rms>, epsilon = 1.0e-5} : (tensor<4x256x64xf32>, tensor<64xf32>) -> tensor<4x256x64xf32>
  return
}

// CHECK-LABEL: func @rope_table(
// CHECK: xf.rope_table {{.*}}: () -> tensor<256x2x2xf32>
func.func @rope_table() {
  %t = xf.rope_table {inverse_frequencies = array<f64: 1.0, 0.01>} : () -> tensor<256x2x2xf32>
  return
}

// CHECK-LABEL: func @rope(
// CHECK: xf.rope {{.*}}: (tensor<4x256x8x64xf32>, tensor<256x32x2xf32>) -> tensor<4x256x8x64xf32>
func.func @rope(%x: tensor<4x256x8x64xf32>, %t: tensor<256x32x2xf32>) {
  %y = xf.rope %x, %t : (tensor<4x256x8x64xf32>, tensor<256x32x2xf32>) -> tensor<4x256x8x64xf32>
  return
}

// CHECK-LABEL: func @attention(
// CHECK: xf.attention {{.*}}: (tensor<4x256x8x64xf32>, tensor<4x256x2x64xf32>, tensor<4x256x2x64xf32>) -> (tensor<4x256x8x64xf32>, tensor<4x8x256xf32>)
func.func @attention(%q: tensor<4x256x8x64xf32>, %k: tensor<4x256x2x64xf32>, %v: tensor<4x256x2x64xf32>) {
  %o, %lse = xf.attention %q, %k, %v {causal, scale = 0.125} : (tensor<4x256x8x64xf32>, tensor<4x256x2x64xf32>, tensor<4x256x2x64xf32>) -> (tensor<4x256x8x64xf32>, tensor<4x8x256xf32>)
  return
}

// CHECK-LABEL: func @activation(
// CHECK: xf.activation {{.*}}: (tensor<4x64xf32>) -> tensor<4x64xf32>
func.func @activation(%x: tensor<4x64xf32>) {
  %y = xf.activation %x {kind = #xf.activation_kind<gelu>} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  return
}

// CHECK-LABEL: func @softcap(
// CHECK: xf.softcap {{.*}} {cap = 3.000000e+01 : f64} : (tensor<4x64xf32>) -> tensor<4x64xf32>
func.func @softcap(%x: tensor<4x64xf32>) {
  %y = xf.softcap %x {cap = 30.0} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  return
}

// CHECK-LABEL: func @gated(
// CHECK: xf.gated {{.*}}: (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
func.func @gated(%g: tensor<4x64xf32>, %u: tensor<4x64xf32>) {
  %y = xf.gated %g, %u {kind = #xf.activation_kind<silu>} : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  return
}

// CHECK-LABEL: func @row_gate(
// CHECK: xf.row_gate {{.*}}: (tensor<4x8x64xf32>, tensor<4x8x1xf32>) -> tensor<4x8x64xf32>
func.func @row_gate(%x: tensor<4x8x64xf32>, %g: tensor<4x8x1xf32>) {
  %y = xf.row_gate %x, %g : (tensor<4x8x64xf32>, tensor<4x8x1xf32>) -> tensor<4x8x64xf32>
  return
}

// CHECK-LABEL: func @gather_choices(
// CHECK: xf.gather_choices {{.*}}: (tensor<8x16x1xf32>) -> tensor<8x16x4xf32>
func.func @gather_choices(%x: tensor<8x16x1xf32>) {
  %y = xf.gather_choices %x : (tensor<8x16x1xf32>) -> tensor<8x16x4xf32>
  // CHECK: xf.gather_choices_gradient {{.*}}: (tensor<8x16x4xf32>) -> tensor<8x16x1xf32>
  %dx = xf.gather_choices_gradient %y : (tensor<8x16x4xf32>) -> tensor<8x16x1xf32>
  return
}

// CHECK-LABEL: func @heads(
// CHECK: xf.join_heads {{.*}} : (tensor<2x8x4x6xf32>, tensor<2x8x1x2xf32>) -> tensor<2x8x4x8xf32>
func.func @heads(%x: tensor<2x8x4x6xf32>, %r: tensor<2x8x1x2xf32>) {
  %k = xf.join_heads %x, %r : (tensor<2x8x4x6xf32>, tensor<2x8x1x2xf32>) -> tensor<2x8x4x8xf32>
  // CHECK: xf.join_heads {{.*}} : (tensor<2x8x4x6xf32>) -> tensor<2x8x4x8xf32>
  %v = xf.join_heads %x : (tensor<2x8x4x6xf32>) -> tensor<2x8x4x8xf32>
  // CHECK: xf.part_heads {{.*}} {first = 2 : i64} : (tensor<2x8x4x8xf32>) -> tensor<2x8x4x6xf32>
  %p = xf.part_heads %k {first = 2 : i64} : (tensor<2x8x4x8xf32>) -> tensor<2x8x4x6xf32>
  // CHECK: xf.sum_heads {{.*}} : (tensor<2x8x4x8xf32>) -> tensor<2x8x1x2xf32>
  %s = xf.sum_heads %k : (tensor<2x8x4x8xf32>) -> tensor<2x8x1x2xf32>
  return
}

// CHECK-LABEL: func @chunks(
// CHECK: xf.split_chunks {{.*}} {shift = 3 : i64} : (tensor<2x8x64xf32>) -> tensor<4x4x64xf32>
func.func @chunks(%x: tensor<2x8x64xf32>) {
  %y = xf.split_chunks %x {shift = 3 : i64} : (tensor<2x8x64xf32>) -> tensor<4x4x64xf32>
  // CHECK: xf.join_chunks {{.*}} : (tensor<4x4x64xf32>) -> tensor<2x8x64xf32>
  %z = xf.join_chunks %y : (tensor<4x4x64xf32>) -> tensor<2x8x64xf32>
  return
}

// CHECK-LABEL: func @place_rows(
// CHECK: xf.place_rows {{.*}}: (tensor<4x8x64xf32>, tensor<4x8xi32>, tensor<8x5x64xf32>) -> tensor<4x8x64xf32>
func.func @place_rows(%x: tensor<4x8x64xf32>, %r: tensor<4x8xi32>, %s: tensor<8x5x64xf32>) {
  %y = xf.place_rows %x, %r, %s : (tensor<4x8x64xf32>, tensor<4x8xi32>, tensor<8x5x64xf32>) -> tensor<4x8x64xf32>
  // CHECK: xf.place_rows_gradient {{.*}} {sources = 10 : i64}
  %dx = xf.place_rows_gradient %y, %r {sources = 10 : i64} : (tensor<4x8x64xf32>, tensor<4x8xi32>) -> tensor<4x8x64xf32>
  // CHECK: xf.placed_rows_gradient {{.*}} -> tensor<8x5x64xf32>
  %ds = xf.placed_rows_gradient %y, %r : (tensor<4x8x64xf32>, tensor<4x8xi32>) -> tensor<8x5x64xf32>
  return
}

// CHECK-LABEL: func @dropout(
// CHECK: xf.dropout {{.*}}: (tensor<4x64xf32>, i32) -> tensor<4x64xf32>
func.func @dropout(%x: tensor<4x64xf32>, %layer: i32) {
  %y = xf.dropout %x, %layer {rate = 0.1, stream = 2 : i32} : (tensor<4x64xf32>, i32) -> tensor<4x64xf32>
  // CHECK: xf.dropout %{{.*}} {jitter, rate = 1.000000e-02 : f64, stream = 5 : i32}
  %j = xf.dropout %x {jitter, rate = 0.01, stream = 5 : i32} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  // CHECK: xf.dropout %{{.*}}, %[[L:.*]] at(%[[L]], %[[L]]) {dims = array<i64: 0, 1>, parts = array<i64: 2, 0>, {{.*}}, whole = array<i64: 8, 80>} : (tensor<4x64xf32>, i32, i32, i32) -> tensor<4x64xf32>
  %z = xf.dropout %x, %layer at(%layer, %layer) {dims = array<i64: 0, 1>, parts = array<i64: 2, 0>, rate = 0.1, stream = 2 : i32, whole = array<i64: 8, 80>} : (tensor<4x64xf32>, i32, i32, i32) -> tensor<4x64xf32>
  // CHECK: xf.dropout %{{.*}} at(%{{.*}}) {dims = array<i64: 0>
  %u = xf.dropout %x at(%layer) {dims = array<i64: 0>, parts = array<i64: 0>, rate = 0.1, stream = 2 : i32, whole = array<i64: 7, 64>} : (tensor<4x64xf32>, i32) -> tensor<4x64xf32>
  return
}

// CHECK-LABEL: func @add(
// CHECK: xf.add {{.*}}: (tensor<4x256x64xf32>, tensor<256x64xf32>) -> tensor<4x256x64xf32>
func.func @add(%x: tensor<4x256x64xf32>, %p: tensor<256x64xf32>) {
  %y = xf.add %x, %p : (tensor<4x256x64xf32>, tensor<256x64xf32>) -> tensor<4x256x64xf32>
  return
}

// CHECK-LABEL: func @multiply(
// CHECK: xf.multiply {{.*}}: (tensor<4x64xf32>, tensor<f32>) -> tensor<4x64xf32>
func.func @multiply(%x: tensor<4x64xf32>, %s: tensor<f32>) {
  %y = xf.multiply %x, %s : (tensor<4x64xf32>, tensor<f32>) -> tensor<4x64xf32>
  return
}

// CHECK-LABEL: func @sum_leading(
// CHECK: xf.sum_leading {{.*}}: (tensor<4x256x64xf32>) -> tensor<64xf32>
func.func @sum_leading(%dy: tensor<4x256x64xf32>) {
  %db = xf.sum_leading %dy : (tensor<4x256x64xf32>) -> tensor<64xf32>
  return
}

// CHECK-LABEL: func @reshape(
// CHECK: xf.reshape {{.*}}: (tensor<4x256x512xf32>) -> tensor<4x256x8x64xf32>
func.func @reshape(%x: tensor<4x256x512xf32>) {
  %h = xf.reshape %x : (tensor<4x256x512xf32>) -> tensor<4x256x8x64xf32>
  return
}

// CHECK-LABEL: func @cast(
// CHECK: xf.cast {{.*}}: (tensor<4x64xf32>) -> tensor<4x64xbf16>
func.func @cast(%x: tensor<4x64xf32>) {
  %y = xf.cast %x : (tensor<4x64xf32>) -> tensor<4x64xbf16>
  return
}

// CHECK-LABEL: func @constant(
// CHECK: xf.constant {{.*}}: () -> tensor<f32>
func.func @constant() {
  %one = xf.constant {value = 1.0} : () -> tensor<f32>
  return
}

// CHECK-LABEL: func @cross_entropy(
// CHECK: xf.cross_entropy {{.*}}: (tensor<4x256x288xf32>, tensor<4x256xi32>) -> (tensor<f32>, tensor<4x256xf32>)
func.func @cross_entropy(%l: tensor<4x256x288xf32>, %y: tensor<4x256xi32>) {
  %loss, %lse = xf.cross_entropy %l, %y {valid_vocab = 257 : i64} : (tensor<4x256x288xf32>, tensor<4x256xi32>) -> (tensor<f32>, tensor<4x256xf32>)
  return
}

// CHECK-LABEL: func @embedding_gradient(
// CHECK: xf.embedding_gradient {{.*}}: (tensor<4x256xi32>, tensor<4x256x64xf32>) -> tensor<512x64xf32>
func.func @embedding_gradient(%ids: tensor<4x256xi32>, %dy: tensor<4x256x64xf32>) {
  %dw = xf.embedding_gradient %ids, %dy : (tensor<4x256xi32>, tensor<4x256x64xf32>) -> tensor<512x64xf32>
  return
}

// CHECK-LABEL: func @pad_rows(
// CHECK: xf.pad_rows {{.*}}: (tensor<256x64xf32>) -> tensor<1024x64xf32>
func.func @pad_rows(%dp: tensor<256x64xf32>) {
  %dw = xf.pad_rows %dp : (tensor<256x64xf32>) -> tensor<1024x64xf32>
  return
}

// CHECK-LABEL: func @linear_input_gradient(
// CHECK: xf.linear_input_gradient {{.*}}: (tensor<4x256x192xf32>, tensor<192x64xf32>) -> tensor<4x256x64xf32>
func.func @linear_input_gradient(%dy: tensor<4x256x192xf32>, %w: tensor<192x64xf32>) {
  %dx = xf.linear_input_gradient %dy, %w : (tensor<4x256x192xf32>, tensor<192x64xf32>) -> tensor<4x256x64xf32>
  return
}

// CHECK-LABEL: func @linear_weight_gradient(
// CHECK: xf.linear_weight_gradient {{.*}}: (tensor<4x256x192xbf16>, tensor<4x256x64xbf16>) -> tensor<192x64xf32>
func.func @linear_weight_gradient(%dy: tensor<4x256x192xbf16>, %x: tensor<4x256x64xbf16>) {
  %dw = xf.linear_weight_gradient %dy, %x : (tensor<4x256x192xbf16>, tensor<4x256x64xbf16>) -> tensor<192x64xf32>
  return
}

// CHECK-LABEL: func @norm_gradient(
// CHECK: xf.norm_gradient {{.*}}: (tensor<8x64xf32>, tensor<8x64xf32>, tensor<64xf32>) -> (tensor<8x64xf32>, tensor<64xf32>)
func.func @norm_gradient(%dy: tensor<8x64xf32>, %x: tensor<8x64xf32>, %w: tensor<64xf32>) {
  %dx, %dw = xf.norm_gradient %dy, %x, %w {kind = #xf.norm_kind<rms>, epsilon = 1.0e-5} : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<64xf32>) -> (tensor<8x64xf32>, tensor<64xf32>)
  return
}

// CHECK-LABEL: func @attention_gradient(
// CHECK: xf.attention_gradient {{.*}}: (tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x2x8xf32>) -> (tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>)
func.func @attention_gradient(%do: tensor<1x8x2x4xf32>, %q: tensor<1x8x2x4xf32>, %k: tensor<1x8x2x4xf32>, %v: tensor<1x8x2x4xf32>, %o: tensor<1x8x2x4xf32>, %lse: tensor<1x2x8xf32>) {
  %dq, %dk, %dv = xf.attention_gradient %do, %q, %k, %v, %o, %lse {causal, scale = 0.125} : (tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x2x8xf32>) -> (tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>)
  return
}

// CHECK-LABEL: func @activation_gradient(
// CHECK: xf.activation_gradient {{.*}}: (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
func.func @activation_gradient(%dy: tensor<4x64xf32>, %x: tensor<4x64xf32>) {
  %dx = xf.activation_gradient %dy, %x {kind = #xf.activation_kind<gelu>} : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  return
}

// CHECK-LABEL: func @softcap_gradient(
// CHECK: xf.softcap_gradient {{.*}} {cap = 3.000000e+01 : f64} : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
func.func @softcap_gradient(%dy: tensor<4x64xf32>, %y: tensor<4x64xf32>) {
  %dx = xf.softcap_gradient %dy, %y {cap = 30.0} : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  return
}

// CHECK-LABEL: func @gated_gradient(
// CHECK: xf.gated_gradient {{.*}}: (tensor<4x64xf32>, tensor<4x64xf32>, tensor<4x64xf32>) -> (tensor<4x64xf32>, tensor<4x64xf32>)
func.func @gated_gradient(%dy: tensor<4x64xf32>, %g: tensor<4x64xf32>, %u: tensor<4x64xf32>) {
  %dg, %du = xf.gated_gradient %dy, %g, %u {kind = #xf.activation_kind<silu>} : (tensor<4x64xf32>, tensor<4x64xf32>, tensor<4x64xf32>) -> (tensor<4x64xf32>, tensor<4x64xf32>)
  return
}

// CHECK-LABEL: func @row_gate_gradient(
// CHECK: xf.row_gate_gradient {{.*}}: (tensor<4x64xf32>, tensor<4x64xf32>, tensor<4x1xf32>) -> (tensor<4x64xf32>, tensor<4x1xf32>)
func.func @row_gate_gradient(%dy: tensor<4x64xf32>, %x: tensor<4x64xf32>, %g: tensor<4x1xf32>) {
  %dx, %dg = xf.row_gate_gradient %dy, %x, %g : (tensor<4x64xf32>, tensor<4x64xf32>, tensor<4x1xf32>) -> (tensor<4x64xf32>, tensor<4x1xf32>)
  return
}

// CHECK-LABEL: func @cross_entropy_gradient(
// CHECK: xf.cross_entropy_gradient {{.*}}: (tensor<f32>, tensor<8x288xf32>, tensor<8xi32>, tensor<8xf32>) -> tensor<8x288xf32>
func.func @cross_entropy_gradient(%d: tensor<f32>, %l: tensor<8x288xf32>, %y: tensor<8xi32>, %lse: tensor<8xf32>) {
  %dl = xf.cross_entropy_gradient %d, %l, %y, %lse {valid_vocab = 257 : i64} : (tensor<f32>, tensor<8x288xf32>, tensor<8xi32>, tensor<8xf32>) -> tensor<8x288xf32>
  return
}

// CHECK-LABEL: func @read(
// CHECK: xf.read @embedding.weight : tensor<512x64xf32>
func.func @read() {
  %w = xf.read @embedding.weight : tensor<512x64xf32>
  return
}

// CHECK-LABEL: func @write(
// CHECK: xf.write %{{.*}}, @embedding.weight : tensor<512x64xf32>
func.func @write(%v: tensor<512x64xf32>) {
  xf.write %v, @embedding.weight : tensor<512x64xf32>
  return
}

// CHECK-LABEL: func @accumulate(
// CHECK: xf.accumulate %{{.*}}, @embedding.weight.grad : tensor<512x64xf32>
func.func @accumulate(%g: tensor<512x64xf32>) {
  xf.accumulate %g, @embedding.weight.grad : tensor<512x64xf32>
  return
}

// CHECK-LABEL: func @input(
// CHECK: xf.input "learning_rate" : tensor<f32>
func.func @input() {
  %lr = xf.input "learning_rate" : tensor<f32>
  return
}

// CHECK-LABEL: func @output(
// CHECK: xf.output %{{.*}}, "loss" : tensor<f32>
func.func @output(%loss: tensor<f32>) {
  xf.output %loss, "loss" : tensor<f32>
  return
}

// CHECK-LABEL: func @global_norm(
// CHECK: xf.global_norm {{.*}}: (tensor<4x4xf32>, tensor<4xf32>) -> (tensor<f32>, tensor<f32>)
func.func @global_norm(%a: tensor<4x4xf32>, %b: tensor<4xf32>) {
  %n, %bad = xf.global_norm %a, %b : (tensor<4x4xf32>, tensor<4xf32>) -> (tensor<f32>, tensor<f32>)
  return
}

// CHECK-LABEL: func @gradient_scale(
// CHECK: xf.gradient_scale {{.*}}: (tensor<f32>) -> (tensor<f32>, tensor<f32>)
func.func @gradient_scale(%n: tensor<f32>) {
  %s, %n1 = xf.gradient_scale %n {max_norm = 1.0, microbatches = 2 : i64} : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  // CHECK: xf.gradient_scale %{{.*}} count %{{.*}} {max_norm
  %t, %n2 = xf.gradient_scale %n count %s {max_norm = 1.0} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  // CHECK: xf.gradient_scale %{{.*}}, %{{.*}} count %{{.*}} {max_norm
  %u, %n3 = xf.gradient_scale %n, %t count %s {max_norm = 1.0} : (tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return
}

// CHECK-LABEL: func @bias_correction(
// CHECK: xf.bias_correction {{.*}}: (tensor<f32>) -> tensor<f32>
func.func @bias_correction(%t: tensor<f32>) {
  %c = xf.bias_correction %t {beta = 0.9} : (tensor<f32>) -> tensor<f32>
  return
}

// CHECK-LABEL: func @advance_step(
// CHECK: xf.advance_step {{.*}}: (tensor<f32>, tensor<f32>) -> tensor<f32>
func.func @advance_step(%t: tensor<f32>, %skip: tensor<f32>) {
  %t1 = xf.advance_step %t, %skip : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}

// CHECK-LABEL: func @adamw(
// CHECK: xf.adamw {{.*}}: (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
func.func @adamw(%p: tensor<4xf32>, %g: tensor<4xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>, %lr: tensor<f32>, %c1: tensor<f32>, %c2: tensor<f32>, %s: tensor<f32>, %skip: tensor<f32>) {
  %p1, %m1, %v1 = xf.adamw %p, %g, %m, %v, %lr, %c1, %c2, %s, %skip {beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = 0.1} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// CHECK-LABEL: func @sgd(
// CHECK: xf.sgd {{.*}}: (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
func.func @sgd(%p: tensor<4xf32>, %g: tensor<4xf32>, %lr: tensor<f32>, %s: tensor<f32>, %skip: tensor<f32>, %b: tensor<4xf32>) {
  %p1, %b1 = xf.sgd %p, %g, %lr, %s, %skip, %b {momentum = 0.9, weight_decay = 0.0} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// CHECK-LABEL: func @loss_scale_update(
// CHECK: xf.loss_scale_update {{.*}}: (tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
func.func @loss_scale_update(%s: tensor<f32>, %n: tensor<f32>, %bad: tensor<f32>) {
  %s1, %n1 = xf.loss_scale_update %s, %n, %bad {policy = #xf.loss_scale<initial = 65536.0, growth_factor = 2.0, backoff_factor = 0.5, growth_interval = 1000, minimum = 1.0>} : (tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return
}

// CHECK-LABEL: func @router(
// CHECK: xf.router {{.*}}: (tensor<4x256x8xf32>) -> (tensor<4x256x2xf32>, tensor<4x256x2xi32>)
func.func @router(%l: tensor<4x256x8xf32>) {
  %w, %e = xf.router %l {renormalise, scale = 1.0, scores = #xf.router_scores<softmax>, top_k = 2 : i64} : (tensor<4x256x8xf32>) -> (tensor<4x256x2xf32>, tensor<4x256x2xi32>)
  return
}

// CHECK-LABEL: func @sinkhorn(
// CHECK: %[[B:.*]] = xf.sinkhorn {{.*}}: (tensor<4x256x8xf32>) -> tensor<4x8xf32>
// CHECK: xf.router %{{.*}}, %[[B]] {{.*}}: (tensor<4x256x8xf32>, tensor<4x8xf32>) -> (tensor<4x256x2xf32>, tensor<4x256x2xi32>)
func.func @sinkhorn(%l: tensor<4x256x8xf32>) {
  %b = xf.sinkhorn %l : (tensor<4x256x8xf32>) -> tensor<4x8xf32>
  %w, %e = xf.router %l, %b {scale = 1.0, scores = #xf.router_scores<softmax>, top_k = 2 : i64} : (tensor<4x256x8xf32>, tensor<4x8xf32>) -> (tensor<4x256x2xf32>, tensor<4x256x2xi32>)
  return
}

// CHECK-LABEL: func @router_gradient(
// CHECK: xf.router_gradient {{.*}}: (tensor<8x2xf32>, tensor<8x4xf32>, tensor<8x2xi32>) -> tensor<8x4xf32>
func.func @router_gradient(%dw: tensor<8x2xf32>, %l: tensor<8x4xf32>, %e: tensor<8x2xi32>) {
  %dl = xf.router_gradient %dw, %l, %e {renormalise, scale = 1.0, scores = #xf.router_scores<softmax>} : (tensor<8x2xf32>, tensor<8x4xf32>, tensor<8x2xi32>) -> tensor<8x4xf32>
  return
}

// CHECK-LABEL: func @router_probabilities(
// CHECK: xf.router_probabilities {{.*}}: (tensor<4x256x8xf32>) -> tensor<8xf32>
func.func @router_probabilities(%l: tensor<4x256x8xf32>) {
  %p = xf.router_probabilities %l {scores = #xf.router_scores<softmax>} : (tensor<4x256x8xf32>) -> tensor<8xf32>
  return
}

// CHECK-LABEL: func @router_probabilities_gradient(
// CHECK: xf.router_probabilities_gradient {{.*}}: (tensor<8xf32>, tensor<4x256x8xf32>) -> tensor<4x256x8xf32>
func.func @router_probabilities_gradient(%dp: tensor<8xf32>, %l: tensor<4x256x8xf32>) {
  %dl = xf.router_probabilities_gradient %dp, %l {scores = #xf.router_scores<softmax>} : (tensor<8xf32>, tensor<4x256x8xf32>) -> tensor<4x256x8xf32>
  return
}

// CHECK-LABEL: func @router_z_loss(
// CHECK: xf.router_z_loss {{.*}}: (tensor<4x256x8xf32>) -> tensor<f32>
func.func @router_z_loss(%l: tensor<4x256x8xf32>) {
  %z = xf.router_z_loss %l : (tensor<4x256x8xf32>) -> tensor<f32>
  return
}

// CHECK-LABEL: func @router_z_loss_gradient(
// CHECK: xf.router_z_loss_gradient {{.*}}: (tensor<f32>, tensor<4x256x8xf32>) -> tensor<4x256x8xf32>
func.func @router_z_loss_gradient(%d: tensor<f32>, %l: tensor<4x256x8xf32>) {
  %dl = xf.router_z_loss_gradient %d, %l : (tensor<f32>, tensor<4x256x8xf32>) -> tensor<4x256x8xf32>
  return
}

// CHECK-LABEL: func @expert_counts(
// CHECK: xf.expert_counts {{.*}}: (tensor<4x256x2xi32>) -> tensor<8xf32>
func.func @expert_counts(%e: tensor<4x256x2xi32>) {
  %n = xf.expert_counts %e : (tensor<4x256x2xi32>) -> tensor<8xf32>
  return
}

// CHECK-LABEL: func @balance_bias(
// CHECK: xf.balance_bias {{.*}}: (tensor<8xf32>, tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
func.func @balance_bias(%b: tensor<8xf32>, %n: tensor<8xf32>, %skip: tensor<f32>) {
  %b1 = xf.balance_bias %b, %n, %skip {rate = 0.001} : (tensor<8xf32>, tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// CHECK-LABEL: func @expert_order(
// CHECK: xf.expert_order {{.*}}: (tensor<4x256x2xi32>) -> tensor<4x256x2xi32>
func.func @expert_order(%e: tensor<4x256x2xi32>) {
  %s = xf.expert_order %e {capacity = 80 : i64, experts = 8 : i64} : (tensor<4x256x2xi32>) -> tensor<4x256x2xi32>
  return
}

// CHECK-LABEL: func @expert_order_dropless(
// CHECK: xf.expert_order {{.*}}: (tensor<4x256x2xi32>) -> (tensor<4x256x2xi32>, tensor<1x8x2xi32>)
func.func @expert_order_dropless(%e: tensor<4x256x2xi32>) {
  %s, %r = xf.expert_order %e {experts = 8 : i64} : (tensor<4x256x2xi32>) -> (tensor<4x256x2xi32>, tensor<1x8x2xi32>)
  return
}

// CHECK-LABEL: func @expert_order_positions(
// CHECK: xf.expert_order {{.*}}position_runs = 2 : i64{{.*}}: (tensor<4x256x2xi32>) -> (tensor<4x256x2xi32>, tensor<8x8x2xi32>)
func.func @expert_order_positions(%e: tensor<4x256x2xi32>) {
  %s, %r = xf.expert_order %e {experts = 8 : i64, position_runs = 2 : i64} : (tensor<4x256x2xi32>) -> (tensor<4x256x2xi32>, tensor<8x8x2xi32>)
  return
}

// CHECK-LABEL: func @dispatch(
// CHECK: xf.dispatch {{.*}}: (tensor<4x256x64xf32>, tensor<4x256x2xi32>) -> tensor<8x4x80x64xf32>
func.func @dispatch(%x: tensor<4x256x64xf32>, %s: tensor<4x256x2xi32>) {
  %r = xf.dispatch %x, %s : (tensor<4x256x64xf32>, tensor<4x256x2xi32>) -> tensor<8x4x80x64xf32>
  return
}

// CHECK-LABEL: func @combine(
// CHECK: xf.combine {{.*}}: (tensor<8x4x80x64xf32>, tensor<4x256x2xi32>, tensor<4x256x2xf32>) -> tensor<4x256x64xf32>
func.func @combine(%r: tensor<8x4x80x64xf32>, %s: tensor<4x256x2xi32>, %w: tensor<4x256x2xf32>) {
  %y = xf.combine %r, %s, %w : (tensor<8x4x80x64xf32>, tensor<4x256x2xi32>, tensor<4x256x2xf32>) -> tensor<4x256x64xf32>
  return
}

// CHECK-LABEL: func @combine_weight_gradient(
// CHECK: xf.combine_weight_gradient {{.*}}: (tensor<4x256x64xf32>, tensor<8x4x80x64xf32>, tensor<4x256x2xi32>) -> tensor<4x256x2xf32>
func.func @combine_weight_gradient(%dy: tensor<4x256x64xf32>, %r: tensor<8x4x80x64xf32>, %s: tensor<4x256x2xi32>) {
  %dw = xf.combine_weight_gradient %dy, %r, %s : (tensor<4x256x64xf32>, tensor<8x4x80x64xf32>, tensor<4x256x2xi32>) -> tensor<4x256x2xf32>
  return
}

// CHECK-LABEL: func @grouped_linear(
// CHECK: xf.grouped_linear {{.*}}: (tensor<8x4x80x64xf32>, tensor<8x192x64xf32>) -> tensor<8x4x80x192xf32>
func.func @grouped_linear(%r: tensor<8x4x80x64xf32>, %w: tensor<8x192x64xf32>) {
  %y = xf.grouped_linear %r, %w : (tensor<8x4x80x64xf32>, tensor<8x192x64xf32>) -> tensor<8x4x80x192xf32>
  return
}

// CHECK-LABEL: func @grouped_linear_dropless(
// CHECK: xf.grouped_linear {{.*}}: (tensor<1x2048x64xf32>, tensor<8x192x64xf32>, tensor<1x8x2xi32>) -> tensor<1x2048x192xf32>
func.func @grouped_linear_dropless(%r: tensor<1x2048x64xf32>, %w: tensor<8x192x64xf32>, %n: tensor<1x8x2xi32>) {
  %y = xf.grouped_linear %r, %w, %n : (tensor<1x2048x64xf32>, tensor<8x192x64xf32>, tensor<1x8x2xi32>) -> tensor<1x2048x192xf32>
  return
}

// CHECK-LABEL: func @grouped_linear_exchanged(
// CHECK: xf.expert_segments {{.*}}: (tensor<4x8x2xi32>) -> tensor<4x2x4x2xi32>
// CHECK: xf.exchange_rows {{.*}} -> tensor<4x200x64xf32>
// CHECK: xf.grouped_linear {{.*}} {expected_rows = 128 : i64} : (tensor<4x200x64xf32>, tensor<8x64x64xf32>, tensor<4x2x4x2xi32>) -> tensor<4x200x64xf32>
// CHECK: xf.return_rows {{.*}} -> tensor<4x128x64xf32>
func.func @grouped_linear_exchanged(%x: tensor<4x128x64xf32>, %w: tensor<8x64x64xf32>, %r: tensor<4x8x2xi32>) {
  %s = xf.expert_segments %r : (tensor<4x8x2xi32>) -> tensor<4x2x4x2xi32>
  %e = xf.exchange_rows %x, %r, %s : (tensor<4x128x64xf32>, tensor<4x8x2xi32>, tensor<4x2x4x2xi32>) -> tensor<4x200x64xf32>
  %y = xf.grouped_linear %e, %w, %s {expected_rows = 128 : i64} : (tensor<4x200x64xf32>, tensor<8x64x64xf32>, tensor<4x2x4x2xi32>) -> tensor<4x200x64xf32>
  %b = xf.return_rows %y, %r, %s : (tensor<4x200x64xf32>, tensor<4x8x2xi32>, tensor<4x2x4x2xi32>) -> tensor<4x128x64xf32>
  return
}

// CHECK-LABEL: func @grouped_linear_input_gradient(
// CHECK: xf.grouped_linear_input_gradient {{.*}}: (tensor<8x4x80x192xf32>, tensor<8x192x64xf32>) -> tensor<8x4x80x64xf32>
func.func @grouped_linear_input_gradient(%dy: tensor<8x4x80x192xf32>, %w: tensor<8x192x64xf32>) {
  %dr = xf.grouped_linear_input_gradient %dy, %w : (tensor<8x4x80x192xf32>, tensor<8x192x64xf32>) -> tensor<8x4x80x64xf32>
  return
}

// CHECK-LABEL: func @grouped_linear_weight_gradient(
// CHECK: xf.grouped_linear_weight_gradient {{.*}}: (tensor<8x4x80x192xbf16>, tensor<8x4x80x64xbf16>) -> tensor<8x192x64xf32>
func.func @grouped_linear_weight_gradient(%dy: tensor<8x4x80x192xbf16>, %r: tensor<8x4x80x64xbf16>) {
  %dw = xf.grouped_linear_weight_gradient %dy, %r : (tensor<8x4x80x192xbf16>, tensor<8x4x80x64xbf16>) -> tensor<8x192x64xf32>
  return
}

// CHECK: xf.training {clip_norm = 1.000000e+00 : f64
xf.training {clip_norm = 1.0, global_batch_size = 8 : i64, micro_batch_size = 4 : i64, model_name = "nano", optimizer = #xf.adamw<beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = 0.1>, precision = #xf.precision<fp32>, runtime = {}, sequence_length = 256 : i64}

// CHECK: xf.training {batch_sizes = [#xf.batch_size<2 from 0>, #xf.batch_size<8 from 6>]
xf.training {batch_sizes = [#xf.batch_size<2 from 0>, #xf.batch_size<8 from 6>], global_batch_size = 8 : i64, micro_batch_size = 2 : i64, model_name = "m", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<fp32>, runtime = {}, sequence_length = 4 : i64}

// CHECK: xf.step microbatches(4) rampup [1, 3] forward(@forward)
xf.step microbatches(4) rampup [1, 3] forward(@forward) backward(@backward) update(@update) evaluate(@evaluate)

// CHECK: xf.step microbatches(2) forward(@forward) backward(@backward) update(@update) evaluate(@evaluate) prepare(@prepare)
xf.step microbatches(2) forward(@forward) backward(@backward) update(@update) evaluate(@evaluate) prepare(@prepare)

func.func private @forward(tensor<4xi32>, tensor<4xi32>) -> (tensor<f32>, tensor<4x8xf32>)
func.func private @backward(tensor<4xi32>, tensor<4xi32>, tensor<4x8xf32>)
func.func private @update()
func.func private @evaluate(tensor<4xi32>, tensor<4xi32>) -> tensor<f32>
func.func private @prepare()

// CHECK: xf.balance @state.bias counts(@state.counts) {rate = 1.000000e-03 : f64}
xf.variable @state.bias : tensor<8xf32> {init = #xf.init<zeros>, kind = #xf.variable_kind<state>}
xf.variable @state.counts : tensor<8xf32> {init = #xf.init<zeros>, kind = #xf.variable_kind<state>}
xf.balance @state.bias counts(@state.counts) {rate = 0.001}

// CHECK-LABEL: func @positions(
// CHECK: xf.positions {part = 64 : i64} : () -> tensor<256xi32>
// CHECK: xf.positions {part = 32 : i64, rounds = 4 : i64} : () -> tensor<256xi32>
// CHECK: xf.positions %{{.*}} {part = 64 : i64, whole = 512 : i64} : (i32) -> tensor<256xi32>
// CHECK: xf.rope_table %{{.*}} {inverse_frequencies = {{.*}}, whole = 512 : i64} : (i32) -> tensor<256x1x2xf32>
func.func @positions(%first: i32) {
  %p = xf.positions {part = 64 : i64, rounds = 1 : i64} : () -> tensor<256xi32>
  %f = xf.positions {part = 32 : i64, rounds = 4 : i64} : () -> tensor<256xi32>
  %q = xf.positions %first {part = 64 : i64, whole = 512 : i64} : (i32) -> tensor<256xi32>
  %t = xf.rope_table %first {inverse_frequencies = array<f64: 1.0>, whole = 512 : i64} : (i32) -> tensor<256x1x2xf32>
  return
}

// CHECK-LABEL: func @attention_shard(
// CHECK: xf.attention %{{.*}}, %{{.*}}, %{{.*}} from(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {causal, scale = 5.000000e-01 : f64, whole = array<i64: 1, 2, 16>}
// CHECK: xf.merge_attention
func.func @attention_shard(%q: tensor<1x8x2x4xf32>, %k: tensor<1x16x2x4xf32>, %p: i32) {
  %o, %lse = xf.attention %q, %k, %k from (%p, %p, %p, %p) {causal, scale = 0.5, whole = array<i64: 1, 2, 16>} : (tensor<1x8x2x4xf32>, tensor<1x16x2x4xf32>, tensor<1x16x2x4xf32>, i32, i32, i32, i32) -> (tensor<1x8x2x4xf32>, tensor<1x2x8xf32>)
  %y, %l = xf.merge_attention %o, %lse, %o, %lse : (tensor<1x8x2x4xf32>, tensor<1x2x8xf32>, tensor<1x8x2x4xf32>, tensor<1x2x8xf32>) -> (tensor<1x8x2x4xf32>, tensor<1x2x8xf32>)
  return
}

// CHECK-LABEL: func @write_tokens(
// CHECK: xf.rope_table_at %{{.*}} {inverse_frequencies = array<f64: 1.000000e+00, 1.000000e-02>}
// CHECK: xf.rope %{{.*}}, %{{.*}} : (tensor<8x1x4x4xf32>, tensor<8x1x2x2xf32>) -> tensor<8x1x4x4xf32>
// CHECK: xf.cached_attention {{.*}} {scale = 5.000000e-01 : f64, window = 9 : i64}
// CHECK: xf.serve prefill(@write_tokens) decode(@write_tokens) evaluate(@quantize) {alone}
func.func @write_tokens(%tokens: tensor<8x1xi32>, %l: tensor<8x1xi32>, %p: tensor<8x1xi32>, %r: tensor<8x1xi32>, %table: tensor<4x2xi32>) {
  %q = xf.constant {value = 1.0} : () -> tensor<8x1x4x4xf32>
  %k = xf.constant {value = 1.0} : () -> tensor<8x1x2x4xf32>
  %c = xf.constant {value = 0.0} : () -> tensor<8x64x2x4xf32>
  %t = xf.rope_table_at %p {inverse_frequencies = array<f64: 1.0, 0.01>} : (tensor<8x1xi32>) -> tensor<8x1x2x2xf32>
  %q1 = xf.rope %q, %t : (tensor<8x1x4x4xf32>, tensor<8x1x2x2xf32>) -> tensor<8x1x4x4xf32>
  %o, %k1, %v1 = xf.cached_attention %q1, %k, %k, %p, %r, %table, %c, %c {scale = 0.5, window = 9 : i64} : (tensor<8x1x4x4xf32>, tensor<8x1x2x4xf32>, tensor<8x1x2x4xf32>, tensor<8x1xi32>, tensor<8x1xi32>, tensor<4x2xi32>, tensor<8x64x2x4xf32>, tensor<8x64x2x4xf32>) -> (tensor<8x1x4x4xf32>, tensor<8x64x2x4xf32>, tensor<8x64x2x4xf32>)
  return
}
xf.serve prefill(@write_tokens) decode(@write_tokens) evaluate(@quantize) {alone}

// CHECK-LABEL: func @quantize(
// CHECK: %[[A:.*]] = xf.amax %{{.*}} : (tensor<8x64xbf16>) -> tensor<f32>
// CHECK: %[[S:.*]] = xf.quantize_scale %[[A]] {format = f8E4M3FN} : (tensor<f32>) -> tensor<f32>
// CHECK: %[[Q:.*]] = xf.quantize %{{.*}}, %[[S]] : (tensor<8x64xbf16>, tensor<f32>) -> tensor<8x64xf8E4M3FN>
// CHECK: xf.linear %[[Q]], %[[W:[a-z0-9]+]], %{{.*}} scales(%[[S]], %[[S]]) : (tensor<8x64xf8E4M3FN>, tensor<32x64xf8E4M3FN>, tensor<32xbf16>, tensor<f32>, tensor<f32>) -> tensor<8x32xbf16>
// CHECK: xf.linear_input_gradient %[[D:.*]], %[[W]], %[[S]], %[[S]] : (tensor<8x32xf8E5M2>, tensor<32x64xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<8x64xbf16>
// CHECK: xf.linear_weight_gradient %[[D]], %[[Q]], %[[S]], %[[S]] : {{.*}} -> tensor<32x64xf32>
func.func @quantize(%x: tensor<8x64xbf16>, %w: tensor<32x64xf8E4M3FN>, %b: tensor<32xbf16>, %dy: tensor<8x32xf8E5M2>) {
  %a = xf.amax %x : (tensor<8x64xbf16>) -> tensor<f32>
  %s = xf.quantize_scale %a {format = f8E4M3FN} : (tensor<f32>) -> tensor<f32>
  %q = xf.quantize %x, %s : (tensor<8x64xbf16>, tensor<f32>) -> tensor<8x64xf8E4M3FN>
  %y = xf.linear %q, %w, %b scales(%s, %s) : (tensor<8x64xf8E4M3FN>, tensor<32x64xf8E4M3FN>, tensor<32xbf16>, tensor<f32>, tensor<f32>) -> tensor<8x32xbf16>
  %dx = xf.linear_input_gradient %dy, %w, %s, %s : (tensor<8x32xf8E5M2>, tensor<32x64xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<8x64xbf16>
  %dw = xf.linear_weight_gradient %dy, %q, %s, %s : (tensor<8x32xf8E5M2>, tensor<8x64xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<32x64xf32>
  return
}

// CHECK-LABEL: func @blocks(
// CHECK: %[[Q:.*]], %[[S:.*]] = xf.quantize_blocks %{{.*}} {blocks = array<i64: 1, 32>} : (tensor<8x40xbf16>) -> (tensor<8x40xf8E4M3FN>, tensor<8x2xf32>)
// CHECK: %[[X:.*]] = xf.dequantize_blocks %[[Q]], %[[S]] {blocks = array<i64: 1, 32>} : (tensor<8x40xf8E4M3FN>, tensor<8x2xf32>) -> tensor<8x40xbf16>
// CHECK: xf.linear %[[X]], %{{.*}} {fp8 = #xf.fp8_recipe<mxfp8>}
func.func @blocks(%x: tensor<8x40xbf16>, %w: tensor<16x40xbf16>) {
  %q, %s = xf.quantize_blocks %x {blocks = array<i64: 1, 32>} : (tensor<8x40xbf16>) -> (tensor<8x40xf8E4M3FN>, tensor<8x2xf32>)
  %d = xf.dequantize_blocks %q, %s {blocks = array<i64: 1, 32>} : (tensor<8x40xf8E4M3FN>, tensor<8x2xf32>) -> tensor<8x40xbf16>
  %y = xf.linear %d, %w {fp8 = #xf.fp8_recipe<mxfp8>} : (tensor<8x40xbf16>, tensor<16x40xbf16>) -> tensor<8x16xbf16>
  return
}

// CHECK-LABEL: func @documents(
// CHECK: xf.attention %{{.*}}, %{{.*}}, %{{.*}} positions %{{.*}} {causal
// CHECK: xf.cross_entropy %{{.*}}, %{{.*}} count %{{.*}} {valid_vocab
func.func @documents(%q: tensor<1x8x2x4xf32>, %p: tensor<1x8xi32>, %l: tensor<8x4xf32>, %y: tensor<8xi32>, %n: tensor<f32>) {
  %o, %lse = xf.attention %q, %q, %q positions %p {causal, scale = 0.5} : (tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8xi32>) -> (tensor<1x8x2x4xf32>, tensor<1x2x8xf32>)
  %loss, %sums = xf.cross_entropy %l, %y count %n {valid_vocab = 4 : i64} : (tensor<8x4xf32>, tensor<8xi32>, tensor<f32>) -> (tensor<f32>, tensor<8xf32>)
  return
}

// CHECK-LABEL: func @state_space(
// CHECK: %[[C:.*]] = xf.causal_conv %{{.*}}, %[[W:.*]] : (tensor<1x6x4xbf16>, tensor<4x2xbf16>) -> tensor<1x6x4xbf16>
// CHECK: xf.causal_conv_gradient %[[C]], %{{.*}}, %[[W]] : {{.*}} -> (tensor<1x6x4xbf16>, tensor<4x2xf32>)
// CHECK: %[[Y:.*]] = xf.state_scan {{.*}} {least = 1.000000e-03 : f64, most = 1.000000e-01 : f64}
// CHECK: xf.state_scan_gradient %[[Y]], {{.*}} -> (tensor<1x6x2x2xbf16>, tensor<1x6x2xbf16>, tensor<1x6x1x4xbf16>, tensor<1x6x1x4xbf16>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
func.func @state_space(%x: tensor<1x6x4xbf16>, %w: tensor<4x2xbf16>, %i: tensor<1x6x2x2xbf16>, %d: tensor<1x6x2xbf16>, %b: tensor<1x6x1x4xbf16>, %n: tensor<2xf32>) {
  %c = xf.causal_conv %x, %w : (tensor<1x6x4xbf16>, tensor<4x2xbf16>) -> tensor<1x6x4xbf16>
  %dx, %dw = xf.causal_conv_gradient %c, %x, %w : (tensor<1x6x4xbf16>, tensor<1x6x4xbf16>, tensor<4x2xbf16>) -> (tensor<1x6x4xbf16>, tensor<4x2xf32>)
  %y = xf.state_scan %i, %d, %b, %b, %n, %n, %n {least = 0.001, most = 0.1} : (tensor<1x6x2x2xbf16>, tensor<1x6x2xbf16>, tensor<1x6x1x4xbf16>, tensor<1x6x1x4xbf16>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x6x2x2xbf16>
  %g:7 = xf.state_scan_gradient %y, %i, %d, %b, %b, %n, %n, %n : (tensor<1x6x2x2xbf16>, tensor<1x6x2x2xbf16>, tensor<1x6x2xbf16>, tensor<1x6x1x4xbf16>, tensor<1x6x1x4xbf16>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x6x2x2xbf16>, tensor<1x6x2xbf16>, tensor<1x6x1x4xbf16>, tensor<1x6x1x4xbf16>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// CHECK-LABEL: func @cached_states(
// CHECK: %{{.*}}, %[[C:.*]] = xf.cached_conv {{.*}} -> (tensor<6x1x4xbf16>, tensor<3x2x4xbf16>)
// CHECK: xf.cached_conv %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[C]] : {{.*}} tensor<4xbf16>, tensor<3x2x4xbf16>)
// CHECK: xf.cached_scan {{.*}} {least = 1.000000e-03 : f64, most = 1.000000e-01 : f64} {{.*}} -> (tensor<6x1x2x3xbf16>, tensor<3x2x3x4xf32>)
func.func @cached_states(%x: tensor<6x1x4xbf16>, %w: tensor<4x3xbf16>, %bias: tensor<4xbf16>, %c: tensor<3x2x4xbf16>, %i: tensor<6x1x2x3xbf16>, %d: tensor<6x1x2xbf16>, %b: tensor<6x1x1x4xbf16>, %n: tensor<2xf32>, %p: tensor<6x1xi32>, %h: tensor<3x2x3x4xf32>) {
  %y, %c1 = xf.cached_conv %x, %w, %p, %p, %c : (tensor<6x1x4xbf16>, tensor<4x3xbf16>, tensor<6x1xi32>, tensor<6x1xi32>, tensor<3x2x4xbf16>) -> (tensor<6x1x4xbf16>, tensor<3x2x4xbf16>)
  %z, %c2 = xf.cached_conv %x, %w, %p, %p, %bias, %c1 : (tensor<6x1x4xbf16>, tensor<4x3xbf16>, tensor<6x1xi32>, tensor<6x1xi32>, tensor<4xbf16>, tensor<3x2x4xbf16>) -> (tensor<6x1x4xbf16>, tensor<3x2x4xbf16>)
  %s, %h1 = xf.cached_scan %i, %d, %b, %b, %n, %n, %n, %p, %p, %h {least = 0.001, most = 0.1} : (tensor<6x1x2x3xbf16>, tensor<6x1x2xbf16>, tensor<6x1x1x4xbf16>, tensor<6x1x1x4xbf16>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<6x1xi32>, tensor<6x1xi32>, tensor<3x2x3x4xf32>) -> (tensor<6x1x2x3xbf16>, tensor<3x2x3x4xf32>)
  return
}
