// RUN: hocket-opt %s --convert-pipe-to-kern | FileCheck %s

dist.mesh @mesh ["dp", "tp"] sizes [2, 2]

// A collective moves whole buffers: the first rows of a larger one are copied.
// CHECK-LABEL: func.func @prefix
func.func @prefix(%table: tensor<32x16xf32>) -> tensor<8x32xf32> {
  // CHECK: %[[ROWS:.*]] = kern.view %{{.*}} : tensor<32x16xf32> to tensor<8x16xf32>
  %rows = xf.prefix %table : (tensor<32x16xf32>) -> tensor<8x16xf32>
  // CHECK: %[[OWN:.*]] = kern.library "slice_shard"{{.*}}%[[ROWS]]
  // CHECK: kern.collective all_gather %[[OWN]]
  %whole = dist.all_gather %rows dim 1 over ["tp"] : tensor<8x16xf32> to tensor<8x32xf32>
  return %whole : tensor<8x32xf32>
}

// What is only seen in another shape is moved from where it is.
// CHECK-LABEL: func.func @reshaped
func.func @reshaped(%x: tensor<8x16xf32>) -> tensor<4x2x16xf32> {
  // CHECK-NOT: slice_shard
  // CHECK: kern.collective all_reduce
  %y = xf.reshape %x : (tensor<8x16xf32>) -> tensor<4x2x16xf32>
  %sum = dist.all_reduce %y over ["dp", "tp"] : tensor<4x2x16xf32>
  return %sum : tensor<4x2x16xf32>
}

// Rows go where their experts are, in segments by device and expert, and back.
// GEMMs are of all that there is room for, and priced by what is expected.
// CHECK-LABEL: func.func @exchanged
func.func @exchanged(%x: tensor<1x6x4xbf16>, %n: tensor<1x8x2xi32>, %w: tensor<4x4x4xbf16>) -> tensor<1x6x4xbf16> {
  // CHECK: %[[SENT:.*]] = kern.collective all_to_all %{{.*}} over ["dp"]
  %sent = dist.all_to_all %n split 1 concat 0 over ["dp"] : tensor<1x8x2xi32> to tensor<2x4x2xi32>
  // CHECK: %[[S:.*]] = kern.library "pack_segments"(%{{.*}}) {{{.*}}integers = array<i64: 8>
  %s = xf.expert_segments %sent : (tensor<2x4x2xi32>) -> tensor<1x2x4x2xi32>
  // CHECK: %[[HERE:.*]] = kern.exchange %{{.*}}, %{{.*}}, %[[S]] over ["dp"] : (tensor<1x6x4xbf16>, tensor<1x8x2xi32>, tensor<1x2x4x2xi32>) -> tensor<1x9x4xbf16>
  %here = dist.exchange_rows %x, %n, %s over ["dp"] : (tensor<1x6x4xbf16>, tensor<1x8x2xi32>, tensor<1x2x4x2xi32>) -> tensor<1x9x4xbf16>
  // CHECK: %[[Y:.*]] = kern.library "grouped_linear"(%[[HERE]], %{{.*}}, %[[S]]) {{.*}}integers = array<i64: 2, 9, 4, 4, 4, 1, 8, 6>
  %y = xf.grouped_linear %here, %w, %s {expected_rows = 6 : i64} : (tensor<1x9x4xbf16>, tensor<4x4x4xbf16>, tensor<1x2x4x2xi32>) -> tensor<1x9x4xbf16>
  // CHECK: kern.exchange %[[Y]], %{{.*}}, %[[S]] over ["dp"] {returns}
  %back = dist.return_rows %y, %n, %s over ["dp"] : (tensor<1x9x4xbf16>, tensor<1x8x2xi32>, tensor<1x2x4x2xi32>) -> tensor<1x6x4xbf16>
  return %back : tensor<1x6x4xbf16>
}
