// RUN: hocket-opt %S/Inputs/step.mlir --xf-set-plan=plan=pp=2 --pipe-split-stages --pipe-write-schedule | FileCheck %s
// RUN: hocket-opt %S/Inputs/step.mlir --xf-set-plan=plan=pp=2,schedule=zb-h1 --pipe-split-stages --pipe-split-weight-gradient --pipe-write-schedule | FileCheck %s --check-prefix=SPLIT
// RUN: sed 's/runtime = {}/batch_sizes = [#xf.batch_size<2 from 0>, #xf.batch_size<8 from 10>], &/' %S/Inputs/step.mlir | hocket-opt --xf-set-plan=plan=pp=2 --pipe-split-stages --pipe-write-schedule --verify-pipe | FileCheck %s --check-prefix=GROWS
// RUN: not hocket-opt %S/Inputs/step.mlir --xf-set-plan=plan=pp=2,schedule=dvorak --pipe-split-stages --pipe-write-schedule 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not hocket-opt %S/Inputs/step.mlir --xf-set-plan=plan=pp=2,schedule=no-such.file --pipe-split-stages 2>&1 | FileCheck %s --check-prefix=FILE

// Two microbatches are in flight on rank 0, one on rank 1.

// CHECK: pipe.schedule "train_step" rank 0 microbatches 4 slots 2
// CHECK-SAME: [#pipe.action<F chunk 0 microbatch 0 slot 0>, #pipe.action<F chunk 0 microbatch 1 slot 1>, #pipe.action<B chunk 0 microbatch 0 slot 0>, #pipe.action<F chunk 0 microbatch 2 slot 0>
// CHECK-SAME: #pipe.action<B chunk 0 microbatch 3 slot 1>, #pipe.action<U chunk 0 microbatch 0 slot 0>]
// CHECK: pipe.schedule "eval_step" rank 0 microbatches 1 slots 1 [#pipe.action<E chunk 0 microbatch 0 slot 0>]
// CHECK: pipe.schedule "train_step" rank 1 microbatches 4 slots 1
// CHECK-SAME: [#pipe.action<F chunk 0 microbatch 0 slot 0>, #pipe.action<B chunk 0 microbatch 0 slot 0>, #pipe.action<F chunk 0 microbatch 1 slot 0>

// What W still needs stays: rank 1 has two copies.

// SPLIT: pipe.schedule "train_step" rank 1 microbatches 4 slots 2
// SPLIT-SAME: #pipe.action<B chunk 0 microbatch 1 slot 1>, #pipe.action<W chunk 0 microbatch 0 slot 0>

// A step for each size of a batch that grows.

// GROWS: pipe.schedule "train_step" rank 0 microbatches 4 slots 2
// GROWS: pipe.schedule "train_step.1" rank 0 microbatches 1 slots 1 [#pipe.action<F chunk 0 microbatch 0 slot 0>, #pipe.action<B chunk 0 microbatch 0 slot 0>, #pipe.action<U chunk 0 microbatch 0 slot 0>]
// GROWS: pipe.schedule "eval_step" rank 0
// GROWS: pipe.schedule "train_step" rank 1 microbatches 4 slots 1
// GROWS: pipe.schedule "train_step.1" rank 1 microbatches 1 slots 1

// NAME: Q10
// FILE: no-such.file
