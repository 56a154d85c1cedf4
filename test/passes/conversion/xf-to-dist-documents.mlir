// RUN: split-file %s %t
// RUN: cat %t/layer | hocket-opt --xf-set-plan=plan=cp=2 --convert-xf-to-dist | FileCheck %s
// RUN: cat %t/layer | hocket-opt --xf-set-plan=plan=cp=4 --convert-xf-to-dist | FileCheck %s --check-prefix=FOUR
// RUN: cat %t/layer | hocket-opt --xf-set-plan=plan=cp=2 --convert-xf-to-dist=least-part=64 | FileCheck %s --check-prefix=FINER
// RUN: cat %t/layer | hocket-opt --xf-set-plan=plan=cp=2,context=alltoall --convert-xf-to-dist | FileCheck %s --check-prefix=HEADS
// RUN: sed 's/ positions .p / /;s/, tensor<2x1024xi32>) -> /) -> /' %t/layer | hocket-opt --xf-set-plan=plan=cp=2 --convert-xf-to-dist | FileCheck %s --check-prefix=TEXT
// RUN: sed 's/causal, //' %t/layer | hocket-opt --xf-set-plan=plan=cp=2 --convert-xf-to-dist | FileCheck %s --check-prefix=TEXT
// RUN: not hocket-opt --convert-xf-to-dist=least-part=0 %t/layer 2>&1 | FileCheck %s --check-prefix=NONE

// NONE: error: least-part is 0, of positions; write 1 or more

// Where documents share sequences of 1024, parts are as short as kernels' tiles:
// two ranks take two of 128 in each of two rounds.

// CHECK: dist.mesh @mesh {{.*}}context all_gather parts 128 rounds 2
// CHECK: xf.rope_table {{.*}}part = 128 : i64, rounds = 2 : i64}
// CHECK: xf.positions {part = 128 : i64, rounds = 2 : i64}
// CHECK: xf.attention {{.*}}part = 128 : i64, rounds = 2 : i64
// Of four ranks each has no more than two parts of that.
// FOUR: dist.mesh @mesh {{.*}}context all_gather parts 128{{$}}
// FOUR-NOT: rounds
// FINER: dist.mesh @mesh {{.*}}parts 64 rounds 4
// FINER: xf.attention {{.*}}part = 64 : i64, rounds = 4 : i64
// All positions of some heads are as much as of others.
// HEADS: dist.mesh @mesh {{.*}}context all_to_all{{$}}
// HEADS-NOT: {{ part|rounds}}
// One text, and padding behind it, are even in one round.
// TEXT: dist.mesh @mesh {{.*}}context all_gather parts 256{{$}}
// TEXT-NOT: rounds

//--- layer
xf.training {clip_norm = 1.0, global_batch_size = 2 : i64, micro_batch_size = 2 : i64, model_name = "tiny", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<fp32>, runtime = {}, sequence_length = 1024 : i64}
func.func @layer(%x: tensor<2x1024x2x4xf32>, %p: tensor<2x1024xi32>) -> (tensor<2x1024x2x4xf32>, tensor<1024xi32>) {
  %t = xf.rope_table {inverse_frequencies = array<f64: 1.0, 0.1>} : () -> tensor<1024x2x2xf32>
  %r = xf.rope %x, %t : (tensor<2x1024x2x4xf32>, tensor<1024x2x2xf32>) -> tensor<2x1024x2x4xf32>
  %i = xf.positions : () -> tensor<1024xi32>
  %y, %lse = xf.attention %r, %r, %x positions %p {causal, scale = 0.5} : (tensor<2x1024x2x4xf32>, tensor<2x1024x2x4xf32>, tensor<2x1024x2x4xf32>, tensor<2x1024xi32>) -> (tensor<2x1024x2x4xf32>, tensor<2x2x1024xf32>)
  return %y, %i : tensor<2x1024x2x4xf32>, tensor<1024xi32>
}
