// RUN: hocket-opt %s --xf-precision --xf-narrow-frozen | FileCheck %s

// CHECK: xf.variable @table : tensor<16x8xbf16> {frozen
// CHECK-NOT: @table.working
// CHECK: xf.variable @norm : tensor<8xf32> {frozen
// CHECK: xf.variable @head : tensor<16x8xf32>
// CHECK: xf.variable @head.working : tensor<16x8xbf16>
// CHECK: xf.read @table : tensor<16x8xbf16>

xf.training {global_batch_size = 2 : i64, micro_batch_size = 1 : i64, model_name = "tiny", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<bf16>, runtime = {}, sequence_length = 4 : i64}
xf.variable @table : tensor<16x8xf32> {frozen, kind = #xf.variable_kind<parameter>}
xf.variable @norm : tensor<8xf32> {frozen, kind = #xf.variable_kind<parameter>}
xf.variable @head : tensor<16x8xf32> {kind = #xf.variable_kind<parameter>}
func.func @forward(%tokens: tensor<1x4xi32>, %labels: tensor<1x4xi32>) -> tensor<f32> {
  %t = xf.read @table : tensor<16x8xf32>
  %n = xf.read @norm : tensor<8xf32>
  %w = xf.read @head : tensor<16x8xf32>
  %x = xf.embedding %tokens, %t : (tensor<1x4xi32>, tensor<16x8xf32>) -> tensor<1x4x8xf32>
  %m = xf.norm %x, %n {epsilon = 1.0e-5, kind = #xf.norm_kind<rms>} : (tensor<1x4x8xf32>, tensor<8xf32>) -> tensor<1x4x8xf32>
  %y = xf.linear %m, %w : (tensor<1x4x8xf32>, tensor<16x8xf32>) -> tensor<1x4x16xf32>
  %loss, %lse = xf.cross_entropy %y, %labels {valid_vocab = 16 : i64} : (tensor<1x4x16xf32>, tensor<1x4xi32>) -> (tensor<f32>, tensor<1x4xf32>)
  return %loss : tensor<f32>
}
