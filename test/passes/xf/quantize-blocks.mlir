// RUN: hocket-opt %s --xf-quantize | FileCheck %s
// RUN: hocket-opt %s --xf-quantize --xf-build-evaluate --xf-autodiff --xf-build-step | FileCheck %s --check-prefix=STEP
// RUN: sed -e 's/blockwise/mxfp8/' %s | hocket-opt --xf-quantize --xf-build-evaluate --xf-autodiff --xf-build-step | FileCheck %s --check-prefix=MX

// The linear ops of layers multiply what blocks of codes stand for; working
// copies stay as they are.
xf.training {clip_norm = 0.0, fp8 = #xf.fp8_recipe<blockwise>, global_batch_size = 2 : i64, micro_batch_size = 2 : i64, model_name = "tiny", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<bf16>, runtime = {}, sequence_length = 160 : i64}

xf.variable @table : tensor<16x256xf32> {kind = #xf.variable_kind<parameter>}
xf.variable @table.working : tensor<16x256xbf16> {kind = #xf.variable_kind<working>, of = @table}
xf.variable @up : tensor<384x256xf32> {kind = #xf.variable_kind<parameter>}
// CHECK: xf.variable @up.working : tensor<384x256xbf16>
xf.variable @up.working : tensor<384x256xbf16> {kind = #xf.variable_kind<working>, of = @up}

// CHECK-LABEL: func.func private @layer(
// CHECK: %[[XQ:.*]], %[[XS:.*]] = xf.quantize_blocks %{{.*}} {blocks = array<i64: 1, 1, 128>} : (tensor<2x160x256xbf16>) -> (tensor<2x160x256xf8E4M3FN>, tensor<2x160x2xf32>)
// CHECK: %[[X:.*]] = xf.dequantize_blocks %[[XQ]], %[[XS]] {blocks = array<i64: 1, 1, 128>}
// CHECK: %[[WQ:.*]], %[[WS:.*]] = xf.quantize_blocks %{{.*}} {blocks = array<i64: 128, 128>} : (tensor<384x256xbf16>) -> (tensor<384x256xf8E4M3FN>, tensor<3x2xf32>)
// CHECK: %[[W:.*]] = xf.dequantize_blocks %[[WQ]], %[[WS]]
// CHECK: xf.linear %[[X]], %[[W]] {fp8 = #xf.fp8_recipe<blockwise>} : (tensor<2x160x256xbf16>, tensor<384x256xbf16>) -> tensor<2x160x384xbf16>

// Forward makes codes along the tokens of each sequence, which is what backward
// keeps of the input.
// STEP-LABEL: func.func private @layer_forward(
// STEP: %[[KQ:.*]], %[[KS:.*]] = xf.quantize_blocks %[[N:.*]] {blocks = array<i64: 1, 128, 1>} : (tensor<2x160x256xbf16>) -> (tensor<2x160x256xf8E4M3FN>, tensor<2x2x256xf32>)
// STEP: return %{{.*}}, %[[KQ]], %[[KS]]
// STEP-LABEL: func.func private @layer_backward(
// STEP-SAME: tensor<2x160x256xf8E4M3FN>, %{{[a-z0-9]+}}: tensor<2x2x256xf32>
// STEP: xf.quantize_blocks %[[DY:.*]] {blocks = array<i64: 1, 1, 128>} : (tensor<2x160x384xbf16>) -> (tensor<2x160x384xf8E5M2>, tensor<2x160x3xf32>)
// STEP: xf.quantize_blocks %[[DY]] {blocks = array<i64: 1, 128, 1>} : (tensor<2x160x384xbf16>) -> (tensor<2x160x384xf8E5M2>, tensor<2x2x384xf32>)
// STEP: xf.linear_input_gradient %{{.*}}, %{{.*}} : (tensor<2x160x384xbf16>, tensor<384x256xbf16>) -> tensor<2x160x256xbf16>
// STEP: xf.linear_weight_gradient %{{.*}}, %{{.*}} : (tensor<2x160x384xbf16>, tensor<2x160x256xbf16>) -> tensor<384x256xf32>

// Blocks of 32 lie along what a GEMM sums over, of weights too.
// MX-LABEL: func.func private @layer_forward(
// MX-DAG: xf.quantize_blocks %{{.*}} {blocks = array<i64: 1, 32>} : (tensor<384x256xbf16>) -> (tensor<384x256xf8E4M3FN>, tensor<384x8xf32>)
// MX-DAG: xf.quantize_blocks %{{.*}} {blocks = array<i64: 1, 1, 32>}
// MX-DAG: xf.quantize_blocks %{{.*}} {blocks = array<i64: 1, 32, 1>} : (tensor<2x160x256xbf16>) -> (tensor<2x160x256xf8E4M3FN>, tensor<2x5x256xf32>)
// MX-LABEL: func.func private @layer_backward(
// MX-DAG: xf.quantize_blocks %{{.*}} {blocks = array<i64: 32, 1>} : (tensor<384x256xbf16>) -> (tensor<384x256xf8E4M3FN>, tensor<12x256xf32>)
// MX-DAG: xf.quantize_blocks %{{.*}} {blocks = array<i64: 1, 1, 32>} : (tensor<2x160x384xbf16>) -> (tensor<2x160x384xf8E5M2>
// MX-DAG: xf.quantize_blocks %{{.*}} {blocks = array<i64: 1, 32, 1>} : (tensor<2x160x384xbf16>) -> (tensor<2x160x384xf8E5M2>
func.func private @layer(%x: tensor<2x160x256xbf16>, %u: tensor<384x256xbf16>) -> tensor<2x160x384xbf16> {
  %a = xf.activation %x {kind = #xf.activation_kind<relu>} : (tensor<2x160x256xbf16>) -> tensor<2x160x256xbf16>
  %y = xf.linear %a, %u : (tensor<2x160x256xbf16>, tensor<384x256xbf16>) -> tensor<2x160x384xbf16>
  return %y : tensor<2x160x384xbf16>
}

func.func @forward(%tokens: tensor<2x160xi32>, %labels: tensor<2x160xi32>) -> tensor<f32> {
  %w = xf.read @table.working : tensor<16x256xbf16>
  %u = xf.read @up.working : tensor<384x256xbf16>
  %x = xf.embedding %tokens, %w : (tensor<2x160xi32>, tensor<16x256xbf16>) -> tensor<2x160x256xbf16>
  %y = func.call @layer(%x, %u) : (tensor<2x160x256xbf16>, tensor<384x256xbf16>) -> tensor<2x160x384xbf16>
  %loss, %lse = xf.cross_entropy %y, %labels {valid_vocab = 384 : i64} : (tensor<2x160x384xbf16>, tensor<2x160xi32>) -> (tensor<f32>, tensor<2x160xf32>)
  return %loss : tensor<f32>
}
