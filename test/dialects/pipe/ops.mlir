// RUN: hocket-opt %s | hocket-opt | FileCheck %s

func.func @forward() {
  return
}
// CHECK: pipe.fragment F @forward stage 0 chunk 1
pipe.fragment F @forward stage 0 chunk 1
// CHECK: pipe.schedule "train_step" rank 0 microbatches 2 slots 2 [#pipe.action<F chunk 1 microbatch 1 slot 1>]
pipe.schedule "train_step" rank 0 microbatches 2 slots 2 [
  #pipe.action<F chunk 1 microbatch 1 slot 1>]
