// RUN: hocket-opt %s --xf-quantize | FileCheck %s
// RUN: hocket-opt %s --xf-quantize --xf-build-evaluate --xf-autodiff --xf-build-step | FileCheck %s --check-prefix=STEP
// RUN: sed -e 's/, fp8 = #xf.fp8_recipe<tensorwise>,/,/' %s | hocket-opt --xf-quantize | FileCheck %s --check-prefix=PLAIN
// RUN: sed -e 's/precision<bf16>/precision<fp32>/' %s | not hocket-opt --xf-quantize 2>&1 | FileCheck %s --check-prefix=WIDE

// The linear ops of layers multiply 8 bits, what is read twice is quantized
// once, and working copies that nothing else reads take 8 bits themselves; the
// router and the head stay.

// PLAIN-NOT: f8
// WIDE: fp8 goes with precision bf16 only
xf.training {clip_norm = 0.0, fp8 = #xf.fp8_recipe<tensorwise>, global_batch_size = 1 : i64, micro_batch_size = 1 : i64, model_name = "tiny", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<bf16>, runtime = {}, sequence_length = 4 : i64}

xf.variable @table : tensor<16x8xf32> {kind = #xf.variable_kind<parameter>}
// CHECK: xf.variable @table.working : tensor<16x8xbf16>
xf.variable @table.working : tensor<16x8xbf16> {kind = #xf.variable_kind<working>, of = @table}
xf.variable @up : tensor<12x8xf32> {kind = #xf.variable_kind<parameter>}
// CHECK: xf.variable @up.working : tensor<12x8xf8E4M3FN> {kind = #xf.variable_kind<working>, of = @up}
// CHECK-NEXT: xf.variable @up.working.scale : tensor<f32> {kind = #xf.variable_kind<working>, of = @up}
xf.variable @up.working : tensor<12x8xbf16> {kind = #xf.variable_kind<working>, of = @up}
xf.variable @gate : tensor<12x8xf32> {kind = #xf.variable_kind<parameter>}
xf.variable @gate.working : tensor<12x8xbf16> {kind = #xf.variable_kind<working>, of = @gate}
// What something else reads too is quantized where it is multiplied.
// CHECK: xf.variable @mixed.working : tensor<8x12xbf16>
// CHECK-NOT: @mixed.working.scale
xf.variable @mixed : tensor<8x12xf32> {kind = #xf.variable_kind<parameter>}
xf.variable @mixed.working : tensor<8x12xbf16> {kind = #xf.variable_kind<working>, of = @mixed}
xf.variable @route : tensor<3x8xf32> {kind = #xf.variable_kind<parameter>}
xf.variable @route.working : tensor<3x8xbf16> {kind = #xf.variable_kind<working>, of = @route}

// CHECK-LABEL: func.func private @layer(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<1x4x8xbf16> {xf.stream}, %[[U:[a-z0-9]+]]: tensor<12x8xf8E4M3FN>, %[[G:[a-z0-9]+]]: tensor<12x8xf8E4M3FN>, %[[M:[a-z0-9]+]]: tensor<8x12xbf16>, %[[R:[a-z0-9]+]]: tensor<3x8xbf16>, %[[US:[a-z0-9]+]]: tensor<f32>, %[[GS:[a-z0-9]+]]: tensor<f32>) -> (tensor<1x4x8xbf16>, tensor<8x12xbf16>)
// CHECK: %[[A:.*]] = xf.amax %[[X]] : (tensor<1x4x8xbf16>) -> tensor<f32>
// CHECK: %[[S:.*]] = xf.quantize_scale %[[A]] {format = f8E4M3FN}
// CHECK: %[[Q:.*]] = xf.quantize %[[X]], %[[S]] : (tensor<1x4x8xbf16>, tensor<f32>) -> tensor<1x4x8xf8E4M3FN>
// CHECK: xf.linear %[[Q]], %[[U]] scales(%[[S]], %[[US]]) : {{.*}} -> tensor<1x4x12xbf16>
// CHECK-NOT: xf.quantize
// CHECK: xf.linear %[[Q]], %[[G]] scales(%[[S]], %[[GS]])
// CHECK: xf.linear %[[X]], %[[R]] : {{.*}} -> tensor<1x4x3xf32>
// CHECK: xf.quantize %{{.*}} -> tensor<1x4x12xf8E4M3FN>
// CHECK: %[[MQ:.*]] = xf.quantize %[[M]], %{{.*}} -> tensor<8x12xf8E4M3FN>
// CHECK: xf.linear %{{.*}}, %[[MQ]] scales(

// Backward gets the codes, not what they were made of, and quantizes the
// gradient of each GEMM once.
// STEP-LABEL: func.func private @layer_forward(
// STEP: return %{{.*}}, %{{.*}}, %{{.*}} : tensor<1x4x8xbf16>, tensor<8x12xbf16>
// STEP-LABEL: func.func private @layer_backward(
// STEP: %[[DA:.*]] = xf.amax %[[DY:.*]] : (tensor<1x4x8xbf16>) -> tensor<f32>
// STEP: %[[DS:.*]] = xf.quantize_scale %[[DA]] {format = f8E5M2}
// STEP: %[[DQ:.*]] = xf.quantize %[[DY]], %[[DS]] : (tensor<1x4x8xbf16>, tensor<f32>) -> tensor<1x4x8xf8E5M2>
// STEP: xf.linear_input_gradient %[[DQ]], %{{.*}}, %[[DS]], %{{.*}} -> tensor<1x4x12xbf16>
// STEP: xf.linear_weight_gradient %[[DQ]], %{{.*}}, %[[DS]], %{{.*}} : (tensor<1x4x8xf8E5M2>, tensor<1x4x12xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<8x12xf32>

// The update makes the copy of 8 bits of the master, and so does what prepares.
// STEP-LABEL: func.func @update(
// STEP: %[[UA:.*]] = xf.amax %[[NEW:.*]] : (tensor<12x8xf32>) -> tensor<f32>
// STEP: %[[NS:.*]] = xf.quantize_scale %[[UA]] {format = f8E4M3FN}
// STEP: xf.write %[[NS]], @up.working.scale : tensor<f32>
// STEP: %[[NQ:.*]] = xf.quantize %[[NEW]], %[[NS]] : (tensor<12x8xf32>, tensor<f32>) -> tensor<12x8xf8E4M3FN>
// STEP: xf.write %[[NQ]], @up.working : tensor<12x8xf8E4M3FN>
// STEP-LABEL: func.func @prepare(
// STEP: xf.write %{{.*}}, @up.working.scale
func.func private @layer(%x: tensor<1x4x8xbf16> {xf.stream}, %u: tensor<12x8xbf16>, %g: tensor<12x8xbf16>, %m: tensor<8x12xbf16>, %r: tensor<3x8xbf16>) -> (tensor<1x4x8xbf16>, tensor<8x12xbf16>) {
  %up = xf.linear %x, %u : (tensor<1x4x8xbf16>, tensor<12x8xbf16>) -> tensor<1x4x12xbf16>
  %gate = xf.linear %x, %g : (tensor<1x4x8xbf16>, tensor<12x8xbf16>) -> tensor<1x4x12xbf16>
  %l = xf.linear %x, %r : (tensor<1x4x8xbf16>, tensor<3x8xbf16>) -> tensor<1x4x3xf32>
  %v, %e = xf.router %l {scale = 1.0, scores = #xf.router_scores<softmax>, top_k = 1 : i64} : (tensor<1x4x3xf32>) -> (tensor<1x4x1xf32>, tensor<1x4x1xi32>)
  %h = xf.gated %gate, %up {kind = #xf.activation_kind<silu>} : (tensor<1x4x12xbf16>, tensor<1x4x12xbf16>) -> tensor<1x4x12xbf16>
  %y = xf.linear %h, %m : (tensor<1x4x12xbf16>, tensor<8x12xbf16>) -> tensor<1x4x8xbf16>
  return %y, %m : tensor<1x4x8xbf16>, tensor<8x12xbf16>
}

// CHECK-LABEL: func.func @forward(
// CHECK: %[[W:.*]] = xf.read @up.working : tensor<12x8xf8E4M3FN>
// CHECK: %[[WS:.*]] = xf.read @up.working.scale : tensor<f32>
// CHECK: call @layer(%{{.*}}, %[[W]], %{{.*}}, %{{.*}}, %{{.*}}, %[[WS]], %{{.*}})
// CHECK: xf.linear {{.*}} : (tensor<1x4x8xbf16>, tensor<16x8xbf16>) -> tensor<1x4x16xbf16>
func.func @forward(%tokens: tensor<1x4xi32>, %labels: tensor<1x4xi32>) -> tensor<f32> {
  %w = xf.read @table.working : tensor<16x8xbf16>
  %u = xf.read @up.working : tensor<12x8xbf16>
  %g = xf.read @gate.working : tensor<12x8xbf16>
  %m = xf.read @mixed.working : tensor<8x12xbf16>
  %r = xf.read @route.working : tensor<3x8xbf16>
  %x = xf.embedding %tokens, %w : (tensor<1x4xi32>, tensor<16x8xbf16>) -> tensor<1x4x8xbf16>
  %y, %z = func.call @layer(%x, %u, %g, %m, %r) : (tensor<1x4x8xbf16>, tensor<12x8xbf16>, tensor<12x8xbf16>, tensor<8x12xbf16>, tensor<3x8xbf16>) -> (tensor<1x4x8xbf16>, tensor<8x12xbf16>)
  %logits = xf.linear %y, %w : (tensor<1x4x8xbf16>, tensor<16x8xbf16>) -> tensor<1x4x16xbf16>
  %loss, %lse = xf.cross_entropy %logits, %labels {valid_vocab = 16 : i64} : (tensor<1x4x16xbf16>, tensor<1x4xi32>) -> (tensor<f32>, tensor<1x4xf32>)
  return %loss : tensor<f32>
}
