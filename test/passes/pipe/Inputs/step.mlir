xf.training {clip_norm = 1.0, global_batch_size = 8 : i64, micro_batch_size = 2 : i64, model_name = "tiny", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<fp32>, runtime = {}, sequence_length = 4 : i64}
xf.variable @table : tensor<16x8xf32> {init = #xf.init<normal, 0.02>, kind = #xf.variable_kind<parameter>, random_key = 1 : i32}
xf.variable @w0 : tensor<8x8xf32> {init = #xf.init<normal, 0.02>, kind = #xf.variable_kind<parameter>, random_key = 2 : i32}
xf.variable @w1 : tensor<8x8xf32> {init = #xf.init<normal, 0.02>, kind = #xf.variable_kind<parameter>, random_key = 3 : i32}
xf.variable @table.grad : tensor<16x8xf32> {kind = #xf.variable_kind<gradient>, of = @table}
xf.variable @w0.grad : tensor<8x8xf32> {kind = #xf.variable_kind<gradient>, of = @w0}
xf.variable @w1.grad : tensor<8x8xf32> {kind = #xf.variable_kind<gradient>, of = @w1}

func.func private @layer(%x: tensor<2x4x8xf32>, %c: tensor<f32>, %w: tensor<8x8xf32>) -> tensor<2x4x8xf32> {
  %0 = xf.multiply %x, %c : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>
  %1 = xf.linear %0, %w : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
  return %1 : tensor<2x4x8xf32>
}
func.func private @layer_backward(%x: tensor<2x4x8xf32>, %c: tensor<f32>, %w: tensor<8x8xf32>, %d: tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<8x8xf32>) {
  %0 = xf.multiply %x, %c : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>
  %dw = xf.linear_weight_gradient %d, %0 : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<8x8xf32>
  %1 = xf.linear_input_gradient %d, %w : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
  %dx = xf.multiply %1, %c : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>
  return %dx, %dw : tensor<2x4x8xf32>, tensor<8x8xf32>
}

func.func @forward(%tokens: tensor<2x4xi32>, %labels: tensor<2x4xi32>) -> (tensor<f32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x16xf32>, tensor<2x4xf32>) {
  %c = xf.constant {value = 0.5} : () -> tensor<f32>
  %table = xf.read @table : tensor<16x8xf32>
  %x0 = xf.embedding %tokens, %table : (tensor<2x4xi32>, tensor<16x8xf32>) -> tensor<2x4x8xf32>
  %w0 = xf.read @w0 : tensor<8x8xf32>
  %x1 = call @layer(%x0, %c, %w0) : (tensor<2x4x8xf32>, tensor<f32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
  %w1 = xf.read @w1 : tensor<8x8xf32>
  %x2 = call @layer(%x1, %c, %w1) : (tensor<2x4x8xf32>, tensor<f32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
  %y = xf.linear %x2, %table : (tensor<2x4x8xf32>, tensor<16x8xf32>) -> tensor<2x4x16xf32>
  %loss, %lse = xf.cross_entropy %y, %labels {valid_vocab = 16 : i64} : (tensor<2x4x16xf32>, tensor<2x4xi32>) -> (tensor<f32>, tensor<2x4xf32>)
  xf.output %loss, "loss" : tensor<f32>
  return %loss, %x0, %x1, %x2, %y, %lse : tensor<f32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x16xf32>, tensor<2x4xf32>
}
func.func @backward(%tokens: tensor<2x4xi32>, %labels: tensor<2x4xi32>, %x0: tensor<2x4x8xf32>, %x1: tensor<2x4x8xf32>, %x2: tensor<2x4x8xf32>, %y: tensor<2x4x16xf32>, %lse: tensor<2x4xf32>) {
  %one = xf.constant {value = 1.0} : () -> tensor<f32>
  %c = xf.constant {value = 0.5} : () -> tensor<f32>
  %dy = xf.cross_entropy_gradient %one, %y, %labels, %lse {valid_vocab = 16 : i64} : (tensor<f32>, tensor<2x4x16xf32>, tensor<2x4xi32>, tensor<2x4xf32>) -> tensor<2x4x16xf32>
  %table = xf.read @table : tensor<16x8xf32>
  %dt = xf.linear_weight_gradient %dy, %x2 : (tensor<2x4x16xf32>, tensor<2x4x8xf32>) -> tensor<16x8xf32>
  xf.accumulate %dt, @table.grad : tensor<16x8xf32>
  %d2 = xf.linear_input_gradient %dy, %table : (tensor<2x4x16xf32>, tensor<16x8xf32>) -> tensor<2x4x8xf32>
  %w1 = xf.read @w1 : tensor<8x8xf32>
  %d1, %dw1 = call @layer_backward(%x1, %c, %w1, %d2) : (tensor<2x4x8xf32>, tensor<f32>, tensor<8x8xf32>, tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<8x8xf32>)
  xf.accumulate %dw1, @w1.grad : tensor<8x8xf32>
  %w0 = xf.read @w0 : tensor<8x8xf32>
  %d0, %dw0 = call @layer_backward(%x0, %c, %w0, %d1) : (tensor<2x4x8xf32>, tensor<f32>, tensor<8x8xf32>, tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<8x8xf32>)
  xf.accumulate %dw0, @w0.grad : tensor<8x8xf32>
  %de = xf.embedding_gradient %tokens, %d0 : (tensor<2x4xi32>, tensor<2x4x8xf32>) -> tensor<16x8xf32>
  xf.accumulate %de, @table.grad : tensor<16x8xf32>
  return
}
func.func @update() {
  %lr = xf.input "learning_rate" : tensor<f32>
  %gt = xf.read @table.grad : tensor<16x8xf32>
  %g0 = xf.read @w0.grad : tensor<8x8xf32>
  %g1 = xf.read @w1.grad : tensor<8x8xf32>
  %norm, %bad = xf.global_norm %gt, %g0, %g1 : (tensor<16x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<f32>, tensor<f32>)
  %s, %n = xf.gradient_scale %norm {max_norm = 1.0, microbatches = 4 : i64} : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  xf.output %n, "grad_norm" : tensor<f32>
  %t = xf.read @table : tensor<16x8xf32>
  %t1 = xf.sgd %t, %gt, %lr, %s, %bad {momentum = 0.0, weight_decay = 0.0} : (tensor<16x8xf32>, tensor<16x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<16x8xf32>
  xf.write %t1, @table : tensor<16x8xf32>
  %a = xf.read @w0 : tensor<8x8xf32>
  %a1 = xf.sgd %a, %g0, %lr, %s, %bad {momentum = 0.0, weight_decay = 0.0} : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<8x8xf32>
  xf.write %a1, @w0 : tensor<8x8xf32>
  %b = xf.read @w1 : tensor<8x8xf32>
  %b1 = xf.sgd %b, %g1, %lr, %s, %bad {momentum = 0.0, weight_decay = 0.0} : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<8x8xf32>
  xf.write %b1, @w1 : tensor<8x8xf32>
  return
}
func.func @evaluate(%tokens: tensor<2x4xi32>, %labels: tensor<2x4xi32>) -> tensor<f32> {
  %c = xf.constant {value = 0.5} : () -> tensor<f32>
  %table = xf.read @table : tensor<16x8xf32>
  %x0 = xf.embedding %tokens, %table : (tensor<2x4xi32>, tensor<16x8xf32>) -> tensor<2x4x8xf32>
  %w0 = xf.read @w0 : tensor<8x8xf32>
  %x1 = call @layer(%x0, %c, %w0) : (tensor<2x4x8xf32>, tensor<f32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
  %w1 = xf.read @w1 : tensor<8x8xf32>
  %x2 = call @layer(%x1, %c, %w1) : (tensor<2x4x8xf32>, tensor<f32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
  %y = xf.linear %x2, %table : (tensor<2x4x8xf32>, tensor<16x8xf32>) -> tensor<2x4x16xf32>
  %loss, %lse = xf.cross_entropy %y, %labels {valid_vocab = 16 : i64} : (tensor<2x4x16xf32>, tensor<2x4xi32>) -> (tensor<f32>, tensor<2x4xf32>)
  xf.output %loss, "loss" : tensor<f32>
  return %loss : tensor<f32>
}
pipe.fragment F @forward(host "tokens", host "labels") -> (kept, kept, kept, kept, kept, kept) stage 0 chunk 0
pipe.fragment B @backward(F argument 0, F argument 1, F result 1, F result 2, F result 3, F result 4, F result 5) stage 0 chunk 0
pipe.fragment U @update stage 0 chunk 0
pipe.fragment E @evaluate(host "tokens", host "labels") -> (kept) stage 0 chunk 0
pipe.schedule "train_step" rank 0 microbatches 4 slots 1 []
