xf.training {clip_norm = 1.0, global_batch_size = 8 : i64, micro_batch_size = 2 : i64, model_name = "tiny", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<fp32>, runtime = {memory_bytes = BYTES : i64}, sequence_length = 4 : i64}
xf.variable @table : tensor<16x8xf32> {init = #xf.init<normal, 0.02>, kind = #xf.variable_kind<parameter>, random_key = 1 : i32}
xf.variable @up : tensor<32x8xf32> {init = #xf.init<normal, 0.02>, kind = #xf.variable_kind<parameter>, random_key = 2 : i32}
xf.variable @down : tensor<8x32xf32> {init = #xf.init<normal, 0.02>, kind = #xf.variable_kind<parameter>, random_key = 3 : i32}
xf.variable @up2 : tensor<32x8xf32> {init = #xf.init<normal, 0.02>, kind = #xf.variable_kind<parameter>, random_key = 4 : i32}
xf.variable @down2 : tensor<8x32xf32> {init = #xf.init<normal, 0.02>, kind = #xf.variable_kind<parameter>, random_key = 5 : i32}

func.func private @layer(%x: tensor<2x4x8xf32>, %u: tensor<32x8xf32>, %d: tensor<8x32xf32>) -> tensor<2x4x8xf32> {
  %h = xf.linear %x, %u : (tensor<2x4x8xf32>, tensor<32x8xf32>) -> tensor<2x4x32xf32>
  %a = xf.activation %h {kind = #xf.activation_kind<gelu>} : (tensor<2x4x32xf32>) -> tensor<2x4x32xf32>
  %z = xf.linear %a, %d : (tensor<2x4x32xf32>, tensor<8x32xf32>) -> tensor<2x4x8xf32>
  %y = xf.add %x, %z : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %y : tensor<2x4x8xf32>
}

func.func @forward(%tokens: tensor<2x4xi32>, %labels: tensor<2x4xi32>) -> tensor<f32> {
  %table = xf.read @table : tensor<16x8xf32>
  %x0 = xf.embedding %tokens, %table : (tensor<2x4xi32>, tensor<16x8xf32>) -> tensor<2x4x8xf32>
  %u = xf.read @up : tensor<32x8xf32>
  %d = xf.read @down : tensor<8x32xf32>
  %u2 = xf.read @up2 : tensor<32x8xf32>
  %d2 = xf.read @down2 : tensor<8x32xf32>
  %x1 = call @layer(%x0, %u, %d) : (tensor<2x4x8xf32>, tensor<32x8xf32>, tensor<8x32xf32>) -> tensor<2x4x8xf32>
  %x2 = call @layer(%x1, %u, %d) : (tensor<2x4x8xf32>, tensor<32x8xf32>, tensor<8x32xf32>) -> tensor<2x4x8xf32>
  %x3 = call @layer(%x2, %u2, %d2) : (tensor<2x4x8xf32>, tensor<32x8xf32>, tensor<8x32xf32>) -> tensor<2x4x8xf32>
  %x4 = call @layer(%x3, %u2, %d2) : (tensor<2x4x8xf32>, tensor<32x8xf32>, tensor<8x32xf32>) -> tensor<2x4x8xf32>
  %y = xf.linear %x4, %table : (tensor<2x4x8xf32>, tensor<16x8xf32>) -> tensor<2x4x16xf32>
  %loss, %lse = xf.cross_entropy %y, %labels {valid_vocab = 16 : i64} : (tensor<2x4x16xf32>, tensor<2x4xi32>) -> (tensor<f32>, tensor<2x4xf32>)
  return %loss : tensor<f32>
}
