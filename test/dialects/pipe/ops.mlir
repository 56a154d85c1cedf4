// RUN: hocket-opt %s | hocket-opt | FileCheck %s

func.func @forward() {
  return
}
// CHECK-LABEL: @exchange
func.func @exchange(%x: tensor<1xf32>) {
  // CHECK: pipe.all_reduce %{{.*}} ranks [0, 3] : tensor<1xf32>
  %0 = pipe.all_reduce %x ranks [0, 3] : tensor<1xf32>
  // CHECK: pipe.all_gather %{{.*}} ranks [0, 1] : tensor<1xf32> to tensor<2xf32>
  %1 = pipe.all_gather %x ranks [0, 1] : tensor<1xf32> to tensor<2xf32>
  return
}
// CHECK-LABEL: func @rows(
func.func @rows(%x: tensor<2x4x8xf32>, %y: tensor<2x4xi32>) {
  // CHECK: pipe.slice_rows %{{.*}} from 5 : tensor<2x4x8xf32> to tensor<3x8xf32>
  %0 = pipe.slice_rows %x from 5 : tensor<2x4x8xf32> to tensor<3x8xf32>
  // CHECK: pipe.slice_rows %{{.*}} from 0 : tensor<2x4xi32> to tensor<8xi32>
  %1 = pipe.slice_rows %y from 0 : tensor<2x4xi32> to tensor<8xi32>
  // CHECK: pipe.insert_rows %{{.*}} at 0 : (tensor<3x8xf32>) -> tensor<2x4x8xf32>
  %2 = pipe.insert_rows %0 at 0 : (tensor<3x8xf32>) -> tensor<2x4x8xf32>
  // CHECK: pipe.insert_rows %{{.*}} at 3 into %{{.*}} : (tensor<3x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %3 = pipe.insert_rows %0 at 3 into %2 : (tensor<3x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}
func.func @stage(%x: tensor<1xf32>, %s: tensor<1xf32>, %t: tensor<1xf32>) -> (tensor<1xf32>, tensor<1xf32>) {
  return %x, %s : tensor<1xf32>, tensor<1xf32>
}
// CHECK: pipe.fragment W @stage(rank 0 tag 2, F result 1, host "tokens" split {{\[}}["dp"]]) -> (rank 2 tag 3, kept) stage 1 chunk 0 rank 1 cut
pipe.fragment W @stage(rank 0 tag 2, F result 1, host "tokens" split [["dp"]]) -> (rank 2 tag 3, kept) stage 1 chunk 0 rank 1 cut
// CHECK: pipe.fragment F @forward stage 0 chunk 1
pipe.fragment F @forward stage 0 chunk 1
// CHECK: pipe.schedule "train_step" rank 0 microbatches 2 slots 2 [#pipe.action<F chunk 1 microbatch 1 slot 1>]
pipe.schedule "train_step" rank 0 microbatches 2 slots 2 [
  #pipe.action<F chunk 1 microbatch 1 slot 1>]
