// RUN: hocket-opt %s --split-input-file --verify-diagnostics

// One case or more for every numbered constraint of docs/spec.md; those of shards
// and experts are in errors-shards.mlir and errors-experts.mlir.

func.func @f(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{X0: 'tensor<?x4xf32>' has no static shape}}
  %y = xf.activation %x {kind = #xf.activation_kind<gelu>} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<0x4xf32>) {
  // expected-error @+1 {{X0: 'tensor<0x4xf32>' has a dim of size 0}}
  %y = xf.activation %x {kind = #xf.activation_kind<gelu>} : (tensor<0x4xf32>) -> tensor<0x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4294967296x4294967296xf32>) {
  // expected-error @+1 {{X0: 'tensor<4294967296x4294967296xf32>' has more than 2^48 elements}}
  %y = xf.activation %x {kind = #xf.activation_kind<gelu>} : (tensor<4294967296x4294967296xf32>) -> tensor<4294967296x4294967296xf32>
  return
}

// -----

func.func @f(%i: tensor<3xi32>, %t: tensor<7x4xf32>) {
  // expected-error @+1 {{X1: result has shape [3, 5], expected [3, 4]}}
  %y = xf.embedding %i, %t : (tensor<3xi32>, tensor<7x4xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @f(%i: tensor<3xi32>, %t: tensor<7xf32>) {
  // expected-error @+1 {{X1: table has 1 dims, expected 2}}
  %y = xf.embedding %i, %t : (tensor<3xi32>, tensor<7xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{X2: result [4, 4] is not the first rows of [3, 4]}}
  %y = xf.prefix %x : (tensor<3x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %w: tensor<5x6xf32>) {
  // expected-error @+1 {{X3: input [3, 4] does not end in the weight's 6}}
  %y = xf.linear %x, %w : (tensor<3x4xf32>, tensor<5x6xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %w: tensor<5x4xbf16>) {
  // expected-error @+1 {{X3: weight has element type 'bf16', expected 'f32'}}
  %y = xf.linear %x, %w : (tensor<3x4xf32>, tensor<5x4xbf16>) -> tensor<3x5xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %w: tensor<5x4xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{X3: bias has shape [4], expected [5]}}
  %y = xf.linear %x, %w, %b : (tensor<3x4xf32>, tensor<5x4xf32>, tensor<4xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %w: tensor<5xf32>) {
  // expected-error @+1 {{X4: weight has shape [5], expected [4]}}
  %y = xf.norm %x, %w {kind = #xf.norm_kind<rms>, epsilon = 1.0e-5} : (tensor<3x4xf32>, tensor<5xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{X5: epsilon 0.000000e+00 is not positive}}
  %y = xf.norm %x, %w {kind = #xf.norm_kind<rms>, epsilon = 0.0} : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{X6: an RMS norm has no bias}}
  %y = xf.norm %x, %w, %w {kind = #xf.norm_kind<rms>, epsilon = 1.0e-5} : (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{X7: result has shape [3, 3, 2], expected [3, 2, 2]}}
  %t = xf.rope_table {inverse_frequencies = array<f64: 1.0, 0.1>} : () -> tensor<3x3x2xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{X7: a table is of f32 or f64}}
  %t = xf.rope_table {inverse_frequencies = array<f64: 1.0, 0.1>} : () -> tensor<3x2x2xbf16>
  return
}

// -----

func.func @f(%x: tensor<2x3x2x4xf32>, %t: tensor<5x2x2xf32>) {
  // expected-error @+1 {{X8: table has shape [5, 2, 2], expected [3, 2, 2]}}
  %y = xf.rope %x, %t : (tensor<2x3x2x4xf32>, tensor<5x2x2xf32>) -> tensor<2x3x2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x2x5xf32>, %t: tensor<3x3x2xf32>) {
  // expected-error @+1 {{X8: a head dim of 5 has fewer pairs than 3}}
  %y = xf.rope %x, %t : (tensor<2x3x2x5xf32>, tensor<3x3x2xf32>) -> tensor<2x3x2x5xf32>
  return
}

// -----

func.func @f(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x2x8xf32>) {
  // expected-error @+1 {{X9: lse has shape [2, 5, 4], expected [2, 4, 5]}}
  %o, %l = xf.attention %q, %k, %k {causal, scale = 1.0} : (tensor<2x5x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x5x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x3x8xf32>) {
  // expected-error @+1 {{X10: 3 key heads do not divide 4 query heads}}
  %o, %l = xf.attention %q, %k, %k {causal, scale = 1.0} : (tensor<2x5x4x8xf32>, tensor<2x5x3x8xf32>, tensor<2x5x3x8xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x2x8xf32>) {
  // expected-error @+1 {{X11: scale -1.000000e+00 is not positive}}
  %o, %l = xf.attention %q, %k, %k {causal, scale = -1.0} : (tensor<2x5x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x2x8xf32>, %p: tensor<5x2xi32>) {
  // expected-error @+1 {{X9: positions has shape [5, 2], expected [2, 5]}}
  %o, %l = xf.attention %q, %k, %k positions %p {causal, scale = 1.0} : (tensor<2x5x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>, tensor<5x2xi32>) -> (tensor<2x5x4x8xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x2x8xf32>) {
  // expected-error @+1 {{X11: window -1 is negative}}
  %o, %l = xf.attention %q, %k, %k {causal, scale = 1.0, window = -1 : i64} : (tensor<2x5x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x2x8xf32>) {
  // expected-error @+1 {{X11: a window needs causal attention}}
  %o, %l = xf.attention %q, %k, %k {scale = 1.0, window = 2 : i64} : (tensor<2x5x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x5x4x8xf32>, %k: tensor<2x5x2x8xf32>) {
  // expected-error @+1 {{X18: a probability of 1.000000e+00 is not in [0, 1)}}
  %o, %l = xf.attention %q, %k, %k {causal, scale = 1.0, dropout = 1.0} : (tensor<2x5x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x5x4x8xf32>) {
  // expected-error @+1 {{X111: softcap -1.000000e+00 is negative or not finite}}
  %o, %l = xf.attention %q, %q, %q {causal, scale = 1.0, softcap = -1.0} : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x5x4x8xf32>) {
  // expected-error @+1 {{X111: has a softcap and alibi}}
  %o, %l = xf.attention %q, %q, %q {alibi, causal, scale = 1.0, softcap = 1.0} : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x5x4x8xf32>) {
  // expected-error @+1 {{X111: alibi needs causal attention}}
  %o, %l = xf.attention %q, %q, %q {alibi, scale = 1.0} : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>) {
  // expected-error @+1 {{X112: cap 0.000000e+00 is not positive and finite}}
  %y = xf.softcap %x {cap = 0.0} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %y: tensor<4x3xf32>) {
  // expected-error @+1 {{X112: grad has shape [4, 3], expected [3, 4]}}
  %z = xf.softcap_gradient %y, %x {cap = 1.0} : (tensor<4x3xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf32>, %g: tensor<3x4xf32>) {
  // expected-error @+1 {{X110: gate has shape [3, 4], expected [3, 1]}}
  %y = xf.row_gate %x, %g : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<6x3x1xf32>) {
  // expected-error @+1 {{X123: 6 sequences are no questions of 4 choices each}}
  %y = xf.gather_choices %x : (tensor<6x3x1xf32>) -> tensor<6x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<6x3xf32>) {
  // expected-error @+1 {{X123: what each sequence has has shape [6, 3], expected [6, 3, 1]}}
  %y = xf.gather_choices %x : (tensor<6x3xf32>) -> tensor<6x3x2xf32>
  return
}

// -----

func.func @f(%x: tensor<6x4xf32>) {
  // expected-error @+1 {{X123: choices of sequences are [B, S, C]}}
  %y = xf.gather_choices_gradient %x : (tensor<6x4xf32>) -> tensor<6x1xf32>
  return
}

// -----

func.func @f(%x: tensor<2x5x4xf32>, %r: tensor<2x4xi32>, %s: tensor<4x3x4xf32>) {
  // expected-error @+1 {{X124: rows has shape [2, 4], expected [2, 5]}}
  %y = xf.place_rows %x, %r, %s : (tensor<2x5x4xf32>, tensor<2x4xi32>, tensor<4x3x4xf32>) -> tensor<2x5x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x5x4xf32>, %r: tensor<2x5xi32>, %s: tensor<3x3x4xf32>) {
  // expected-error @+1 {{X124: source [3, 3, 4] has no rows of 4 for 2 sequences, as many for each}}
  %y = xf.place_rows %x, %r, %s : (tensor<2x5x4xf32>, tensor<2x5xi32>, tensor<3x3x4xf32>) -> tensor<2x5x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x5x4xf32>, %r: tensor<2x5xi32>, %s: tensor<4x3x4xbf16>) {
  // expected-error @+1 {{X124: source has element type 'bf16', expected 'f32'}}
  %y = xf.place_rows %x, %r, %s : (tensor<2x5x4xf32>, tensor<2x5xi32>, tensor<4x3x4xbf16>) -> tensor<2x5x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x5x4xf32>, %r: tensor<2x5xi32>) {
  // expected-error @+1 {{X124: 0 sources are no rows of a sequence}}
  %y = xf.place_rows_gradient %x, %r {sources = 0 : i64} : (tensor<2x5x4xf32>, tensor<2x5xi32>) -> tensor<2x5x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x5x4xf32>, %r: tensor<2x5xi32>) {
  // expected-error @+1 {{X124: source [4, 3, 5] has no rows of 4 for 2 sequences, as many for each}}
  %y = xf.placed_rows_gradient %x, %r : (tensor<2x5x4xf32>, tensor<2x5xi32>) -> tensor<4x3x5xf32>
  return
}

// -----

func.func @f(%g: tensor<3x4xf32>, %u: tensor<4xf32>) {
  // expected-error @+1 {{X12: up has shape [4], expected [3, 4]}}
  %y = xf.gated %g, %u {kind = #xf.activation_kind<silu>} : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%a: tensor<3x4xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{X13: rhs [3] is not the last dims of lhs [3, 4]}}
  %y = xf.add %a, %b : (tensor<3x4xf32>, tensor<3xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%a: tensor<3x4xf32>, %b: tensor<4xbf16>) {
  // expected-error @+1 {{X13: rhs has element type 'bf16', expected 'f32'}}
  %y = xf.multiply %a, %b : (tensor<3x4xf32>, tensor<4xbf16>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%a: tensor<3x4xf32>) {
  // expected-error @+1 {{X14: result [3] is not the last dims of input [3, 4]}}
  %y = xf.sum_leading %a : (tensor<3x4xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%a: tensor<3x4xf32>) {
  // expected-error @+1 {{X14: result has element type 'bf16', expected 'f32' or 'f32'}}
  %y = xf.sum_leading %a : (tensor<3x4xf32>) -> tensor<4xbf16>
  return
}

// -----

func.func @f(%a: tensor<3x4xf32>) {
  // expected-error @+1 {{X15: 12 elements do not make 11}}
  %y = xf.reshape %a : (tensor<3x4xf32>) -> tensor<11xf32>
  return
}

// -----

func.func @f(%a: tensor<3x4xf32>) {
  // expected-error @+1 {{X16: result has shape [4, 3], expected [3, 4]}}
  %y = xf.cast %a : (tensor<3x4xf32>) -> tensor<4x3xbf16>
  return
}

// -----

func.func @f(%l: tensor<3x8xf32>, %y: tensor<3xi32>) {
  // expected-error @+1 {{X17: a valid vocabulary of 9 is not in [1, 8]}}
  %a, %b = xf.cross_entropy %l, %y {valid_vocab = 9 : i64} : (tensor<3x8xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
  return
}

// -----

func.func @f(%l: tensor<3x8xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{X17: labels has shape [4], expected [3]}}
  %a, %b = xf.cross_entropy %l, %y {valid_vocab = 8 : i64} : (tensor<3x8xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<3xf32>)
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{X18: a probability of -5.000000e-01 is not in [0, 1)}}
  %y = xf.dropout %x {rate = -0.5, stream = 1 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%i: tensor<3xi32>, %g: tensor<3x4xf32>) {
  // expected-error @+1 {{X20: grad has shape [3, 4], expected [3, 5]}}
  %y = xf.embedding_gradient %i, %g : (tensor<3xi32>, tensor<3x4xf32>) -> tensor<7x5xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{X21: input [4, 4] is not the first rows of [3, 4]}}
  %y = xf.pad_rows %x : (tensor<4x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%g: tensor<3x4xf32>, %w: tensor<5x6xf32>) {
  // expected-error @+1 {{X22: grad [3, 4] does not end in the weight's 5}}
  %y = xf.linear_input_gradient %g, %w : (tensor<3x4xf32>, tensor<5x6xf32>) -> tensor<3x6xf32>
  return
}

// -----

func.func @f(%g: tensor<3x4xf32>, %x: tensor<2x6xf32>) {
  // expected-error @+1 {{X23: grad [3, 4] and input [2, 6] have other rows}}
  %y = xf.linear_weight_gradient %g, %x : (tensor<3x4xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{X40: names no variable: @w}}
  %w = xf.read @w : tensor<4xf32>
  return
}

// -----

xf.variable @w : tensor<4xf32> {kind = #xf.variable_kind<parameter>}
func.func @f(%x: tensor<5xf32>) {
  // expected-error @+1 {{X40: has type 'tensor<5xf32>', but @w has 'tensor<4xf32>'}}
  xf.write %x, @w : tensor<5xf32>
  return
}

// -----

func.func @f(%q: tensor<2x6x4x8xf32>, %k: tensor<2x12x2x8xf32>, %p: i32) {
  // expected-error @+1 {{X19: has 1 numbers for its place, expected 4}}
  %o, %l = xf.attention %q, %k, %k from (%p) {causal, scale = 1.0, whole = array<i64: 2, 4, 12>} : (tensor<2x6x4x8xf32>, tensor<2x12x2x8xf32>, tensor<2x12x2x8xf32>, i32) -> (tensor<2x6x4x8xf32>, tensor<2x4x6xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x6x4x8xf32>, %k: tensor<2x12x2x8xf32>, %p: i32) {
  // expected-error @+1 {{X19: whole [2, 4, 8] does not hold 2 sequences, 4 heads and 12 positions}}
  %o, %l = xf.attention %q, %k, %k from (%p, %p, %p, %p) {causal, scale = 1.0, whole = array<i64: 2, 4, 8>} : (tensor<2x6x4x8xf32>, tensor<2x12x2x8xf32>, tensor<2x12x2x8xf32>, i32, i32, i32, i32) -> (tensor<2x6x4x8xf32>, tensor<2x4x6xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x6x4x8xf32>) {
  // expected-error @+1 {{X19: 6 positions are no even number of parts of 2 in each of 1 round}}
  %o, %l = xf.attention %q, %q, %q {causal, scale = 1.0, part = 2 : i64} : (tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>) -> (tensor<2x6x4x8xf32>, tensor<2x4x6xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x8xf32>) {
  // expected-error @+1 {{X19: 8 positions are no even number of parts of 2 in each of 3 rounds}}
  %o, %l = xf.attention %q, %q, %q {causal, scale = 1.0, part = 2 : i64, rounds = 3 : i64} : (tensor<2x8x4x8xf32>, tensor<2x8x4x8xf32>, tensor<2x8x4x8xf32>) -> (tensor<2x8x4x8xf32>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x8x4x8xf32>) {
  // expected-error @+1 {{X19: 8 positions are no even number of parts of 0 in each of 2 rounds}}
  %o, %l = xf.attention %q, %q, %q {causal, scale = 1.0, rounds = 2 : i64} : (tensor<2x8x4x8xf32>, tensor<2x8x4x8xf32>, tensor<2x8x4x8xf32>) -> (tensor<2x8x4x8xf32>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x6x4x8xf32>, %p: i32) {
  // expected-error @+1 {{X19: keys cannot be 12 rows before the shard}}
  %o, %l = xf.attention %q, %q, %q from (%p, %p, %p, %p) {behind = 12 : i64, causal, scale = 1.0, whole = array<i64: 2, 4, 12>} : (tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>, i32, i32, i32, i32) -> (tensor<2x6x4x8xf32>, tensor<2x4x6xf32>)
  return
}

// -----

func.func @f(%p: i32) {
  // expected-error @+1 {{X36: 8 rows are no shard of a sequence of 0}}
  %r = xf.positions %p : (i32) -> tensor<8xi32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{X36: 8 positions are no even number of parts of 8 in each of 1 round}}
  %r = xf.positions {part = 8 : i64} : () -> tensor<8xi32>
  return
}

// -----

func.func @f(%p: i32) {
  // expected-error @+1 {{X36: 16 positions are no even number of parts of 2 in each of 0 rounds}}
  %r = xf.rope_table %p {inverse_frequencies = array<f64: 1.0>, part = 2 : i64, rounds = 0 : i64, whole = 16 : i64} : (i32) -> tensor<8x1x2xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x2x4xf32>, %l: tensor<1x8x2xf32>) {
  // expected-error @+1 {{X37: lse has shape [1, 8, 2], expected [1, 2, 8]}}
  %y, %n = xf.merge_attention %a, %l, %a, %l : (tensor<1x8x2x4xf32>, tensor<1x8x2xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2xf32>) -> (tensor<1x8x2x4xf32>, tensor<1x8x2xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %o: i32) {
  // expected-error @+1 {{X38: 1 starts are in as many dims, not 2}}
  %y = xf.dropout %x at(%o) {dims = array<i64: 0, 1>, parts = array<i64: 0, 0>, rate = 0.5, stream = 1 : i32, whole = array<i64: 8, 16>} : (tensor<4x8xf32>, i32) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %o: i32) {
  // expected-error @+1 {{X38: a dim without a start is whole}}
  %y = xf.dropout %x at(%o) {dims = array<i64: 0>, parts = array<i64: 0>, rate = 0.5, stream = 1 : i32, whole = array<i64: 8, 16>} : (tensor<4x8xf32>, i32) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %o: i32) {
  // expected-error @+1 {{X38: a dim consists of an even number of parts in every round}}
  %y = xf.dropout %x at(%o) {dims = array<i64: 0>, parts = array<i64: 3>, rate = 0.5, stream = 1 : i32, whole = array<i64: 8, 8>} : (tensor<4x8xf32>, i32) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %o: i32) {
  // expected-error @+1 {{X38: there are rounds of parts alone}}
  %y = xf.dropout %x at(%o) {dims = array<i64: 0>, parts = array<i64: 0>, rate = 0.5, rounds = 2 : i64, stream = 1 : i32, whole = array<i64: 8, 8>} : (tensor<4x8xf32>, i32) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<3x4xf8E4M3FN>, %w: tensor<5x4xbf16>) {
  // expected-error @+1 {{X3: weight has element type 'bf16', expected 8 bits as input has}}
  %y = xf.linear %x, %w : (tensor<3x4xf8E4M3FN>, tensor<5x4xbf16>) -> tensor<3x5xbf16>
  return
}

// -----

func.func @f(%x: tensor<3x4xf8E4M3FN>, %w: tensor<5x4xf8E4M3FN>) {
  // expected-error @+1 {{X3: has 0 scales, expected 2 for input and weight}}
  %y = xf.linear %x, %w : (tensor<3x4xf8E4M3FN>, tensor<5x4xf8E4M3FN>) -> tensor<3x5xbf16>
  return
}

// -----

func.func @f(%x: tensor<3x4xbf16>, %w: tensor<5x4xbf16>, %s: tensor<f32>) {
  // expected-error @+1 {{X3: has scales, but input is no tensor of 8-bit elements}}
  %y = xf.linear %x, %w scales(%s, %s) : (tensor<3x4xbf16>, tensor<5x4xbf16>, tensor<f32>, tensor<f32>) -> tensor<3x5xbf16>
  return
}

// -----

func.func @f(%dy: tensor<3x5xf8E5M2>, %w: tensor<5x4xf8E5M2>, %s: tensor<f32>) {
  // expected-error @+1 {{X22: grad and weight are both f8E5M2, one must be f8E4M3FN}}
  %dx = xf.linear_input_gradient %dy, %w, %s, %s : (tensor<3x5xf8E5M2>, tensor<5x4xf8E5M2>, tensor<f32>, tensor<f32>) -> tensor<3x4xbf16>
  return
}

// -----

func.func @f(%dy: tensor<3x5xf8E5M2>, %x: tensor<3x4xf8E4M3FN>, %s: tensor<f32>) {
  // expected-error @+1 {{X23: has 1 scales, expected 2 for grad and input}}
  %dw = xf.linear_weight_gradient %dy, %x, %s : (tensor<3x5xf8E5M2>, tensor<3x4xf8E4M3FN>, tensor<f32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%a: tensor<f32>) {
  // expected-error @+1 {{X59: format is 'bf16', expected f8E4M3FN or f8E5M2}}
  %s = xf.quantize_scale %a {format = bf16} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<3x4xbf16>, %s: tensor<f32>) {
  // expected-error @+1 {{X60: result has shape [4, 3], expected [3, 4]}}
  %q = xf.quantize %x, %s : (tensor<3x4xbf16>, tensor<f32>) -> tensor<4x3xf8E4M3FN>
  return
}

// -----

func.func @f(%x: tensor<3x40xbf16>) {
  // expected-error @+1 {{X81: scales has shape [3, 1], expected [3, 2]}}
  %q, %s = xf.quantize_blocks %x {blocks = array<i64: 1, 32>} : (tensor<3x40xbf16>) -> (tensor<3x40xf8E4M3FN>, tensor<3x1xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3x40xbf16>) {
  // expected-error @+1 {{X81: blocks [2, 1, 32] are none of a tensor [2, 3, 40]: one size a dim, 1 in all but the last two}}
  %q, %s = xf.quantize_blocks %x {blocks = array<i64: 2, 1, 32>} : (tensor<2x3x40xbf16>) -> (tensor<2x3x40xf8E4M3FN>, tensor<1x3x2xf32>)
  return
}

// -----

func.func @f(%q: tensor<3x40xf8E4M3FN>, %s: tensor<3x2xf32>) {
  // expected-error @+1 {{X82: result has shape [40, 3], expected [3, 40]}}
  %x = xf.dequantize_blocks %q, %s {blocks = array<i64: 1, 32>} : (tensor<3x40xf8E4M3FN>, tensor<3x2xf32>) -> tensor<40x3xbf16>
  return
}

// -----

func.func @f(%x: tensor<3x4xbf16>, %w: tensor<5x4xbf16>) {
  // expected-error @+1 {{X83: fp8 is tensorwise, expected blockwise or mxfp8, which put numbers in blocks}}
  %y = xf.linear %x, %w {fp8 = #xf.fp8_recipe<tensorwise>} : (tensor<3x4xbf16>, tensor<5x4xbf16>) -> tensor<3x5xbf16>
  return
}

// -----

func.func @f(%x: tensor<3x4xf8E4M3FN>, %w: tensor<5x4xf8E4M3FN>, %s: tensor<f32>) {
  // expected-error @+1 {{X83: fp8 is of operands that are no codes}}
  %y = xf.linear %x, %w scales(%s, %s) {fp8 = #xf.fp8_recipe<mxfp8>} : (tensor<3x4xf8E4M3FN>, tensor<5x4xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<3x5xbf16>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{X114: 6 buckets of distances up to 3 are none, or too many}}
  %i = xf.relative_buckets {buckets = 6 : i64, max_distance = 3 : i64} : () -> tensor<7xi32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{X114: result has shape [7], expected [17]}}
  %i = xf.relative_buckets {buckets = 6 : i64, max_distance = 8 : i64} : () -> tensor<7xi32>
  return
}

// -----

func.func @f(%q: tensor<2x5x4x8xf32>, %t: tensor<6x4xf32>) {
  // expected-error @+1 {{X115: bias has 6 rows, expected an odd number up to 2049}}
  %o, %l = xf.attention %q, %q, %q bias %t {scale = 1.0} : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<6x4xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x5x4x8xf32>, %t: tensor<7x2xf32>) {
  // expected-error @+1 {{X115: bias has shape [7, 2], expected [7, 4]}}
  %o, %l = xf.attention %q, %q, %q bias %t {scale = 1.0} : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<7x2xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x5x4x8xf32>, %t: tensor<7x4xf32>) {
  // expected-error @+1 {{X115: has a bias, and a softcap or alibi}}
  %o, %l = xf.attention %q, %q, %q bias %t {scale = 1.0, softcap = 2.0} : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<7x4xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x5x4x8xf32>, %l: tensor<2x4x5xf32>, %t: tensor<7x4xf32>) {
  // expected-error @+1 {{X115: a gradient by bias is there with a bias}}
  %dq, %dk, %dv = xf.attention_gradient %q, %q, %q, %q, %q, %l bias %t {scale = 1.0} : (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x4x5xf32>, tensor<7x4xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x5x4x8xf32>, %k: tensor<2x7x4x8xf32>) {
  // expected-error @+1 {{X9: key has shape [2, 7, 4, 8], expected [2, 5, 4, 8]}}
  %o, %l = xf.attention %q, %k, %k {causal, scale = 1.0} : (tensor<2x5x4x8xf32>, tensor<2x7x4x8xf32>, tensor<2x7x4x8xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x5x4x8xf32>, %k: tensor<2x7x4x8xf32>, %t: tensor<7x4xf32>) {
  // expected-error @+1 {{X9: key has shape [2, 7, 4, 8], expected [2, 5, 4, 8]}}
  %o, %l = xf.attention %q, %k, %k bias %t {scale = 1.0} : (tensor<2x5x4x8xf32>, tensor<2x7x4x8xf32>, tensor<2x7x4x8xf32>, tensor<7x4xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x4x5xf32>)
  return
}
