// RUN: hocket-opt %s --canonicalize | FileCheck %s

// A view of a view is one view, and one that changes nothing is none.
// CHECK-LABEL: func.func @views
// CHECK-SAME: (%[[X:.*]]: tensor<8x8xf32>)
func.func @views(%x: tensor<8x8xf32>) -> (tensor<2x16xf32>, tensor<8x8xf32>) {
  // CHECK-NEXT: %[[V:.*]] = kern.view %[[X]] : tensor<8x8xf32> to tensor<2x16xf32>
  // CHECK-NEXT: return %[[V]], %[[X]]
  %0 = kern.view %x : tensor<8x8xf32> to tensor<64xf32>
  %1 = kern.view %0 : tensor<64xf32> to tensor<2x16xf32>
  %2 = kern.view %x : tensor<8x8xf32> to tensor<8x8xf32>
  return %1, %2 : tensor<2x16xf32>, tensor<8x8xf32>
}
