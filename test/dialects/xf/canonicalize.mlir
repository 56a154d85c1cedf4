// RUN: hocket-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @reshape_twice(
// CHECK: %[[Y:.*]] = xf.reshape %arg0 : (tensor<2x6xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: return %[[Y]]
func.func @reshape_twice(%x: tensor<2x6xf32>) -> tensor<3x4xf32> {
  %a = xf.reshape %x : (tensor<2x6xf32>) -> tensor<12xf32>
  %b = xf.reshape %a : (tensor<12xf32>) -> tensor<3x4xf32>
  return %b : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @reshape_and_back(
// CHECK-NEXT: return %arg0
func.func @reshape_and_back(%x: tensor<2x6xf32>) -> tensor<2x6xf32> {
  %a = xf.reshape %x : (tensor<2x6xf32>) -> tensor<12xf32>
  %b = xf.reshape %a : (tensor<12xf32>) -> tensor<2x6xf32>
  return %b : tensor<2x6xf32>
}

// CHECK-LABEL: func.func @widen_and_narrow(
// CHECK-NEXT: return %arg0
func.func @widen_and_narrow(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %a = xf.cast %x : (tensor<4xbf16>) -> tensor<4xf32>
  %b = xf.cast %a : (tensor<4xf32>) -> tensor<4xbf16>
  return %b : tensor<4xbf16>
}

// Rounding is not undone, nor is one kind of 16 bits like the other.
// CHECK-LABEL: func.func @narrow_and_widen(
// CHECK-COUNT-4: xf.cast
func.func @narrow_and_widen(%x: tensor<4xf32>, %y: tensor<4xbf16>) -> (tensor<4xf32>, tensor<4xbf16>) {
  %a = xf.cast %x : (tensor<4xf32>) -> tensor<4xbf16>
  %b = xf.cast %a : (tensor<4xbf16>) -> tensor<4xf32>
  %c = xf.cast %y : (tensor<4xbf16>) -> tensor<4xf16>
  %d = xf.cast %c : (tensor<4xf16>) -> tensor<4xbf16>
  return %b, %d : tensor<4xf32>, tensor<4xbf16>
}

// CHECK-LABEL: func.func @neutral(
// CHECK-NEXT: return %arg0
func.func @neutral(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %zero = xf.constant {value = 0.0} : () -> tensor<3x4xf32>
  %zeros = xf.constant {value = 0.0} : () -> tensor<4xf32>
  %one = xf.constant {value = 1.0} : () -> tensor<f32>
  %a = xf.add %zero, %x : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %b = xf.add %a, %zeros : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %c = xf.multiply %b, %one : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  %d = xf.dropout %c {rate = 0.0, stream = 1 : i32} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %e = xf.sum_leading %d : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %f = xf.prefix %e : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %g = xf.pad_rows %f : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %g : tensor<3x4xf32>
}

// A sum that repeats the other operand stays.
// CHECK-LABEL: func.func @repeats(
// CHECK: xf.add
func.func @repeats(%x: tensor<4xf32>) -> tensor<3x4xf32> {
  %zero = xf.constant {value = 0.0} : () -> tensor<3x4xf32>
  %a = xf.add %zero, %x : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  return %a : tensor<3x4xf32>
}
