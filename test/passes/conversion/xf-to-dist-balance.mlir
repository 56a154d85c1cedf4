// RUN: sed 's/ROOM/8/' %s | hocket-opt --xf-set-plan=plan=cp=2 --convert-xf-to-dist | FileCheck %s
// RUN: sed 's/ROOM/7/' %s | hocket-opt --xf-set-plan=plan=cp=2 --convert-xf-to-dist | FileCheck %s --check-prefix=DROPS
// RUN: sed 's/ROOM/8/' %s | hocket-opt --xf-set-plan=plan=cp=4,ep=2 --convert-xf-to-dist | FileCheck %s --check-prefix=FOUR
// RUN: sed 's/ROOM/8/' %s | hocket-opt --xf-set-plan=plan=cp=3 --convert-xf-to-dist | FileCheck %s --check-prefix=ORDER

// Ranks that share sequences of 8 have parts of it that are as much work under a
// causal mask, if no expert drops a token by its place in the sequence: all eight
// find room, or the first seven.

// CHECK: dist.mesh @mesh {{.*}}context all_gather parts 2
// CHECK: xf.attention {{.*}}part = 2 : i64
// Nobody shares the positions of layers that see images, of as many rows.
// CHECK-NOT: {{ part}}
// DROPS: dist.mesh @mesh {{.*}}context all_gather{{$}}
// DROPS-NOT: {{ part}}
// All of an axis that is cut counts.
// FOUR: dist.mesh @mesh ["cp.0", "cp.1"] sizes [2, 2] context all_gather experts ["cp.1"] parts 1
// FOUR: xf.attention {{.*}}part = 1 : i64
// Two parts for each of three do not divide 8.
// ORDER: dist.mesh @mesh {{.*}}context all_gather{{$}}
xf.training {clip_norm = 1.0, global_batch_size = 2 : i64, micro_batch_size = 2 : i64, model_name = "tiny", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<fp32>, runtime = {}, sequence_length = 8 : i64}
func.func @layer(%x: tensor<2x8x4x4xf32>, %e: tensor<2x8x2xi32>) -> (tensor<2x8x4x4xf32>, tensor<2x8x2xi32>) {
  %y, %lse = xf.attention %x, %x, %x {causal, scale = 0.5} : (tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>) -> (tensor<2x8x4x4xf32>, tensor<2x4x8xf32>)
  %s = xf.expert_order %e {capacity = ROOM : i64, experts = 4 : i64} : (tensor<2x8x2xi32>) -> tensor<2x8x2xi32>
  return %y, %s : tensor<2x8x4x4xf32>, tensor<2x8x2xi32>
}
func.func @tower(%x: tensor<2x8x4x4xf32> {xf.stream = "sequences"}) -> (tensor<2x8x4x4xf32>, tensor<2x4x8xf32>) attributes {xf.backward = @tower_backward} {
  %y, %lse = xf.attention %x, %x, %x {scale = 0.5} : (tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>) -> (tensor<2x8x4x4xf32>, tensor<2x4x8xf32>)
  return %y, %lse : tensor<2x8x4x4xf32>, tensor<2x4x8xf32>
}
func.func @tower_backward(%x: tensor<2x8x4x4xf32>, %lse: tensor<2x4x8xf32>) -> tensor<2x8x4x4xf32> {
  %d, %k, %v = xf.attention_gradient %x, %x, %x, %x, %x, %lse {scale = 0.5} : (tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>, tensor<2x4x8xf32>) -> (tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>)
  return %d : tensor<2x8x4x4xf32>
}
