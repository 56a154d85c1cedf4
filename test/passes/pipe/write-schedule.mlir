// RUN: sed 's/PLAN/pipeline_parallel = 2 : i64, schedule = "1f1b"/' %S/Inputs/step.mlir | hocket-opt --pipe-split-stages --pipe-write-schedule | FileCheck %s
// RUN: sed 's/PLAN/pipeline_parallel = 2 : i64, schedule = "zb-h1"/' %S/Inputs/step.mlir | hocket-opt --pipe-split-stages --pipe-split-weight-gradient --pipe-write-schedule | FileCheck %s --check-prefix=SPLIT
// RUN: sed 's/PLAN/pipeline_parallel = 2 : i64, schedule = "dvorak"/' %S/Inputs/step.mlir | not hocket-opt --pipe-split-stages --pipe-write-schedule 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: sed 's/PLAN/pipeline_parallel = 2 : i64, schedule = "no-such.file"/' %S/Inputs/step.mlir | not hocket-opt --pipe-split-stages 2>&1 | FileCheck %s --check-prefix=FILE

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

// NAME: Q10
// FILE: no-such.file
