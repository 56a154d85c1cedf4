// What each rule of the level's end refuses, made from a placed step.
// RUN: hocket-opt %s --xf-set-plan=plan=dp=2,zero=1 --hocket-to-dist > %t.mlir
// RUN: hocket-opt %t.mlir --verify-dist
// RUN: hocket-opt %t.mlir --xf-set-plan=plan=dp=4,zero=1 -o %t.four.mlir
// RUN: not hocket-opt %t.four.mlir --verify-dist 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: echo 'module {}' | not hocket-opt --verify-dist 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: sed 's/\(xf.variable @w : tensor<.*{\)dist.sharding = #dist.sharding<[^>]*>, /\1/' %t.mlir | not hocket-opt --verify-dist 2>&1 | FileCheck %s --check-prefix=SHARDING
// RUN: sed 's/\(xf.variable @w : tensor<.*\)\[\["dp"\], \[\]\]/\1[[], []]/' %t.mlir | not hocket-opt --verify-dist 2>&1 | FileCheck %s --check-prefix=LOCAL
// RUN: sed 's/func.func @update() {/&\n  %x = math.sqrt %y : f32/; s/func.func @update() {/&\n  %y = arith.constant 1.0 : f32/' %t.mlir | not hocket-opt --verify-dist 2>&1 | FileCheck %s --check-prefix=LEVEL
// RUN: sed 's/dist.mesh @mesh \["dp"\]/dist.mesh @mesh ["pp"]/; s/"dp"/"pp"/g' %t.mlir | hocket-opt --xf-set-plan=plan=pp=2 -o %t.pp.mlir
// RUN: not hocket-opt %t.pp.mlir --verify-dist 2>&1 | FileCheck %s --check-prefix=STAGES
// RUN: hocket-opt %t.mlir --xf-set-plan=plan=dp=2,zero=1,mbs=2 -o %t.more.mlir
// RUN: not hocket-opt %t.more.mlir --verify-dist 2>&1 | FileCheck %s --check-prefix=BATCH

// BATCH: D27: a microbatch has 2 sequences, but the plan's 2 data ranks compute 2 each
// MESH: 'dist.mesh' op D20: is not the mesh of the module's plan, dp=4
// NONE: D20: tensors are placed on one `dist.mesh`, not on 0
// SHARDING: D22: has no sharding
// LOCAL: D22: is 'tensor<8x8xf32>', but its sharding leaves 'tensor<16x8xf32>' on a device
// LEVEL: 'math.sqrt' op D23: cannot stand in a function here
// STAGES: D24: is over the axis of the pipeline, whose ranks run other programs

xf.training {global_batch_size = 4 : i64, micro_batch_size = 2 : i64, model_name = "tiny", optimizer = #xf.adamw<beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = 0.1>, precision = #xf.precision<bf16>, runtime = {}, sequence_length = 4 : i64}
xf.variable @table : tensor<16x8xf32> {kind = #xf.variable_kind<parameter>}
xf.variable @w : tensor<16x8xf32> {kind = #xf.variable_kind<parameter>}
func.func @forward(%tokens: tensor<2x4xi32>, %labels: tensor<2x4xi32>) -> tensor<f32> {
  %t = xf.read @table : tensor<16x8xf32>
  %w = xf.read @w : tensor<16x8xf32>
  %x = xf.embedding %tokens, %t : (tensor<2x4xi32>, tensor<16x8xf32>) -> tensor<2x4x8xf32>
  %y = xf.linear %x, %w : (tensor<2x4x8xf32>, tensor<16x8xf32>) -> tensor<2x4x16xf32>
  %loss, %lse = xf.cross_entropy %y, %labels {valid_vocab = 16 : i64} : (tensor<2x4x16xf32>, tensor<2x4xi32>) -> (tensor<f32>, tensor<2x4xf32>)
  return %loss : tensor<f32>
}
