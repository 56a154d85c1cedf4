// What is wrong with chunks of sequences.
// RUN: hocket-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<2x6x4xf32>) {
  // expected-error @+1 {{X125: [6, 3, 4] are no chunks of sequences [2, 6, 4]}}
  %y = xf.split_chunks %x : (tensor<2x6x4xf32>) -> tensor<6x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3x4xf32>) {
  // expected-error @+1 {{X125: a shift of 6 rows is not within sequences of 6}}
  %y = xf.join_chunks %x {shift = 6 : i64} : (tensor<4x3x4xf32>) -> tensor<2x6x4xf32>
  return
}
