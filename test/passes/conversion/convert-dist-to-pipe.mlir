// RUN: hocket-opt %s --convert-dist-to-pipe | FileCheck %s

func.func @forward(%x: tensor<2x4xi32>, %y: tensor<2x4xi32>) {
  return
}
func.func @backward() {
  return
}
// CHECK-NOT: xf.step
// CHECK: pipe.fragment F @forward stage 0 chunk 0
// CHECK: pipe.fragment B @backward stage 0 chunk 0
// CHECK: pipe.schedule "train_step" rank 0 microbatches 2 slots 1
// CHECK-SAME: [#pipe.action<F chunk 0 microbatch 0 slot 0>, #pipe.action<B chunk 0 microbatch 0 slot 0>, #pipe.action<F chunk 0 microbatch 1 slot 0>, #pipe.action<B chunk 0 microbatch 1 slot 0>, #pipe.action<U chunk 0 microbatch 0 slot 0>]
// CHECK: pipe.schedule "eval_step" rank 0 microbatches 1 slots 1 [#pipe.action<E chunk 0 microbatch 0 slot 0>]
xf.step microbatches(2) forward(@forward) backward(@backward) update(@backward) evaluate(@forward)
