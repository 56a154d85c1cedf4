// RUN: hocket-opt %s --convert-pipe-to-kern | FileCheck %s

dist.mesh @mesh ["dp", "tp"] sizes [2, 2]

// A collective moves whole buffers: the first rows of a larger one are copied.
// CHECK-LABEL: func.func @prefix
func.func @prefix(%table: tensor<32x16xf32>) -> tensor<8x32xf32> {
  // CHECK: %[[ROWS:.*]] = kern.view %{{.*}} : tensor<32x16xf32> to tensor<8x16xf32>
  %rows = xf.prefix %table : (tensor<32x16xf32>) -> tensor<8x16xf32>
  // CHECK: %[[OWN:.*]] = kern.library "slice_shard"{{.*}}%[[ROWS]]
  // CHECK: kern.collective "all_gather" %[[OWN]]
  %whole = dist.all_gather %rows dim 1 over ["tp"] : tensor<8x16xf32> to tensor<8x32xf32>
  return %whole : tensor<8x32xf32>
}

// What is only seen in another shape is moved from where it is.
// CHECK-LABEL: func.func @reshaped
func.func @reshaped(%x: tensor<8x16xf32>) -> tensor<4x2x16xf32> {
  // CHECK-NOT: slice_shard
  // CHECK: kern.collective "all_reduce"
  %y = xf.reshape %x : (tensor<8x16xf32>) -> tensor<4x2x16xf32>
  %sum = dist.all_reduce %y over ["dp", "tp"] : tensor<4x2x16xf32>
  return %sum : tensor<4x2x16xf32>
}
