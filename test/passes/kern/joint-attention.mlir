// RUN: hocket-opt %s --kern-joint-attention | FileCheck %s

// CHECK-LABEL: @enough_heads
// CHECK: kern.library "attention_backward_joint"(
func.func @enough_heads(%q: tensor<64x32x2x64xbf16>, %k: tensor<64x32x2x64xbf16>, %l: tensor<64x2x32xf32>) -> tensor<64x32x2x64xbf16> {
  %r:4 = kern.library "attention_backward"(%q, %k, %k, %q, %l, %q) {floats = array<f64: 1.250000e-01, 0.000000e+00>, integers = array<i64: 2, 64, 32, 2, 2, 64, 1, 0, 0>, random, workspaces = 1 : i64} : (tensor<64x32x2x64xbf16>, tensor<64x32x2x64xbf16>, tensor<64x32x2x64xbf16>, tensor<64x32x2x64xbf16>, tensor<64x2x32xf32>, tensor<64x32x2x64xbf16>) -> (tensor<64x32x2x64xbf16>, tensor<64x32x2x64xbf16>, tensor<64x32x2x64xbf16>, tensor<64x2x32xf32>)
  return %r#0 : tensor<64x32x2x64xbf16>
}

// CHECK-LABEL: @few_heads
// CHECK: kern.library "attention_backward"(
func.func @few_heads(%q: tensor<63x32x2x64xbf16>, %k: tensor<63x32x2x64xbf16>, %l: tensor<63x2x32xf32>) -> tensor<63x32x2x64xbf16> {
  %r:4 = kern.library "attention_backward"(%q, %k, %k, %q, %l, %q) {floats = array<f64: 1.250000e-01, 0.000000e+00>, integers = array<i64: 2, 63, 32, 2, 2, 64, 1, 0, 0>, random, workspaces = 1 : i64} : (tensor<63x32x2x64xbf16>, tensor<63x32x2x64xbf16>, tensor<63x32x2x64xbf16>, tensor<63x32x2x64xbf16>, tensor<63x2x32xf32>, tensor<63x32x2x64xbf16>) -> (tensor<63x32x2x64xbf16>, tensor<63x32x2x64xbf16>, tensor<63x32x2x64xbf16>, tensor<63x2x32xf32>)
  return %r#0 : tensor<63x32x2x64xbf16>
}

// CHECK-LABEL: @shared_keys
// CHECK: kern.library "attention_backward"(
func.func @shared_keys(%q: tensor<64x32x4x64xbf16>, %k: tensor<64x32x2x64xbf16>, %l: tensor<64x4x32xf32>) -> tensor<64x32x4x64xbf16> {
  %r:4 = kern.library "attention_backward"(%q, %k, %k, %q, %l, %q) {floats = array<f64: 1.250000e-01, 0.000000e+00>, integers = array<i64: 2, 64, 32, 4, 2, 64, 1, 0, 0>, random, workspaces = 1 : i64} : (tensor<64x32x4x64xbf16>, tensor<64x32x2x64xbf16>, tensor<64x32x2x64xbf16>, tensor<64x32x4x64xbf16>, tensor<64x4x32xf32>, tensor<64x32x4x64xbf16>) -> (tensor<64x32x4x64xbf16>, tensor<64x32x2x64xbf16>, tensor<64x32x2x64xbf16>, tensor<64x4x32xf32>)
  return %r#0 : tensor<64x32x4x64xbf16>
}

// CHECK-LABEL: @dropout
// CHECK: kern.library "attention_backward"(
func.func @dropout(%q: tensor<64x32x2x64xbf16>, %k: tensor<64x32x2x64xbf16>, %l: tensor<64x2x32xf32>) -> tensor<64x32x2x64xbf16> {
  %r:4 = kern.library "attention_backward"(%q, %k, %k, %q, %l, %q) {floats = array<f64: 1.250000e-01, 1.000000e-01>, integers = array<i64: 2, 64, 32, 2, 2, 64, 1, 0, 0>, random, workspaces = 1 : i64} : (tensor<64x32x2x64xbf16>, tensor<64x32x2x64xbf16>, tensor<64x32x2x64xbf16>, tensor<64x32x2x64xbf16>, tensor<64x2x32xf32>, tensor<64x32x2x64xbf16>) -> (tensor<64x32x2x64xbf16>, tensor<64x32x2x64xbf16>, tensor<64x32x2x64xbf16>, tensor<64x2x32xf32>)
  return %r#0 : tensor<64x32x2x64xbf16>
}

// CHECK-LABEL: @long_sequences
// CHECK: kern.library "attention_backward"(
func.func @long_sequences(%q: tensor<64x2049x2x64xbf16>, %k: tensor<64x2049x2x64xbf16>, %l: tensor<64x2x2049xf32>) -> tensor<64x2049x2x64xbf16> {
  %r:4 = kern.library "attention_backward"(%q, %k, %k, %q, %l, %q) {floats = array<f64: 1.250000e-01, 0.000000e+00>, integers = array<i64: 2, 64, 2049, 2, 2, 64, 1, 0, 0>, random, workspaces = 1 : i64} : (tensor<64x2049x2x64xbf16>, tensor<64x2049x2x64xbf16>, tensor<64x2049x2x64xbf16>, tensor<64x2049x2x64xbf16>, tensor<64x2x2049xf32>, tensor<64x2049x2x64xbf16>) -> (tensor<64x2049x2x64xbf16>, tensor<64x2049x2x64xbf16>, tensor<64x2049x2x64xbf16>, tensor<64x2x2049xf32>)
  return %r#0 : tensor<64x2049x2x64xbf16>
}
