// RUN: hocket-opt %s --xf-set-plan="plan=dp=2,mbs=3" --xf-size-microbatch | FileCheck %s
// RUN: hocket-opt %s --xf-set-plan="plan=dp=2,tp=2,mbs=3,ep=2" --xf-size-microbatch | FileCheck %s --check-prefix=SHARED
// RUN: sed '/^func.func @decode/,$d' %s | hocket-opt --xf-set-plan="plan=cp=2,dp=2,mbs=3" --xf-size-microbatch | FileCheck %s --check-prefix=SPLIT
// What is trained keeps the size that it has, and without a plan nothing is
// sized.
// RUN: sed '/^func.func @decode/,$d' %s | hocket-opt --xf-set-plan="plan=dp=2,mbs=3,ep=2" --xf-size-microbatch -o %t.mlir
// RUN: hocket-opt %t.mlir --xf-size-microbatch | diff - %t.mlir
// RUN: hocket-opt %s --xf-size-microbatch | FileCheck %s --check-prefix=PLAIN

// PLAIN: micro_batch_size = 1
// PLAIN: func.func @forward(%{{.*}}: tensor<1x4xi32>

// Two data ranks compute three sequences each: 12 are two microbatches.
// CHECK: micro_batch_size = 6
xf.training {global_batch_size = 12 : i64, micro_batch_size = 1 : i64, model_name = "tiny", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<fp32>, runtime = {}, sequence_length = 4 : i64}
xf.variable @table : tensor<16x8xf32> {kind = #xf.variable_kind<parameter>}
xf.variable @experts : tensor<4x8x8xf32> {kind = #xf.variable_kind<parameter>}
// Pages of one text for each of two data ranks.
// CHECK: xf.variable @keys : tensor<4x64x2x4xf32>
xf.variable @keys : tensor<2x64x2x4xf32> {kind = #xf.variable_kind<cache>}
xf.variable @values : tensor<2x64x2x4xf32> {kind = #xf.variable_kind<cache>}

// Sequences that are a dim of their own, and slowest in one with positions.
// CHECK-LABEL: func.func private @layer(%{{.*}}: tensor<6x4x8xf32>) -> tensor<6x4x8xf32>
// CHECK: xf.reshape %{{.*}} : (tensor<6x4x8xf32>) -> tensor<24x8xf32>
// CHECK: xf.reshape %{{.*}} : (tensor<24x8xf32>) -> tensor<6x4x2x4xf32>
// CHECK: (tensor<6x4x2x4xf32>, tensor<6x2x4xf32>)
func.func private @layer(%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %r = xf.reshape %x : (tensor<1x4x8xf32>) -> tensor<4x8xf32>
  %q = xf.reshape %r : (tensor<4x8xf32>) -> tensor<1x4x2x4xf32>
  %a, %l = xf.attention %q, %q, %q {causal, scale = 0.5} : (tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>) -> (tensor<1x4x2x4xf32>, tensor<1x2x4xf32>)
  %y = xf.reshape %a : (tensor<1x4x2x4xf32>) -> tensor<1x4x8xf32>
  return %y : tensor<1x4x8xf32>
}

// Where every rank has all experts there is a run of tokens for each data rank,
// and no exchange is left. A data rank's 3 * 4 tokens choose 2 experts each.
// CHECK-LABEL: func.func private @experts_layer(%{{.*}}: tensor<6x4x8xf32>
// CHECK: (tensor<6x4x2xi32>) -> (tensor<6x4x2xi32>, tensor<2x4x2xi32>)
// CHECK: xf.dispatch %{{.*}} -> tensor<2x24x8xf32>
// CHECK-NOT: xf.exchange_rows
// CHECK: xf.grouped_linear %{{.*}} : (tensor<2x24x8xf32>, tensor<4x8x8xf32>, tensor<2x4x2xi32>) -> tensor<2x24x8xf32>
// CHECK-NOT: xf.return_rows
// CHECK: xf.combine {{.*}} -> tensor<6x4x8xf32>

// Where two hold half of them each, a run has a multiple of its even share: 1.5
// times 24 rows.
// SHARED-LABEL: func.func private @experts_layer
// SHARED: xf.expert_order %{{.*}} -> (tensor<6x4x2xi32>, tensor<2x4x2xi32>)
// SHARED: xf.expert_segments %{{.*}} -> tensor<2x2x2x2xi32>
// SHARED: xf.exchange_rows %{{.*}} {room = 1.500000e+00 : f64, top_k = 2 : i64} : (tensor<2x24x8xf32>, tensor<2x4x2xi32>, tensor<2x2x2x2xi32>) -> tensor<2x36x8xf32>
// SHARED: xf.grouped_linear %{{.*}} {expected_rows = 24 : i64} : (tensor<2x36x8xf32>, tensor<4x8x8xf32>, tensor<2x2x2x2xi32>) -> tensor<2x36x8xf32>
// SHARED: xf.return_rows {{.*}} -> tensor<2x24x8xf32>
func.func private @experts_layer(%x: tensor<1x4x8xf32>, %c: tensor<1x4x2xi32>, %w: tensor<1x4x2xf32>, %m: tensor<4x8x8xf32>) -> tensor<1x4x8xf32> {
  %s, %r = xf.expert_order %c {experts = 4 : i64} : (tensor<1x4x2xi32>) -> (tensor<1x4x2xi32>, tensor<1x4x2xi32>)
  %d = xf.dispatch %x, %s : (tensor<1x4x8xf32>, tensor<1x4x2xi32>) -> tensor<1x8x8xf32>
  %g = xf.expert_segments %r : (tensor<1x4x2xi32>) -> tensor<1x1x4x2xi32>
  %e = xf.exchange_rows %d, %r, %g {room = 1.5, top_k = 2 : i64} : (tensor<1x8x8xf32>, tensor<1x4x2xi32>, tensor<1x1x4x2xi32>) -> tensor<1x8x8xf32>
  %y = xf.grouped_linear %e, %m, %g : (tensor<1x8x8xf32>, tensor<4x8x8xf32>, tensor<1x1x4x2xi32>) -> tensor<1x8x8xf32>
  %b = xf.return_rows %y, %r, %g {room = 1.5, top_k = 2 : i64} : (tensor<1x8x8xf32>, tensor<1x4x2xi32>, tensor<1x1x4x2xi32>) -> tensor<1x8x8xf32>
  %z = xf.combine %b, %s, %w : (tensor<1x8x8xf32>, tensor<1x4x2xi32>, tensor<1x4x2xf32>) -> tensor<1x4x8xf32>
  return %z : tensor<1x4x8xf32>
}

// Ranks that do not share sequences have the first rows of a table of positions.
// CHECK-LABEL: func.func private @positions
// CHECK: xf.prefix %{{.*}} : (tensor<16x8xf32>) -> tensor<4x8xf32>
// CHECK: xf.pad_rows %{{.*}} : (tensor<4x8xf32>) -> tensor<16x8xf32>
// CHECK-NOT: xf.positions
// SPLIT-LABEL: func.func private @positions
// SPLIT: xf.embedding %{{.*}} : (tensor<4xi32>, tensor<16x8xf32>) -> tensor<4x8xf32>
// SPLIT: xf.embedding_gradient
func.func private @positions(%t: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %p = xf.positions : () -> tensor<4xi32>
  %e = xf.embedding %p, %t : (tensor<4xi32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %g = xf.embedding_gradient %p, %e : (tensor<4xi32>, tensor<4x8xf32>) -> tensor<16x8xf32>
  return %g : tensor<16x8xf32>
}

// A constant that is a share of the microbatch's tokens, to the power of 2.
// CHECK-LABEL: func.func @forward(%{{.*}}: tensor<6x4xi32>, %{{.*}}: tensor<6x4xi32>)
// CHECK: xf.embedding %{{.*}} -> tensor<6x4x8xf32>
// CHECK: {per_sequences = 2 : i64, value = 5.000000e-01 : f64}
// CHECK: -> (tensor<f32>, tensor<6x4xf32>)
func.func @forward(%tokens: tensor<1x4xi32>, %labels: tensor<1x4xi32>) -> tensor<f32> {
  %t = xf.read @table : tensor<16x8xf32>
  %m = xf.read @experts : tensor<4x8x8xf32>
  %x = xf.embedding %tokens, %t : (tensor<1x4xi32>, tensor<16x8xf32>) -> tensor<1x4x8xf32>
  %y = call @layer(%x) : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %l = xf.constant {value = 1.0} : () -> tensor<1x4x4xf32>
  %w, %c = xf.router %l {renormalise, scale = 1.0, scores = #xf.router_scores<softmax>, top_k = 2 : i64} : (tensor<1x4x4xf32>) -> (tensor<1x4x2xf32>, tensor<1x4x2xi32>)
  %e = call @experts_layer(%y, %c, %w, %m) : (tensor<1x4x8xf32>, tensor<1x4x2xi32>, tensor<1x4x2xf32>, tensor<4x8x8xf32>) -> tensor<1x4x8xf32>
  %z = xf.linear %e, %t : (tensor<1x4x8xf32>, tensor<16x8xf32>) -> tensor<1x4x16xf32>
  %share = xf.constant {per_sequences = 2 : i64, value = 18.0} : () -> tensor<f32>
  %loss, %lse = xf.cross_entropy %z, %labels {valid_vocab = 16 : i64} : (tensor<1x4x16xf32>, tensor<1x4xi32>) -> (tensor<f32>, tensor<1x4xf32>)
  %scaled = xf.multiply %loss, %share : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %scaled : tensor<f32>
}

// Served tokens are those of all data ranks; each is alone in its row, and has a
// row with each expert where these are shared out.
// CHECK-LABEL: func.func @decode(%{{.*}}: tensor<2x1xi32>
// CHECK: tensor<2x2xi32>
// CHECK: xf.dispatch %{{.*}} -> tensor<2x2x8xf32>
// SHARED-LABEL: func.func @decode
// SHARED: xf.expert_order %{{.*}} {capacity = 1 : i64, experts = 4 : i64} : (tensor<2x1x2xi32>) -> tensor<2x1x2xi32>
// SHARED-NOT: xf.exchange_rows
// SHARED: xf.grouped_linear %{{.*}} : (tensor<4x2x1x8xf32>, tensor<4x8x8xf32>) -> tensor<4x2x1x8xf32>
// SHARED-NOT: xf.return_rows
// SHARED: xf.combine %{{.*}} -> tensor<2x1x8xf32>
func.func @decode(%tokens: tensor<1x1xi32> {xf.host = #xf.host_input<tokens>}, %labels: tensor<1x1xi32> {xf.host = #xf.host_input<labels>}, %p: tensor<1x1xi32> {xf.host = #xf.host_input<positions>}, %rows: tensor<1x1xi32> {xf.host = #xf.host_input<rows>}, %pages: tensor<1x2xi32> {xf.host = #xf.host_input<table>}) {
  %t = xf.read @table : tensor<16x8xf32>
  %m = xf.read @experts : tensor<4x8x8xf32>
  %k = xf.read @keys : tensor<2x64x2x4xf32>
  %v = xf.read @values : tensor<2x64x2x4xf32>
  %x = xf.embedding %tokens, %t : (tensor<1x1xi32>, tensor<16x8xf32>) -> tensor<1x1x8xf32>
  %q = xf.reshape %x : (tensor<1x1x8xf32>) -> tensor<1x1x2x4xf32>
  %a, %k1, %v1 = xf.cached_attention %q, %q, %q, %p, %rows, %pages, %k, %v {scale = 0.5} : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1xi32>, tensor<1x1xi32>, tensor<1x2xi32>, tensor<2x64x2x4xf32>, tensor<2x64x2x4xf32>) -> (tensor<1x1x2x4xf32>, tensor<2x64x2x4xf32>, tensor<2x64x2x4xf32>)
  xf.write %k1, @keys : tensor<2x64x2x4xf32>
  xf.write %v1, @values : tensor<2x64x2x4xf32>
  %y = xf.reshape %a : (tensor<1x1x2x4xf32>) -> tensor<1x1x8xf32>
  %l = xf.constant {value = 1.0} : () -> tensor<1x1x4xf32>
  %w, %c = xf.router %l {renormalise, scale = 1.0, scores = #xf.router_scores<softmax>, top_k = 2 : i64} : (tensor<1x1x4xf32>) -> (tensor<1x1x2xf32>, tensor<1x1x2xi32>)
  %s, %r = xf.expert_order %c {experts = 4 : i64} : (tensor<1x1x2xi32>) -> (tensor<1x1x2xi32>, tensor<1x4x2xi32>)
  %d = xf.dispatch %y, %s : (tensor<1x1x8xf32>, tensor<1x1x2xi32>) -> tensor<1x2x8xf32>
  %g = xf.expert_segments %r : (tensor<1x4x2xi32>) -> tensor<1x1x4x2xi32>
  %e = xf.exchange_rows %d, %r, %g {top_k = 2 : i64} : (tensor<1x2x8xf32>, tensor<1x4x2xi32>, tensor<1x1x4x2xi32>) -> tensor<1x2x8xf32>
  %h = xf.grouped_linear %e, %m, %g : (tensor<1x2x8xf32>, tensor<4x8x8xf32>, tensor<1x1x4x2xi32>) -> tensor<1x2x8xf32>
  %b = xf.return_rows %h, %r, %g {top_k = 2 : i64} : (tensor<1x2x8xf32>, tensor<1x4x2xi32>, tensor<1x1x4x2xi32>) -> tensor<1x2x8xf32>
  %z = xf.combine %b, %s, %w : (tensor<1x2x8xf32>, tensor<1x1x2xi32>, tensor<1x1x2xf32>) -> tensor<1x1x8xf32>
  xf.output %z, "logits" : tensor<1x1x8xf32>
  return
}
xf.serve prefill(@decode) decode(@decode)
