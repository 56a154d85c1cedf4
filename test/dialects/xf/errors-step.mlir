// RUN: hocket-opt %s --split-input-file --verify-diagnostics

// X41 to X58 of docs/spec.md, but for those of experts: variables, the step and
// its update.

// expected-error @+1 {{X41: an initial value is normal, uniform, log_uniform, time_step, zeros, ones or constant, not orthogonal}}
xf.variable @w : tensor<4xf32> {init = #xf.init<orthogonal>, kind = #xf.variable_kind<parameter>}

// -----

// expected-error @+1 {{X41: the value of log_uniform, 5.000000e-01, is not above 1.000000e+00}}
xf.variable @w : tensor<4xf32> {init = #xf.init<log_uniform, 0.5>, kind = #xf.variable_kind<parameter>}

// -----

// expected-error @+1 {{X41: normal needs a value}}
xf.variable @w : tensor<4xf32> {init = #xf.init<normal>, kind = #xf.variable_kind<parameter>}

// -----

// expected-error @+1 {{X41: a standard deviation of -1.000000e+00 is negative}}
xf.variable @w : tensor<4xf32> {init = #xf.init<normal, -1.0>, kind = #xf.variable_kind<parameter>}

// -----

// expected-error @+1 {{X41: a bound of -1.000000e+00 is negative}}
xf.variable @w : tensor<4xf32> {init = #xf.init<uniform, -1.0>, kind = #xf.variable_kind<parameter>}

// -----

// expected-error @+1 {{X42: has type 'tensor<4xi32>', expected a static tensor of floats}}
xf.variable @w : tensor<4xi32> {kind = #xf.variable_kind<parameter>}

// -----

// expected-error @+1 {{X43: a gradient names its parameter in `of`}}
xf.variable @w : tensor<4xf32> {kind = #xf.variable_kind<gradient>}

// -----

// expected-error @+1 {{X43: names no parameter: @v}}
xf.variable @w : tensor<4xf32> {kind = #xf.variable_kind<gradient>, of = @v}

// -----

xf.variable @v : tensor<5xf32> {kind = #xf.variable_kind<parameter>}
// expected-error @+1 {{X43: has another shape than @v}}
xf.variable @w : tensor<4xf32> {kind = #xf.variable_kind<gradient>, of = @v}

// -----

xf.variable @v : tensor<4xf32> {kind = #xf.variable_kind<parameter>}
// expected-error @+1 {{X43: optimizer state, and nothing else, has a `slot`}}
xf.variable @w : tensor<4xf32> {kind = #xf.variable_kind<optimizer_state>, of = @v}

// -----

func.func @f() {
  // expected-error @+1 {{X44: the host gives `learning_rate` and `microbatches`, not `momentum`}}
  %x = xf.input "momentum" : tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<f32>) {
  // expected-error @+1 {{X45: the host takes `loss`, `logits`, `hidden`, `lse`, `picked`, `grad_norm`, `loss_scale` and `skipped`, not `speed`}}
  xf.output %x, "speed" : tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{X45: value has type 'tensor<2xf32>', expected a scalar of f32 or f64}}
  xf.output %x, "loss" : tensor<2xf32>
  return
}

// -----

// expected-error @+1 {{X46: a global batch of 6 is no multiple of the micro batch 4}}
xf.training {global_batch_size = 6 : i64, micro_batch_size = 4 : i64, model_name = "m", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<fp32>, runtime = {}, sequence_length = 4 : i64}

// -----

// expected-error @+1 {{X39: a state has no role of its own; only a parameter or a cache has one}}
xf.variable @w : tensor<4xf32> {kind = #xf.variable_kind<state>, role = #xf.parameter_role<norm>}

// -----

// expected-error @+1 {{X39: expert_up is a matrix of each expert, [experts, out, in], not 'tensor<4x4xf32>'}}
xf.variable @w : tensor<4x4xf32> {kind = #xf.variable_kind<parameter>, role = #xf.parameter_role<expert_up>}

// -----

// expected-error @+1 {{X46: #xf.batch_size<3 from 0> is no multiple of the micro batch 2}}
xf.training {batch_sizes = [#xf.batch_size<3 from 0>, #xf.batch_size<8 from 6>], global_batch_size = 8 : i64, micro_batch_size = 2 : i64, model_name = "m", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<fp32>, runtime = {}, sequence_length = 4 : i64}

// -----

// expected-error @+1 {{X46: the last of the batch sizes is not the global batch 8}}
xf.training {batch_sizes = [#xf.batch_size<2 from 0>, #xf.batch_size<4 from 4>], global_batch_size = 8 : i64, micro_batch_size = 2 : i64, model_name = "m", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<fp32>, runtime = {}, sequence_length = 4 : i64}

// -----

// expected-error @+1 {{X46: batch size 8 from sample 3 begins within a step of 2}}
xf.training {batch_sizes = [#xf.batch_size<2 from 0>, #xf.batch_size<8 from 3>], global_batch_size = 8 : i64, micro_batch_size = 2 : i64, model_name = "m", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<fp32>, runtime = {}, sequence_length = 4 : i64}

// -----

// expected-error @+1 {{X46: the first batch size is not from sample 0}}
xf.training {batch_sizes = [#xf.batch_size<2 from 2>, #xf.batch_size<8 from 4>], global_batch_size = 8 : i64, micro_batch_size = 2 : i64, model_name = "m", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<fp32>, runtime = {}, sequence_length = 4 : i64}

// -----

// expected-error @+1 {{X46: the optimizer is #xf.adamw or #xf.sgd}}
xf.training {global_batch_size = 8 : i64, micro_batch_size = 4 : i64, model_name = "m", optimizer = "adagrad", precision = #xf.precision<fp32>, runtime = {}, sequence_length = 4 : i64}

// -----

// expected-error @+1 {{X46: fp16, and nothing else, has a loss scale}}
xf.training {global_batch_size = 8 : i64, micro_batch_size = 4 : i64, model_name = "m", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<fp16>, runtime = {}, sequence_length = 4 : i64}

// -----

// expected-error @+1 {{X46: a clipping norm of -1.000000e+00 is negative}}
xf.training {clip_norm = -1.0, global_batch_size = 8 : i64, micro_batch_size = 4 : i64, model_name = "m", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<fp32>, runtime = {}, sequence_length = 4 : i64}

// -----

func.func private @forward(tensor<4xi32>, tensor<4xi32>) -> (tensor<f32>, tensor<8xf32>)
func.func private @backward(tensor<4xi32>, tensor<4xi32>, tensor<8xf32>)
func.func private @update()
func.func private @evaluate(tensor<4xi32>, tensor<4xi32>) -> tensor<f32>
// expected-error @+1 {{X47: has 0 microbatches}}
xf.step microbatches(0) forward(@forward) backward(@backward) update(@update) evaluate(@evaluate)

// -----

func.func private @forward(tensor<4xi32>, tensor<4xi32>) -> (tensor<f32>, tensor<8xf32>)
func.func private @backward(tensor<4xi32>, tensor<4xi32>, tensor<8xf32>)
func.func private @update()
func.func private @evaluate(tensor<4xi32>, tensor<4xi32>) -> tensor<f32>
// expected-error @+1 {{X47: rampup lists 2, and should list ever more microbatches, all less than 4}}
xf.step microbatches(4) rampup [3, 2] forward(@forward) backward(@backward) update(@update) evaluate(@evaluate)

// -----

func.func private @forward(tensor<4xi32>, tensor<4xi32>) -> (tensor<f32>, tensor<8xf32>)
func.func private @backward(tensor<4xi32>, tensor<4xi32>, tensor<8xf32>)
func.func private @update()
func.func private @evaluate(tensor<4xi32>, tensor<4xi32>) -> tensor<f32>
// expected-error @+1 {{X47: rampup lists 4, and should list ever more microbatches, all less than 4}}
xf.step microbatches(4) rampup [4] forward(@forward) backward(@backward) update(@update) evaluate(@evaluate)

// -----

func.func private @forward(tensor<4xi32>, tensor<4xi32>) -> (tensor<f32>, tensor<8xf32>)
func.func private @backward(tensor<4xi32>, tensor<4xi32>, tensor<8xf32>)
func.func private @update()
func.func private @evaluate(tensor<4xi32>, tensor<4xi32>) -> tensor<f32>
// expected-error @+1 {{X47: names no function: @missing}}
xf.step microbatches(1) forward(@forward) backward(@backward) update(@missing) evaluate(@evaluate)

// -----

func.func private @forward(tensor<4xi32>, tensor<4xi32>, tensor<f32>) -> tensor<f32>
func.func private @backward(tensor<4xi32>, tensor<4xi32>, tensor<f32>)
func.func private @update()
func.func private @evaluate(tensor<4xi32>, tensor<4xi32>, tensor<f32>) -> tensor<f32>
// expected-error @+1 {{X48: @forward does not take tokens and labels, and beside them only what `xf.host` says of}}
xf.step microbatches(1) forward(@forward) backward(@backward) update(@update) evaluate(@evaluate)

// -----

func.func private @forward(tensor<4xi32>, tensor<4xi32> {xf.host = #xf.host_input<tokens>}) -> tensor<f32>
func.func private @backward(tensor<4xi32>, tensor<4xi32>)
func.func private @update()
func.func private @evaluate(tensor<4xi32>, tensor<4xi32>) -> tensor<f32>
// expected-error @+1 {{X48: @forward does not take tokens and labels}}
xf.step microbatches(1) forward(@forward) backward(@backward) update(@update) evaluate(@evaluate)

// -----

func.func private @forward(tensor<4xi32>, tensor<4xi32>) -> (tensor<f32>, tensor<8xf32>)
func.func private @backward(tensor<4xi32>, tensor<4xi32>)
func.func private @update()
func.func private @evaluate(tensor<4xi32>, tensor<4xi32>) -> tensor<f32>
// expected-error @+1 {{X48: backward does not take what forward returns}}
xf.step microbatches(1) forward(@forward) backward(@backward) update(@update) evaluate(@evaluate)

// -----

func.func private @forward(tensor<4xi32>, tensor<4xi32>) -> (tensor<f32>, tensor<8xf32>)
func.func private @backward(tensor<4xi32>, tensor<4xi32>, tensor<8xf32>)
func.func private @update()
func.func private @evaluate(tensor<4xi32>, tensor<4xi32>) -> tensor<8xf32>
// expected-error @+1 {{X48: evaluate does not take what forward takes and return a loss}}
xf.step microbatches(1) forward(@forward) backward(@backward) update(@update) evaluate(@evaluate)

// -----

func.func private @forward(tensor<4xi32>, tensor<4xi32>) -> (tensor<f32>, tensor<8xf32>)
func.func private @backward(tensor<4xi32>, tensor<4xi32>, tensor<8xf32>)
func.func private @update()
func.func private @evaluate(tensor<4xi32>, tensor<4xi32>) -> tensor<f32>
// expected-error @+1 {{X48: update has no argument and no result}}
xf.step microbatches(1) forward(@forward) backward(@backward) update(@backward) evaluate(@evaluate)

// -----

func.func @f() {
  // expected-error @+1 {{X50: has no gradient}}
  %n, %b = xf.global_norm : () -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @f(%n: tensor<f32>) {
  // expected-error @+1 {{X51: max_norm -1.000000e+00 is negative}}
  %s, %m = xf.gradient_scale %n {max_norm = -1.0, microbatches = 1 : i64} : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @f(%n: tensor<f32>) {
  // expected-error @+1 {{X51: has either `microbatches` or their count}}
  %s, %m = xf.gradient_scale %n {max_norm = 1.0} : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @f(%n: tensor<f32>) {
  // expected-error @+1 {{X51: has either `microbatches` or their count}}
  %s, %m = xf.gradient_scale %n count %n {max_norm = 1.0, microbatches = 2 : i64} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @f(%n: tensor<f32>) {
  // expected-error @+1 {{X51: has 0 microbatches}}
  %s, %m = xf.gradient_scale %n {max_norm = 1.0, microbatches = 0 : i64} : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @f(%n: tensor<f32>) {
  // expected-error @+1 {{X52: beta is not in [0, 1)}}
  %s = xf.bias_correction %n {beta = 1.0} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @f(%n: tensor<2xf32>) {
  // expected-error @+1 {{X53: step has type 'tensor<2xf32>', expected a scalar of f32 or f64}}
  %s = xf.advance_step %n, %n : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %m: tensor<5xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{X54: exp_avg has shape [5], expected [4]}}
  %a, %b, %c = xf.adamw %p, %p, %m, %p, %s, %s, %s, %s, %s {beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = 0.1} : (tensor<4xf32>, tensor<4xf32>, tensor<5xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %m: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{X55: epsilon is not positive}}
  %a, %b, %c = xf.adamw %p, %p, %m, %p, %s, %s, %s, %s, %s {beta1 = 0.9, beta2 = 0.95, epsilon = 0.0, weight_decay = 0.1} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %m: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{X55: beta is not in [0, 1)}}
  %a, %b, %c = xf.adamw %p, %p, %m, %p, %s, %s, %s, %s, %s {beta1 = -0.1, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = 0.1} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %m: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{X55: weight_decay is negative}}
  %a, %b, %c = xf.adamw %p, %p, %m, %p, %s, %s, %s, %s, %s {beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = -0.1} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %g: tensor<5xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{X56: grad has shape [5], expected [4]}}
  %a = xf.sgd %p, %g, %s, %s, %s {momentum = 0.0, weight_decay = 0.0} : (tensor<4xf32>, tensor<5xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{X57: a buffer is there when, and only when, there is momentum}}
  %a = xf.sgd %p, %p, %s, %s, %s {momentum = 0.9, weight_decay = 0.0} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%s: tensor<f32>, %v: tensor<2xf32>) {
  // expected-error @+1 {{X58: good_steps has type 'tensor<2xf32>', expected a scalar of f32 or f64}}
  %a, %b = xf.loss_scale_update %s, %v, %s {policy = #xf.loss_scale<initial = 2.0, growth_factor = 2.0, backoff_factor = 0.5, growth_interval = 10, minimum = 1.0>} : (tensor<f32>, tensor<2xf32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

// expected-error @+1 {{X91: a state is not trained; only a parameter is `frozen`}}
xf.variable @s : tensor<f32> {frozen, kind = #xf.variable_kind<state>}

// -----

xf.variable @w : tensor<4xf32> {frozen, kind = #xf.variable_kind<parameter>}
// expected-error @+1 {{X91: @w is frozen, and has no gradient}}
xf.variable @w.grad : tensor<4xf32> {kind = #xf.variable_kind<gradient>, of = @w}

// -----

// expected-error @+1 {{X92: a rank of 0 is not positive}}
xf.low_rank {alpha = 8.0, dropout = 0.0, rank = 0 : i64, targets = [#xf.parameter_role<query>]}

// -----

// expected-error @+1 {{X92: embedding is no role of a layer's linear ops}}
xf.low_rank {alpha = 8.0, dropout = 0.0, rank = 8 : i64, targets = [#xf.parameter_role<embedding>]}

// -----

// expected-error @+1 {{X92: an alpha of}}
xf.low_rank {alpha = 0.0, dropout = 0.0, rank = 8 : i64, targets = [#xf.parameter_role<query>]}

// -----

// expected-error @+1 {{X92: a probability of}}
xf.low_rank {alpha = 8.0, dropout = 1.0, rank = 8 : i64, targets = [#xf.parameter_role<query>]}

// -----

// expected-error @+1 {{X92: names no target}}
xf.low_rank {alpha = 8.0, dropout = 0.0, rank = 8 : i64, targets = []}
