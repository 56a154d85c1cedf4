// RUN: hocket-opt %s --split-input-file --verify-diagnostics

// What the verifiers of state-space layers refuse, by number (docs/spec.md).

func.func @f(%x: tensor<1x6x4xf32>, %w: tensor<3x2xf32>) {
  // expected-error @+1 {{X84: weight has shape [3, 2], expected [4, 2]}}
  %y = xf.causal_conv %x, %w : (tensor<1x6x4xf32>, tensor<3x2xf32>) -> tensor<1x6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x4xf32>, %w: tensor<4x2xf32>) {
  // expected-error @+1 {{X84: bias_grad has shape [2], expected [4]}}
  %dx, %dw, %db = xf.causal_conv_gradient %x, %x, %w : (tensor<1x6x4xf32>, tensor<1x6x4xf32>, tensor<4x2xf32>) -> (tensor<1x6x4xf32>, tensor<4x2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @f(%x: tensor<1x6x3x2xf32>, %d: tensor<1x6x3xf32>, %b: tensor<1x6x2x4xf32>, %n: tensor<3xf32>) {
  // expected-error @+1 {{X85: 2 groups do not divide 3 heads}}
  %y = xf.state_scan %x, %d, %b, %b, %n, %n, %n : (tensor<1x6x3x2xf32>, tensor<1x6x3xf32>, tensor<1x6x2x4xf32>, tensor<1x6x2x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x6x3x2xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x2x2xf32>, %d: tensor<1x6x2xf32>, %b: tensor<1x6x1x4xf32>, %n: tensor<2xf32>, %m: tensor<3xf32>) {
  // expected-error @+1 {{X85: skip has shape [3], expected [2]}}
  %y = xf.state_scan %x, %d, %b, %b, %n, %n, %m : (tensor<1x6x2x2xf32>, tensor<1x6x2xf32>, tensor<1x6x1x4xf32>, tensor<1x6x1x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3xf32>) -> tensor<1x6x2x2xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x2x2xf32>, %d: tensor<1x6x2xf32>, %b: tensor<1x6x1x4xf32>, %n: tensor<2xf32>) {
  // expected-error @+1 {{X86: most 1.000000e-01 is not above least, 2.000000e-01}}
  %y = xf.state_scan %x, %d, %b, %b, %n, %n, %n {least = 0.2, most = 0.1} : (tensor<1x6x2x2xf32>, tensor<1x6x2xf32>, tensor<1x6x1x4xf32>, tensor<1x6x1x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x6x2x2xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x2x2xf32>, %d: tensor<1x6x2xf32>, %b: tensor<1x6x1x4xf32>, %n: tensor<2xf32>) {
  // expected-error @+1 {{X86: least -1.000000e+00 is not 0 or positive}}
  %y = xf.state_scan %x, %d, %b, %b, %n, %n, %n {least = -1.0} : (tensor<1x6x2x2xf32>, tensor<1x6x2xf32>, tensor<1x6x1x4xf32>, tensor<1x6x1x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x6x2x2xf32>
  return
}

// -----

func.func @f(%x: tensor<6x2x4xf32>, %w: tensor<4x2xf32>, %p: tensor<6x1xi32>, %c: tensor<3x1x4xf32>) {
  // expected-error @+1 {{X117: a row has 2 tokens, not 1}}
  %y, %d = xf.cached_conv %x, %w, %p, %p, %c : (tensor<6x2x4xf32>, tensor<4x2xf32>, tensor<6x1xi32>, tensor<6x1xi32>, tensor<3x1x4xf32>) -> (tensor<6x2x4xf32>, tensor<3x1x4xf32>)
  return
}

// -----

func.func @f(%x: tensor<6x1x4xf32>, %w: tensor<4x3xf32>, %p: tensor<6x1xi32>, %r: tensor<5x1xi32>, %c: tensor<3x2x4xf32>) {
  // expected-error @+1 {{X117: rows has shape [5, 1], expected [6, 1]}}
  %y, %d = xf.cached_conv %x, %w, %p, %r, %c : (tensor<6x1x4xf32>, tensor<4x3xf32>, tensor<6x1xi32>, tensor<5x1xi32>, tensor<3x2x4xf32>) -> (tensor<6x1x4xf32>, tensor<3x2x4xf32>)
  return
}

// -----

func.func @f(%x: tensor<6x1x4xf32>, %w: tensor<4x3xf32>, %p: tensor<6x1xi32>, %c: tensor<3x3x4xf32>) {
  // expected-error @+1 {{X117: cache has shape [3, 3, 4], expected [3, 2, 4]}}
  %y, %d = xf.cached_conv %x, %w, %p, %p, %c : (tensor<6x1x4xf32>, tensor<4x3xf32>, tensor<6x1xi32>, tensor<6x1xi32>, tensor<3x3x4xf32>) -> (tensor<6x1x4xf32>, tensor<3x3x4xf32>)
  return
}

// -----

func.func @f(%x: tensor<6x1x4xf32>, %w: tensor<4x1xf32>, %p: tensor<6x1xi32>, %c: tensor<3x1x4xf32>) {
  // expected-error @+1 {{X117: a convolution that reaches over 1 token keeps nothing}}
  %y, %d = xf.cached_conv %x, %w, %p, %p, %c : (tensor<6x1x4xf32>, tensor<4x1xf32>, tensor<6x1xi32>, tensor<6x1xi32>, tensor<3x1x4xf32>) -> (tensor<6x1x4xf32>, tensor<3x1x4xf32>)
  return
}

// -----

func.func @f(%x: tensor<6x1x4xf32>, %w: tensor<4x3xf32>, %p: tensor<6x1xi32>, %b: tensor<3xf32>, %c: tensor<3x2x4xf32>) {
  // expected-error @+1 {{X84: bias has shape [3], expected [4]}}
  %y, %d = xf.cached_conv %x, %w, %p, %p, %b, %c : (tensor<6x1x4xf32>, tensor<4x3xf32>, tensor<6x1xi32>, tensor<6x1xi32>, tensor<3xf32>, tensor<3x2x4xf32>) -> (tensor<6x1x4xf32>, tensor<3x2x4xf32>)
  return
}

// -----

func.func @f(%x: tensor<6x1x2x3xf32>, %d: tensor<6x1x2xf32>, %b: tensor<6x1x1x4xf32>, %n: tensor<2xf32>, %p: tensor<6x1xi32>, %h: tensor<3x2x4x3xf32>) {
  // expected-error @+1 {{X117: state has shape [3, 2, 4, 3], expected [3, 2, 3, 4]}}
  %y, %g = xf.cached_scan %x, %d, %b, %b, %n, %n, %n, %p, %p, %h : (tensor<6x1x2x3xf32>, tensor<6x1x2xf32>, tensor<6x1x1x4xf32>, tensor<6x1x1x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<6x1xi32>, tensor<6x1xi32>, tensor<3x2x4x3xf32>) -> (tensor<6x1x2x3xf32>, tensor<3x2x4x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<6x1x2x3xbf16>, %d: tensor<6x1x2xbf16>, %b: tensor<6x1x1x4xbf16>, %n: tensor<2xf32>, %p: tensor<6x1xi32>, %h: tensor<3x2x3x4xbf16>) {
  // expected-error @+1 {{X117: a state is of f32 or f64}}
  %y, %g = xf.cached_scan %x, %d, %b, %b, %n, %n, %n, %p, %p, %h : (tensor<6x1x2x3xbf16>, tensor<6x1x2xbf16>, tensor<6x1x1x4xbf16>, tensor<6x1x1x4xbf16>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<6x1xi32>, tensor<6x1xi32>, tensor<3x2x3x4xbf16>) -> (tensor<6x1x2x3xbf16>, tensor<3x2x3x4xbf16>)
  return
}

// -----

func.func @f(%x: tensor<6x1x2x3xf32>, %d: tensor<6x1x2xf32>, %b: tensor<6x1x1x4xf32>, %n: tensor<2xf32>, %p: tensor<6x1xi32>, %h: tensor<3x2x3x4xf32>) {
  // expected-error @+1 {{X86: most 1.000000e-01 is not above least, 2.000000e-01}}
  %y, %g = xf.cached_scan %x, %d, %b, %b, %n, %n, %n, %p, %p, %h {least = 0.2, most = 0.1} : (tensor<6x1x2x3xf32>, tensor<6x1x2xf32>, tensor<6x1x1x4xf32>, tensor<6x1x1x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<6x1xi32>, tensor<6x1xi32>, tensor<3x2x3x4xf32>) -> (tensor<6x1x2x3xf32>, tensor<3x2x3x4xf32>)
  return
}
