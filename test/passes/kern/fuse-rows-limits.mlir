// RUN: hocket-opt %s --kern-fuse-rows=max-buffers=4 | FileCheck %s

// Three operands and one result fit into four buffers, one more does not.
// CHECK-LABEL: func.func @buffers
func.func @buffers(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>, %c: tensor<8x8xf32>, %d: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK: kern.rows "add+add2" [8 x 8]
  // CHECK: kern.rows "add3" [8 x 8]
  %0 = kern.rows "add" [8 x 8] (%x = %a as full : tensor<8x8xf32>, %y = %b as full : tensor<8x8xf32>) -> (tensor<8x8xf32> as full) {
    %s = arith.addf %x, %y : f32
    kern.yield %s : f32
  }
  %1 = kern.rows "add2" [8 x 8] (%x = %0 as full : tensor<8x8xf32>, %y = %c as full : tensor<8x8xf32>) -> (tensor<8x8xf32> as full) {
    %s = arith.addf %x, %y : f32
    kern.yield %s : f32
  }
  %2 = kern.rows "add3" [8 x 8] (%x = %1 as full : tensor<8x8xf32>, %y = %d as full : tensor<8x8xf32>) -> (tensor<8x8xf32> as full) {
    %s = arith.addf %x, %y : f32
    kern.yield %s : f32
  }
  return %2 : tensor<8x8xf32>
}

// A row of 65536 values of exp between two reductions is too much to keep.
// CHECK-LABEL: func.func @long_rows
func.func @long_rows(%a: tensor<2x65536xf32>) -> tensor<2x65536xf32> {
  // CHECK: kern.rows "exp"
  // CHECK: kern.rows "normalise"
  %0 = kern.rows "exp" [2 x 65536] (%x = %a as full : tensor<2x65536xf32>) -> (tensor<2x65536xf32> as full) {
    %e = math.exp %x : f32
    kern.yield %e : f32
  }
  %1 = kern.rows "normalise" [2 x 65536] (%x = %0 as full : tensor<2x65536xf32>) -> (tensor<2x65536xf32> as full) {
    %s = kern.reduce add %x : f32
    %q = arith.divf %x, %s : f32
    kern.yield %q : f32
  }
  return %1 : tensor<2x65536xf32>
}

// Numbers of 8 bits are rounded in memory, which is what they are for.
// CHECK-LABEL: func.func @rounded
func.func @rounded(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK: kern.rows "narrow"
  // CHECK: kern.rows "widen"
  %0 = kern.rows "narrow" [8 x 8] (%x = %a as full : tensor<8x8xf32>) -> (tensor<8x8xf8E4M3FN> as full) {
    kern.yield %x : f32
  }
  %1 = kern.rows "widen" [8 x 8] (%x = %0 as full : tensor<8x8xf8E4M3FN>) -> (tensor<8x8xf32> as full) {
    kern.yield %x : f32
  }
  return %1 : tensor<8x8xf32>
}
