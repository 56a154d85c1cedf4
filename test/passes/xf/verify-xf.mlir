// What each rule of the level's end refuses, made from a whole step.
// RUN: hocket-opt %s --hocket-to-xf > %t.mlir
// RUN: hocket-opt %t.mlir --verify-xf
// RUN: sed '/xf.step/d' %t.mlir | not hocket-opt --verify-xf 2>&1 | FileCheck %s --check-prefix=WHOLE
// RUN: sed 's/func.func @update() {/&\n  %x = math.sqrt %y : f32/; s/func.func @update() {/&\n  %y = arith.constant 1.0 : f32/' %t.mlir | not hocket-opt --verify-xf 2>&1 | FileCheck %s --check-prefix=LEVEL
// RUN: sed 's/\(xf.variable @w\).grad \(.*\)/&\n\1.more \2/' %t.mlir | not hocket-opt --verify-xf 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: sed '/xf.accumulate .*@w.grad/d' %t.mlir | not hocket-opt --verify-xf 2>&1 | FileCheck %s --check-prefix=ADDED
// RUN: sed '/xf.write .*@w /d' %t.mlir | not hocket-opt --verify-xf 2>&1 | FileCheck %s --check-prefix=WRITTEN
// RUN: hocket-opt %t.mlir --xf-set-plan=plan=dp=2 --verify-xf
// RUN: not hocket-opt %t.mlir --xf-set-plan=plan=dp=2,mbs=2 --verify-xf 2>&1 | FileCheck %s --check-prefix=BATCH

// BATCH: X65: a step has 2 sequences, which the plan's 2 data ranks cannot share, 2 each at a time
// WHOLE: X61: a whole step has one `xf.training` and one `xf.step`, not 1 and 0
// LEVEL: 'math.sqrt' op X62: cannot stand in a function here
// TWICE: X63: has 2 gradients; a parameter has one
// ADDED: X64: no function of the step adds to it
// WRITTEN: X64: no function of the step writes it

xf.training {global_batch_size = 2 : i64, micro_batch_size = 1 : i64, model_name = "tiny", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<fp32>, runtime = {}, sequence_length = 4 : i64}
xf.variable @table : tensor<16x8xf32> {kind = #xf.variable_kind<parameter>}
xf.variable @w : tensor<16x8xf32> {kind = #xf.variable_kind<parameter>}
func.func @forward(%tokens: tensor<1x4xi32>, %labels: tensor<1x4xi32>) -> tensor<f32> {
  %t = xf.read @table : tensor<16x8xf32>
  %w = xf.read @w : tensor<16x8xf32>
  %x = xf.embedding %tokens, %t : (tensor<1x4xi32>, tensor<16x8xf32>) -> tensor<1x4x8xf32>
  %y = xf.linear %x, %w : (tensor<1x4x8xf32>, tensor<16x8xf32>) -> tensor<1x4x16xf32>
  %loss, %lse = xf.cross_entropy %y, %labels {valid_vocab = 16 : i64} : (tensor<1x4x16xf32>, tensor<1x4xi32>) -> (tensor<f32>, tensor<1x4xf32>)
  return %loss : tensor<f32>
}
