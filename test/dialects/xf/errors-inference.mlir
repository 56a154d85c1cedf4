// RUN: hocket-opt %s --split-input-file --verify-diagnostics

func.func @f(%p: tensor<8x1xi32>) {
  // expected-error @+1 {{X66: result has shape [8, 2, 2], expected [8, 1, 2, 2]}}
  %t = xf.rope_table_at %p {inverse_frequencies = array<f64: 1.0, 0.01>} : (tensor<8x1xi32>) -> tensor<8x2x2xf32>
  return
}

// -----

func.func @f(%p: tensor<8x1xi32>) {
  // expected-error @+1 {{X66: a table is of f32 or f64}}
  %t = xf.rope_table_at %p {inverse_frequencies = array<f64: 1.0, 0.01>} : (tensor<8x1xi32>) -> tensor<8x1x2x2xbf16>
  return
}

// -----

func.func @f(%p: tensor<8x1xi32>) {
  // expected-error @+1 {{X66: frequency INF is not finite}}
  %t = xf.rope_table_at %p {inverse_frequencies = array<f64: 0x7FF0000000000000, 0.01>} : (tensor<8x1xi32>) -> tensor<8x1x2x2xf32>
  return
}

// -----

func.func @f(%q: tensor<8x2x4x4xf32>, %k: tensor<8x1x2x4xf32>, %p: tensor<8x1xi32>, %t: tensor<4x2xi32>, %c: tensor<8x64x2x4xf32>) {
  // expected-error @+1 {{X67: a row has 2 tokens of 4 heads over 2}}
  %o, %a, %b = xf.cached_attention %q, %k, %k, %p, %p, %t, %c, %c {scale = 0.5} : (tensor<8x2x4x4xf32>, tensor<8x1x2x4xf32>, tensor<8x1x2x4xf32>, tensor<8x1xi32>, tensor<8x1xi32>, tensor<4x2xi32>, tensor<8x64x2x4xf32>, tensor<8x64x2x4xf32>) -> (tensor<8x2x4x4xf32>, tensor<8x64x2x4xf32>, tensor<8x64x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<8x1x4x4xf32>, %k: tensor<8x1x2x4xf32>, %p: tensor<8x1xi32>, %t: tensor<4x2xi32>, %c: tensor<8x64x4x4xf32>) {
  // expected-error @+1 {{X67: keys has shape [8, 64, 4, 4], expected [8, 64, 2, 4]}}
  %o, %a, %b = xf.cached_attention %q, %k, %k, %p, %p, %t, %c, %c {scale = 0.5} : (tensor<8x1x4x4xf32>, tensor<8x1x2x4xf32>, tensor<8x1x2x4xf32>, tensor<8x1xi32>, tensor<8x1xi32>, tensor<4x2xi32>, tensor<8x64x4x4xf32>, tensor<8x64x4x4xf32>) -> (tensor<8x1x4x4xf32>, tensor<8x64x4x4xf32>, tensor<8x64x4x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<8x1x4x4xf32>, %k: tensor<8x1x2x4xf32>, %p: tensor<8x1xi32>, %t: tensor<4x2xi32>, %c: tensor<8x64x2x4xf32>) {
  // expected-error @+1 {{X67: a scale of 5.000000e-01, a window of -1}}
  %o, %a, %b = xf.cached_attention %q, %k, %k, %p, %p, %t, %c, %c {scale = 0.5, window = -1 : i64} : (tensor<8x1x4x4xf32>, tensor<8x1x2x4xf32>, tensor<8x1x2x4xf32>, tensor<8x1xi32>, tensor<8x1xi32>, tensor<4x2xi32>, tensor<8x64x2x4xf32>, tensor<8x64x2x4xf32>) -> (tensor<8x1x4x4xf32>, tensor<8x64x2x4xf32>, tensor<8x64x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<8x1x4x4xf32>, %k: tensor<8x1x2x4xf32>, %p: tensor<8x1xi32>, %t: tensor<4x2xi32>, %c: tensor<8x64x2x4xf32>) {
  // expected-error @+1 {{X111: softcap -2.000000e+00 is negative or not finite}}
  %o, %a, %b = xf.cached_attention %q, %k, %k, %p, %p, %t, %c, %c {scale = 0.5, softcap = -2.0} : (tensor<8x1x4x4xf32>, tensor<8x1x2x4xf32>, tensor<8x1x2x4xf32>, tensor<8x1xi32>, tensor<8x1xi32>, tensor<4x2xi32>, tensor<8x64x2x4xf32>, tensor<8x64x2x4xf32>) -> (tensor<8x1x4x4xf32>, tensor<8x64x2x4xf32>, tensor<8x64x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<8x1x4x4xf32>, %k: tensor<8x1x2x4xf32>, %p: tensor<8x1xi32>, %t: tensor<4x2xi32>, %c: tensor<8x64x2x4xf32>, %n: i32) {
  // expected-error @+1 {{X67: first_head is one of whole_heads, 4 at least}}
  %o, %a, %b = xf.cached_attention %q, %k, %k, %p, %p, %t, %c, %c, %n {alibi, scale = 0.5, whole_heads = 3 : i64} : (tensor<8x1x4x4xf32>, tensor<8x1x2x4xf32>, tensor<8x1x2x4xf32>, tensor<8x1xi32>, tensor<8x1xi32>, tensor<4x2xi32>, tensor<8x64x2x4xf32>, tensor<8x64x2x4xf32>, i32) -> (tensor<8x1x4x4xf32>, tensor<8x64x2x4xf32>, tensor<8x64x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<8x1x4x4xf32>, %k: tensor<8x1x2x4xf32>, %p: tensor<8x1xi32>, %t: tensor<4x2xi32>, %c: tensor<8x64x2x4xf32>, %d: tensor<8x4xf32>) {
  // expected-error @+1 {{X120: bias has 8 rows, expected an odd number up to 2049}}
  %o, %a, %b = xf.cached_attention %q, %k, %k, %p, %p, %t, %c, %c bias %d {scale = 0.5} : (tensor<8x1x4x4xf32>, tensor<8x1x2x4xf32>, tensor<8x1x2x4xf32>, tensor<8x1xi32>, tensor<8x1xi32>, tensor<4x2xi32>, tensor<8x64x2x4xf32>, tensor<8x64x2x4xf32>, tensor<8x4xf32>) -> (tensor<8x1x4x4xf32>, tensor<8x64x2x4xf32>, tensor<8x64x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<8x1x4x4xf32>, %k: tensor<8x1x2x4xf32>, %p: tensor<8x1xi32>, %t: tensor<4x2xi32>, %c: tensor<8x64x2x4xf32>, %d: tensor<9x4xf32>) {
  // expected-error @+1 {{X120: has a bias, and a softcap or alibi}}
  %o, %a, %b = xf.cached_attention %q, %k, %k, %p, %p, %t, %c, %c bias %d {softcap = 2.0, scale = 0.5} : (tensor<8x1x4x4xf32>, tensor<8x1x2x4xf32>, tensor<8x1x2x4xf32>, tensor<8x1xi32>, tensor<8x1xi32>, tensor<4x2xi32>, tensor<8x64x2x4xf32>, tensor<8x64x2x4xf32>, tensor<9x4xf32>) -> (tensor<8x1x4x4xf32>, tensor<8x64x2x4xf32>, tensor<8x64x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<8x1x4x4xf32>, %k: tensor<8x1x2x4xf32>, %p: tensor<8x1xi32>, %t: tensor<4x2xi32>, %c: tensor<8x64x2x4xf32>, %d: tensor<9x2xf32>) {
  // expected-error @+1 {{X120: bias has shape [9, 2], expected [9, 4]}}
  %o, %a, %b = xf.cached_attention %q, %k, %k, %p, %p, %t, %c, %c bias %d {scale = 0.5} : (tensor<8x1x4x4xf32>, tensor<8x1x2x4xf32>, tensor<8x1x2x4xf32>, tensor<8x1xi32>, tensor<8x1xi32>, tensor<4x2xi32>, tensor<8x64x2x4xf32>, tensor<8x64x2x4xf32>, tensor<9x2xf32>) -> (tensor<8x1x4x4xf32>, tensor<8x64x2x4xf32>, tensor<8x64x2x4xf32>)
  return
}

// -----

func.func @write(%t: tensor<8x1xi32>, %l: tensor<8x1xi32>, %p: tensor<8x1xi32>, %r: tensor<4x1xi32>, %table: tensor<4x2xi32>) {
  return
}
// expected-error @+1 {{X68: @write is not (tokens, labels, positions, rows, table) -> (), a token a row}}
xf.serve prefill(@write) decode(@write) {alone}

// -----

// expected-error @+1 {{X68: names no function: @write}}
xf.serve prefill(@write) decode(@write) {alone}

// -----

// expected-error @+1 {{X68: has prefill and decode, or neither and is alone}}
xf.serve prefill(@write) {alone}

// -----

// expected-error @+1 {{X68: has prefill and decode, or neither and is alone}}
"xf.serve"() : () -> ()

// -----

// expected-error @+1 {{X68: evaluate and prepare are the step's}}
xf.serve prefill(@write) decode(@write) prepare(@p)

// -----

func.func @read(%t: tensor<8x5xi32> {xf.host = #xf.host_input<encoder_tokens>}, %n: tensor<8x1xi32> {xf.host = #xf.host_input<key_counts>}) {
  return
}
// expected-error @+1 {{X121: @read is not (encoder tokens, key counts) -> (), a text a row}}
xf.serve prefill(@read) decode(@read) {alone}

// -----

func.func @read(%t: tensor<8x5xi32> {xf.host = #xf.host_input<encoder_tokens>}, %n: tensor<8x5xi32> {xf.host = #xf.host_input<key_counts>}) {
  return
}
func.func @write(%t: tensor<8x1xi32>, %l: tensor<8x1xi32>, %p: tensor<8x1xi32>, %r: tensor<8x1xi32>, %table: tensor<4x2xi32>) {
  return
}
// expected-error @+1 {{X121: @write is not (tokens, labels, positions, rows, table, key counts) -> (), a token a row}}
xf.serve prefill(@read) decode(@write) {alone}

// -----

// expected-error @+1 {{X121: has encode without prefill}}
xf.serve encode(@see) {alone}

// -----

func.func @see(%p: tensor<1x60xf32> {xf.host = #xf.host_input<pixels>}, %r: tensor<2x8xi32> {xf.host = #xf.host_input<image_rows>}) {
  return
}
func.func @write(%t: tensor<8x1xi32>, %l: tensor<8x1xi32>, %p: tensor<8x1xi32>, %r: tensor<8x1xi32>, %table: tensor<4x2xi32>) {
  return
}
// expected-error @+1 {{X121: @see is not (pixels, image rows) -> (), of as many}}
xf.serve encode(@see) prefill(@write) decode(@write) {alone}

// -----

func.func @see(%p: tensor<1x60xf32> {xf.host = #xf.host_input<pixels>}, %r: tensor<1x8xi32> {xf.host = #xf.host_input<image_rows>}) {
  return
}
func.func @write(%t: tensor<8x1xi32>, %l: tensor<8x1xi32>, %p: tensor<8x1xi32>, %r: tensor<8x1xi32>, %table: tensor<4x2xi32>) {
  return
}
// expected-error @+1 {{X121: @write is not (tokens, labels, positions, rows, table, image rows) -> (), the last of as many tokens}}
xf.serve encode(@see) prefill(@write) decode(@write) {alone}
