// RUN: hocket-opt %s --split-input-file --verify-diagnostics

// X24 to X31, X49, X69 and X70 of docs/spec.md: mixtures of experts.

func.func @f(%l: tensor<4x6xbf16>) {
  // expected-error @+1 {{X24: logits have type 'tensor<4x6xbf16>', expected [.., E] of f32 or f64}}
  %w, %e = xf.router %l {scale = 1.0, scores = #xf.router_scores<softmax>, top_k = 2 : i64} : (tensor<4x6xbf16>) -> (tensor<4x2xbf16>, tensor<4x2xi32>)
  return
}

// -----

func.func @f(%l: tensor<4x6xf32>) {
  // expected-error @+1 {{X24: a choice of 7 experts is not in [1, 6]}}
  %w, %e = xf.router %l {scale = 1.0, scores = #xf.router_scores<softmax>, top_k = 7 : i64} : (tensor<4x6xf32>) -> (tensor<4x7xf32>, tensor<4x7xi32>)
  return
}

// -----

func.func @f(%l: tensor<4x6xf32>) {
  // expected-error @+1 {{X24: a scale of 0.000000e+00 is not positive and finite}}
  %w, %e = xf.router %l {scale = 0.0, scores = #xf.router_scores<softmax>, top_k = 2 : i64} : (tensor<4x6xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
  return
}

// -----

func.func @f(%l: tensor<4x6xf32>, %b: tensor<5xf32>) {
  // expected-error @+1 {{X24: bias has shape [5], expected [6]}}
  %w, %e = xf.router %l, %b {scale = 1.0, scores = #xf.router_scores<softmax>, top_k = 2 : i64} : (tensor<4x6xf32>, tensor<5xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
  return
}

// -----

func.func @f(%g: tensor<4x2xf32>, %l: tensor<4x6xf32>, %e: tensor<4x3xi32>) {
  // expected-error @+1 {{X24: grad has shape [4, 2], expected [4, 3]}}
  %d = xf.router_gradient %g, %l, %e {scale = 1.0, scores = #xf.router_scores<softmax>} : (tensor<4x2xf32>, tensor<4x6xf32>, tensor<4x3xi32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%l: tensor<4x6xf32>) {
  // expected-error @+1 {{X25: 4 groups do not divide 6 experts}}
  %w, %e = xf.router %l {groups = 4 : i64, scale = 1.0, scores = #xf.router_scores<softmax>, top_k = 2 : i64} : (tensor<4x6xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
  return
}

// -----

func.func @f(%l: tensor<4x6xf32>) {
  // expected-error @+1 {{X25: 3 groups to choose from are not in [1, 2]}}
  %w, %e = xf.router %l {groups = 2 : i64, topk_groups = 3 : i64, scale = 1.0, scores = #xf.router_scores<softmax>, top_k = 2 : i64} : (tensor<4x6xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
  return
}

// -----

func.func @f(%l: tensor<4x6xf32>) {
  // expected-error @+1 {{X25: 1 groups of 2 experts hold fewer than 3}}
  %w, %e = xf.router %l {groups = 3 : i64, scale = 1.0, scores = #xf.router_scores<softmax>, top_k = 3 : i64} : (tensor<4x6xf32>) -> (tensor<4x3xf32>, tensor<4x3xi32>)
  return
}

// -----

func.func @f(%l: tensor<4x6xf32>) {
  // expected-error @+1 {{X26: result has shape [5], expected [6]}}
  %p = xf.router_probabilities %l {scores = #xf.router_scores<softmax>} : (tensor<4x6xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @f(%g: tensor<5xf32>, %l: tensor<4x6xf32>) {
  // expected-error @+1 {{X26: grad has shape [5], expected [6]}}
  %p = xf.router_probabilities_gradient %g, %l {scores = #xf.router_scores<softmax>} : (tensor<5xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%l: tensor<4x6xf32>) {
  // expected-error @+1 {{X27: result has type 'tensor<4xf32>', expected a scalar of f32 or f64}}
  %z = xf.router_z_loss %l : (tensor<4x6xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%g: tensor<f32>, %l: tensor<4x6xf32>) {
  // expected-error @+1 {{X27: result has shape [6, 4], expected [4, 6]}}
  %z = xf.router_z_loss_gradient %g, %l : (tensor<f32>, tensor<4x6xf32>) -> tensor<6x4xf32>
  return
}

// -----

func.func @f(%e: tensor<4x2xi32>) {
  // expected-error @+1 {{X28: counts are of f32 or f64, not 'bf16'}}
  %n = xf.expert_counts %e : (tensor<4x2xi32>) -> tensor<6xbf16>
  return
}

// -----

func.func @f(%b: tensor<6xf32>, %n: tensor<5xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{X28: counts has shape [5], expected [6]}}
  %r = xf.balance_bias %b, %n, %s {rate = 0.1} : (tensor<6xf32>, tensor<5xf32>, tensor<f32>) -> tensor<6xf32>
  return
}

// -----

func.func @f(%b: tensor<6xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{X28: a rate of -1.000000e+00 is negative or not finite}}
  %r = xf.balance_bias %b, %b, %s {rate = -1.0} : (tensor<6xf32>, tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  return
}

// -----

func.func @f(%e: tensor<2x4x2xi32>) {
  // expected-error @+1 {{X29: the order without a capacity, and no other, has ranges}}
  %s = xf.expert_order %e {experts = 6 : i64} : (tensor<2x4x2xi32>) -> tensor<2x4x2xi32>
  return
}

// -----

func.func @f(%e: tensor<2x4x2xi32>) {
  // expected-error @+1 {{X29: 65536 experts with a capacity of 65536 do not fit 32-bit rows}}
  %s = xf.expert_order %e {capacity = 65536 : i64, experts = 65536 : i64} : (tensor<2x4x2xi32>) -> tensor<2x4x2xi32>
  return
}

// -----

func.func @f(%e: tensor<2x4x2xi32>) {
  // expected-error @+1 {{X29: ranges has shape [1, 5, 2], expected [1, 6, 2]}}
  %s, %r = xf.expert_order %e {experts = 6 : i64} : (tensor<2x4x2xi32>) -> (tensor<2x4x2xi32>, tensor<1x5x2xi32>)
  return
}

// -----

func.func @f(%x: tensor<2x4x8xf32>, %s: tensor<2x4x2xi32>) {
  // expected-error @+1 {{X30: rows have 2 dims, expected 4 with a capacity, else 3}}
  %r = xf.dispatch %x, %s : (tensor<2x4x8xf32>, tensor<2x4x2xi32>) -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x8xf32>, %s: tensor<2x4x2xi32>) {
  // expected-error @+1 {{X30: rows has shape [6, 3, 3, 8], expected [6, 2, 3, 8]}}
  %r = xf.dispatch %x, %s : (tensor<2x4x8xf32>, tensor<2x4x2xi32>) -> tensor<6x3x3x8xf32>
  return
}

// -----

func.func @f(%r: tensor<6x2x3x8xf32>, %s: tensor<2x4x2xi32>, %w: tensor<2x4x3xf32>) {
  // expected-error @+1 {{X30: weights has shape [2, 4, 3], expected [2, 4, 2]}}
  %x = xf.combine %r, %s, %w : (tensor<6x2x3x8xf32>, tensor<2x4x2xi32>, tensor<2x4x3xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @f(%t: tensor<2x4x7xf32>, %r: tensor<6x2x3x8xf32>, %s: tensor<2x4x2xi32>) {
  // expected-error @+1 {{X30: tokens has shape [2, 4, 7], expected [2, 4, 8]}}
  %x = xf.combine_weight_gradient %t, %r, %s : (tensor<2x4x7xf32>, tensor<6x2x3x8xf32>, tensor<2x4x2xi32>) -> tensor<2x4x2xf32>
  return
}

// -----

func.func @f(%r: tensor<6x2x3x8xf32>, %w: tensor<5x9x8xf32>) {
  // expected-error @+1 {{X31: rows are of 6 experts, weight of 5}}
  %y = xf.grouped_linear %r, %w : (tensor<6x2x3x8xf32>, tensor<5x9x8xf32>) -> tensor<6x2x3x9xf32>
  return
}

// -----

func.func @f(%r: tensor<6x2x3x8xf32>, %w: tensor<6x9x8xf32>, %n: tensor<1x6x2xi32>) {
  // expected-error @+1 {{X31: rows has 4 dims, expected 3}}
  %y = xf.grouped_linear %r, %w, %n : (tensor<6x2x3x8xf32>, tensor<6x9x8xf32>, tensor<1x6x2xi32>) -> tensor<6x2x3x9xf32>
  return
}

// -----

func.func @f(%g: tensor<1x12x8xf32>, %w: tensor<6x9x8xf32>, %n: tensor<1x6x2xi32>) {
  // expected-error @+1 {{X31: rows of 8 do not fit weights of 9}}
  %y = xf.grouped_linear_input_gradient %g, %w, %n : (tensor<1x12x8xf32>, tensor<6x9x8xf32>, tensor<1x6x2xi32>) -> tensor<1x12x8xf32>
  return
}

// -----

func.func @f(%g: tensor<1x12x9xf32>, %r: tensor<1x11x8xf32>, %n: tensor<1x6x2xi32>) {
  // expected-error @+1 {{X31: rows has shape [1, 11, 8], expected [1, 12, 8]}}
  %y = xf.grouped_linear_weight_gradient %g, %r, %n : (tensor<1x12x9xf32>, tensor<1x11x8xf32>, tensor<1x6x2xi32>) -> tensor<6x9x8xf32>
  return
}

// -----

xf.variable @state.b : tensor<6xf32> {kind = #xf.variable_kind<state>}
xf.variable @state.n : tensor<5xf32> {kind = #xf.variable_kind<state>}
// expected-error @+1 {{X49: bias and counts differ in type: 'tensor<5xf32>' and 'tensor<6xf32>'}}
xf.balance @state.b counts(@state.n) {rate = 0.1}

// -----

xf.variable @b : tensor<6xf32> {kind = #xf.variable_kind<parameter>}
// expected-error @+1 {{X49: names no state: @b}}
xf.balance @b counts(@b) {rate = 0.1}

// -----

xf.variable @state.b : tensor<6xf32> {kind = #xf.variable_kind<state>}
// expected-error @+1 {{X49: a rate of 0.000000e+00 is not positive}}
xf.balance @state.b counts(@state.b) {rate = 0.0}

// -----

xf.variable @state.b : tensor<f32> {kind = #xf.variable_kind<state>}
// expected-error @+1 {{X49: @state.b has not one number an expert}}
xf.balance @state.b counts(@state.b) {rate = 0.1}

// -----

func.func @f(%e: tensor<3x4x2xi32>) {
  // expected-error @+1 {{X29: 2 runs, 1 along positions, do not divide 3 sequences of 4}}
  %s, %r = xf.expert_order %e {experts = 6 : i64} : (tensor<3x4x2xi32>) -> (tensor<3x4x2xi32>, tensor<2x6x2xi32>)
  return
}

// -----

func.func @f(%x: tensor<3x4x8xf32>, %s: tensor<3x4x2xi32>) {
  // expected-error @+1 {{X30: 2 runs, 1 along positions, do not divide 3 sequences of 4}}
  %r = xf.dispatch %x, %s : (tensor<3x4x8xf32>, tensor<3x4x2xi32>) -> tensor<2x12x8xf32>
  return
}

// -----

func.func @f(%e: tensor<2x4x2xi32>) {
  // expected-error @+1 {{X29: 3 runs, 3 along positions, do not divide 2 sequences of 4}}
  %s, %r = xf.expert_order %e {experts = 6 : i64, position_runs = 3 : i64} : (tensor<2x4x2xi32>) -> (tensor<2x4x2xi32>, tensor<3x6x2xi32>)
  return
}

// -----

func.func @f(%e: tensor<2x4x2xi32>) {
  // expected-error @+1 {{X29: with a capacity there are no runs of positions}}
  %s = xf.expert_order %e {capacity = 2 : i64, experts = 6 : i64, position_runs = 2 : i64} : (tensor<2x4x2xi32>) -> tensor<2x4x2xi32>
  return
}

// -----

func.func @f(%x: tensor<2x4x8xf32>, %s: tensor<2x4x2xi32>) {
  // expected-error @+1 {{X30: 2 runs, 0 along positions, do not divide 2 sequences of 4}}
  %r = xf.dispatch %x, %s {position_runs = 0 : i64} : (tensor<2x4x8xf32>, tensor<2x4x2xi32>) -> tensor<2x8x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x4x8xf32>, %s: tensor<2x4x2xi32>) {
  // expected-error @+1 {{X30: with a capacity there are no runs of positions}}
  %r = xf.dispatch %x, %s {position_runs = 2 : i64} : (tensor<2x4x8xf32>, tensor<2x4x2xi32>) -> tensor<6x2x3x8xf32>
  return
}

// -----

func.func @f(%r: tensor<3x8x2xi32>) {
  // expected-error @+1 {{X69: 3 runs do not form groups of 2}}
  %s = xf.expert_segments %r : (tensor<3x8x2xi32>) -> tensor<3x2x4x2xi32>
  return
}

// -----

func.func @f(%r: tensor<4x8x2xi32>) {
  // expected-error @+1 {{X69: ranges has shape [4, 8, 2], expected [4, 6, 2]}}
  %s = xf.expert_segments %r : (tensor<4x8x2xi32>) -> tensor<4x2x3x2xi32>
  return
}

// -----

func.func @f(%x: tensor<3x6x5xf32>, %r: tensor<3x8x2xi32>, %s: tensor<3x2x4x2xi32>) {
  // expected-error @+1 {{X70: 3 runs do not form groups of 2}}
  %y = xf.exchange_rows %x, %r, %s : (tensor<3x6x5xf32>, tensor<3x8x2xi32>, tensor<3x2x4x2xi32>) -> tensor<3x9x5xf32>
  return
}

// -----

func.func @f(%x: tensor<4x6x5xf32>, %r: tensor<4x6x2xi32>, %s: tensor<4x2x4x2xi32>) {
  // expected-error @+1 {{X70: ranges has shape [4, 6, 2], expected [4, 8, 2]}}
  %y = xf.exchange_rows %x, %r, %s : (tensor<4x6x5xf32>, tensor<4x6x2xi32>, tensor<4x2x4x2xi32>) -> tensor<4x9x5xf32>
  return
}

// -----

func.func @f(%x: tensor<4x9x5xf32>, %r: tensor<4x8x2xi32>, %s: tensor<4x2x4x2xi32>) {
  // expected-error @+1 {{X70: result has shape [4, 6, 4], expected [4, 6, 5]}}
  %y = xf.return_rows %x, %r, %s : (tensor<4x9x5xf32>, tensor<4x8x2xi32>, tensor<4x2x4x2xi32>) -> tensor<4x6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x9x5xf32>, %r: tensor<4x8x2xi32>, %s: tensor<4x2x4x2xi32>) {
  // expected-error @+1 {{X70: segments has shape [4, 2, 4, 2], expected [2, 2, 4, 2]}}
  %y = xf.return_rows %x, %r, %s : (tensor<2x9x5xf32>, tensor<4x8x2xi32>, tensor<4x2x4x2xi32>) -> tensor<4x6x5xf32>
  return
}

// -----

func.func @f(%x: tensor<4x6x5xf32>, %r: tensor<7x3x5xf32>, %s: tensor<4x2x4x2xi32>) {
  // expected-error @+1 {{X31: 4 runs of 4 experts do not share out 7}}
  %y = xf.grouped_linear %x, %r, %s : (tensor<4x6x5xf32>, tensor<7x3x5xf32>, tensor<4x2x4x2xi32>) -> tensor<4x6x3xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x5xf32>, %w: tensor<8x3x5xf32>, %r: tensor<1x8x2xi32>) {
  // expected-error @+1 {{X31: expects 7 rows of a run in ranges, of 6}}
  %y = xf.grouped_linear %x, %w, %r {expected_rows = 7 : i64} : (tensor<1x6x5xf32>, tensor<8x3x5xf32>, tensor<1x8x2xi32>) -> tensor<1x6x3xf32>
  return
}

// -----

func.func @f(%l: tensor<4x6xf32>) {
  // expected-error @+1 {{X113: logits}}
  %b = xf.sinkhorn %l : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%l: tensor<4x3x6xf32>) {
  // expected-error @+1 {{X113: result has shape [3, 6], expected [4, 6]}}
  %b = xf.sinkhorn %l : (tensor<4x3x6xf32>) -> tensor<3x6xf32>
  return
}
