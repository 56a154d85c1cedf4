// RUN: hocket-opt %s --kern-fuse-loss --split-input-file | FileCheck %s

// The gradient takes the logits' place; the mean is of what the rows gave.
// CHECK-LABEL: func.func @mean
// CHECK-SAME: (%[[X:.*]]: tensor<2x4x32xbf16>, %[[Y:.*]]: tensor<2x4xi32>, %[[D:.*]]: tensor<f32>)
// CHECK: %[[N:.*]] = kern.library "count_labels"(%[[Y]]) {{.*}}integers = array<i64: 8>
// CHECK-NEXT: %[[L:.*]]:3 = kern.library "cross_entropy_joint"(%[[X]], %[[Y]], %[[D]], %[[N]]) {{.*}}in_place = array<i64: -1, -1, 0>, integers = array<i64: 2, 8, 32, 17>{{.*}} -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4x32xbf16>)
// CHECK-NEXT: %[[M:.*]] = kern.library "mean_loss"(%[[L]]#0, %[[L]]#1, %[[Y]], %[[N]]) {{.*}}integers = array<i64: 8>
// CHECK-NEXT: kern.output %[[M]], "loss"
// CHECK-NEXT: return %[[M]], %[[L]]#2
func.func @mean(%x: tensor<2x4x32xbf16>, %y: tensor<2x4xi32>, %d: tensor<f32>) -> (tensor<f32>, tensor<2x4x32xbf16>) {
  %0:2 = kern.library "cross_entropy_forward"(%x, %y) {floats = array<f64>, integers = array<i64: 2, 8, 32, 17>} : (tensor<2x4x32xbf16>, tensor<2x4xi32>) -> (tensor<f32>, tensor<2x4xf32>)
  kern.output %0#0, "loss" : tensor<f32>
  %1 = kern.library "cross_entropy_backward"(%x, %y, %0#1, %d) {floats = array<f64>, in_place = array<i64: 0>, integers = array<i64: 2, 8, 32, 17>} : (tensor<2x4x32xbf16>, tensor<2x4xi32>, tensor<2x4xf32>, tensor<f32>) -> tensor<2x4x32xbf16>
  return %0#0, %1 : tensor<f32>, tensor<2x4x32xbf16>
}

// -----

// Of a part of the labels the count comes from all devices, once; sums of one
// part need no other's.
// CHECK-LABEL: func.func @counted
// CHECK-SAME: (%[[X:.*]]: tensor<2x4x32xf32>, %[[Y:.*]]: tensor<2x4xi32>, %[[D:.*]]: tensor<f32>)
// CHECK: %[[C:.*]] = kern.library "count_labels"
// CHECK-NEXT: %[[N:.*]] = kern.collective all_reduce %[[C]]
// CHECK-NEXT: %[[L:.*]]:3 = kern.library "cross_entropy_joint"(%[[X]], %[[Y]], %[[D]], %[[N]])
// CHECK-NOT: log_sum_exp
// CHECK-NOT: kern.collective
// CHECK: kern.library "mean_loss"(%[[L]]#0, %[[L]]#1, %[[Y]], %[[N]])
// CHECK-NEXT: return %{{.*}}, %[[L]]#2
func.func @counted(%x: tensor<2x4x32xf32>, %y: tensor<2x4xi32>, %d: tensor<f32>) -> (tensor<f32>, tensor<2x4x32xf32>) {
  %zero = arith.constant 0 : i32
  %0:2 = kern.library "cross_entropy_rows"(%x, %y) scalars(%zero) {floats = array<f64>, integers = array<i64: 1, 8, 32, 17, 1>} : (tensor<2x4x32xf32>, tensor<2x4xi32>) -> (tensor<2x4x1xf32>, tensor<2x4xf32>)
  %1 = kern.library "log_sum_exp"(%0#0) {floats = array<f64>, integers = array<i64: 8, 1>} : (tensor<2x4x1xf32>) -> tensor<2x4xf32>
  %2 = kern.library "count_labels"(%y) {floats = array<f64>, integers = array<i64: 8>} : (tensor<2x4xi32>) -> tensor<f32>
  %3 = kern.collective all_reduce %2 over ["dp"] : tensor<f32> to tensor<f32>
  %4 = kern.library "mean_loss"(%1, %0#1, %y, %3) {floats = array<f64>, integers = array<i64: 8>} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xi32>, tensor<f32>) -> tensor<f32>
  %again = kern.collective all_reduce %2 over ["dp"] {why = "for the gradient"} : tensor<f32> to tensor<f32>
  %5 = kern.library "cross_entropy_backward_shard"(%x, %y, %1, %d, %again) scalars(%zero) {floats = array<f64>, in_place = array<i64: 0>, integers = array<i64: 1, 8, 32, 17>} : (tensor<2x4x32xf32>, tensor<2x4xi32>, tensor<2x4xf32>, tensor<f32>, tensor<f32>) -> tensor<2x4x32xf32>
  return %4, %5 : tensor<f32>, tensor<2x4x32xf32>
}

// -----

// A vocabulary of several parts has no whole rows anywhere.
// CHECK-LABEL: func.func @parts
// CHECK: kern.library "cross_entropy_rows"
// CHECK: kern.library "log_sum_exp"
// CHECK: kern.library "cross_entropy_backward_shard"
func.func @parts(%x: tensor<8x32xf32>, %y: tensor<8xi32>, %d: tensor<f32>, %n: tensor<f32>, %first: i32) -> tensor<8x32xf32> {
  %0:2 = kern.library "cross_entropy_rows"(%x, %y) scalars(%first) {floats = array<f64>, integers = array<i64: 1, 8, 32, 60, 1>} : (tensor<8x32xf32>, tensor<8xi32>) -> (tensor<8x1xf32>, tensor<8xf32>)
  %1 = kern.collective all_gather %0#0 over ["tp"] : tensor<8x1xf32> to tensor<8x2xf32>
  %2 = kern.library "log_sum_exp"(%1) {floats = array<f64>, integers = array<i64: 8, 2>} : (tensor<8x2xf32>) -> tensor<8xf32>
  %3 = kern.library "cross_entropy_backward_shard"(%x, %y, %2, %d, %n) scalars(%first) {floats = array<f64>, in_place = array<i64: 0>, integers = array<i64: 1, 8, 32, 60>} : (tensor<8x32xf32>, tensor<8xi32>, tensor<8xf32>, tensor<f32>, tensor<f32>) -> tensor<8x32xf32>
  return %3 : tensor<8x32xf32>
}

// -----

// Nor does a gradient of other logits fit, nor one that the sums must wait for.
// CHECK-LABEL: func.func @others
// CHECK-NOT: cross_entropy_joint
// CHECK: return
func.func @others(%x: tensor<8x32xf32>, %z: tensor<8x32xf32>, %y: tensor<8xi32>, %d: tensor<f32>) -> (tensor<f32>, tensor<8x32xf32>, tensor<8x32xf32>) {
  %0:2 = kern.library "cross_entropy_forward"(%x, %y) {floats = array<f64>, integers = array<i64: 1, 8, 32, 32>} : (tensor<8x32xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>)
  %1 = kern.library "cross_entropy_backward"(%z, %y, %0#1, %d) {floats = array<f64>, integers = array<i64: 1, 8, 32, 32>} : (tensor<8x32xf32>, tensor<8xi32>, tensor<8xf32>, tensor<f32>) -> tensor<8x32xf32>
  %2 = kern.library "cross_entropy_backward"(%x, %y, %0#1, %0#0) {floats = array<f64>, integers = array<i64: 1, 8, 32, 32>} : (tensor<8x32xf32>, tensor<8xi32>, tensor<8xf32>, tensor<f32>) -> tensor<8x32xf32>
  return %0#0, %1, %2 : tensor<f32>, tensor<8x32xf32>, tensor<8x32xf32>
}
