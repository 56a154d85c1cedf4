// Stages of a model that retrieves.
// RUN: hocket compile %S/Inputs/retrieval.textproto --mesh pp=4 --compile-to=pipe -o - | FileCheck %s

// Neighbours are looked up where the layer is that encodes them, by a copy of
// the embedding; what it made crosses to the layer that reads it, and no
// further.

// CHECK-LABEL: func.func @forward_0(
// CHECK: pipe.fragment F @forward_0(host "tokens") -> (rank 1 tag 0,
// CHECK-LABEL: func.func @forward_1(
// CHECK-SAME: %[[TOKENS:arg[0-9]*]]: tensor<1x48xi32>
// CHECK: %[[TEXTS:.*]] = xf.embedding %[[TOKENS]]
// CHECK: call @first_retrieval_layer_forward
// CHECK: pipe.fragment F @forward_1(host "neighbors", rank 0 tag 0) -> (rank 2 tag 1, rank 2 tag 2,
// CHECK-LABEL: func.func @forward_2(
// CHECK: call @retrieval_layer_forward
// CHECK: pipe.fragment F @forward_2(rank 1 tag 1, rank 1 tag 2) -> (rank 3 tag 3,
// CHECK-LABEL: func.func @forward_3(
// CHECK: pipe.fragment F @forward_3(host "labels", rank 2 tag 3)

// CHECK-LABEL: func.func @backward_1(
// CHECK: call @first_retrieval_layer_backward
// CHECK: xf.accumulate %{{.*}}, @embedding.weight.grad
// CHECK: pipe.fragment B @backward_1
