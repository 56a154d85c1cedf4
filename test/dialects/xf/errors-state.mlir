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
