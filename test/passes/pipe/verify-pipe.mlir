// What each rule of the level's end refuses, made from a pipeline of two ranks.
// RUN: hocket-opt %S/Inputs/step.mlir --xf-set-plan=plan=pp=2 --pipe-split-stages --pipe-write-schedule > %t.mlir
// RUN: hocket-opt %t.mlir --verify-pipe
// RUN: not hocket-opt %S/../xf/verify-xf.mlir --hocket-to-xf --verify-pipe 2>&1 | FileCheck %s --check-prefix=STEP
// RUN: sed 's/pipe.fragment *F @forward_1(.*/&\n&/' %t.mlir | not hocket-opt --verify-pipe 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: sed '/F @forward_0/s/rank 1 tag 0/rank 1 tag 9/' %t.mlir | not hocket-opt --verify-pipe 2>&1 | FileCheck %s --check-prefix=TAG
// RUN: sed '/F @forward_1/s/rank 0 tag 0/F argument 0/' %t.mlir | not hocket-opt --verify-pipe 2>&1 | FileCheck %s --check-prefix=DEAF
// RUN: sed '/B @backward_0/s/F result 1/F result 90/' %t.mlir | not hocket-opt --verify-pipe 2>&1 | FileCheck %s --check-prefix=SAVED
// RUN: sed '/B @backward_0/s/F result 1/F argument 3/' %t.mlir | not hocket-opt --verify-pipe 2>&1 | FileCheck %s --check-prefix=TAKEN
// RUN: sed 's/#pipe.action<F chunk 0 microbatch 1 slot 0>/#pipe.action<F chunk 0 microbatch 0 slot 0>/' %t.mlir | not hocket-opt --verify-pipe 2>&1 | FileCheck %s --check-prefix=AGAIN
// RUN: sed 's/#pipe.action<F chunk 0 microbatch 1 slot 0>/#pipe.action<F chunk 1 microbatch 1 slot 0>/' %t.mlir | not hocket-opt --verify-pipe 2>&1 | FileCheck %s --check-prefix=CHUNK
// RUN: sed '/pipe.schedule "train_step" rank 1/{p;s/train_step/train_step.4/;s/, #pipe.action<U.*>\]/]/}' %t.mlir | not hocket-opt --verify-pipe 2>&1 | FileCheck %s --check-prefix=PARTLY
// RUN: sed 's/pipe.schedule "eval_step" rank 1.*/&\n&/' %t.mlir | not hocket-opt --verify-pipe 2>&1 | FileCheck %s --check-prefix=TWO

// STEP: 'xf.step' op P10: is left from an earlier level
// TWICE: P10: rank 1 has another fragment F of chunk 0
// TAG: P11: sends 'tensor<{{.*}}>' with the tag 9 from rank 0 to rank 1, which that end knows nothing of
// DEAF: P11: sends 'tensor<{{.*}}>' with the tag 0 from rank 0 to rank 1, which that end knows nothing of
// SAVED: P12: takes #step.saved<F result 90> as argument {{[0-9]+}}, which no fragment of its stage has
// TAKEN: P12: takes #step.saved<F argument 3> as argument {{[0-9]+}}, which no fragment of its stage has
// AGAIN: P13: runs 4 times, of 3 microbatches, and should for each of 4
// PARTLY: P13: is part of 1 schedules, and should be of 2
// TWO: P13: is part of 2 schedules, and should be of 1
// CHUNK: P13: runs #pipe.action<F chunk 1 microbatch 1 slot 0>, of which rank 1 has no fragment
