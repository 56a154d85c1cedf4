// RUN: hocket-opt %s --xf-build-step | FileCheck %s
// RUN: sed -e 's/#xf.adamw<.*0.1>/#xf.sgd<momentum = 0.9, weight_decay = 0.1>/' %s | hocket-opt --xf-build-step | FileCheck %s --check-prefix=SGD
// RUN: sed -e 's/runtime = {}/batch_sizes = [#xf.batch_size<2 from 0>, #xf.batch_size<6 from 4>, #xf.batch_size<8 from 10>], &/' %s | hocket-opt --xf-build-step | FileCheck %s --check-prefix=GROWS

// fp16: the whole of it, with loss scaling and a working copy.

xf.training {clip_norm = 1.0, global_batch_size = 8 : i64, loss_scale = #xf.loss_scale<initial = 1024.0, growth_factor = 2.0, backoff_factor = 0.5, growth_interval = 100, minimum = 1.0>, micro_batch_size = 2 : i64, model_name = "tiny", optimizer = #xf.adamw<beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = 0.1>, precision = #xf.precision<fp16>, runtime = {}, sequence_length = 4 : i64}

// CHECK-DAG: xf.variable @state.optimizer_step : tensor<f32> {{.*}}<state>
// CHECK-DAG: xf.variable @state.loss_scale : tensor<f32> {init = #xf.init<constant, 1.024000e+03 : f64>
// CHECK-DAG: xf.variable @state.good_steps : tensor<f32>
// CHECK-DAG: xf.variable @w.exp_avg : tensor<8x8xf32> {init = #xf.init<zeros>, {{.*}}of = @w, slot = "exp_avg"}
// CHECK-DAG: xf.variable @b.exp_avg_sq : tensor<8xf32> {init = #xf.init<zeros>, {{.*}}of = @b, slot = "exp_avg_sq"}
// SGD-DAG: xf.variable @w.momentum : tensor<8x8xf32> {{.*}}slot = "momentum"
xf.variable @w : tensor<8x8xf32> {decay, kind = #xf.variable_kind<parameter>}
xf.variable @w.grad : tensor<8x8xf32> {kind = #xf.variable_kind<gradient>, of = @w}
xf.variable @w.working : tensor<8x8xf16> {kind = #xf.variable_kind<working>, of = @w}
xf.variable @b : tensor<8xf32> {kind = #xf.variable_kind<parameter>}
xf.variable @b.grad : tensor<8xf32> {kind = #xf.variable_kind<gradient>, of = @b}
// CHECK: xf.variable @state.bias
// CHECK-NOT: xf.balance @
xf.variable @state.bias : tensor<4xf32> {init = #xf.init<zeros>, kind = #xf.variable_kind<state>}
xf.variable @state.counts : tensor<4xf32> {init = #xf.init<zeros>, kind = #xf.variable_kind<state>}
xf.balance @state.bias counts(@state.counts) {rate = 0.5}
func.func private @forward(tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<f32>
func.func private @backward(tensor<2x4xi32>, tensor<2x4xi32>)
func.func private @evaluate(tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<f32>

// CHECK-LABEL: func.func @update()
// CHECK-DAG: %[[GW:.*]] = xf.read @w.grad
// CHECK-DAG: %[[GB:.*]] = xf.read @b.grad
// CHECK: %[[LR:.*]] = xf.input "learning_rate"
// CHECK: %[[NORM:.*]], %[[BAD:.*]] = xf.global_norm %[[GW]], %[[GB]]
// CHECK: %[[LS:.*]] = xf.read @state.loss_scale
// CHECK: %[[SCALE:.*]], %[[UNSCALED:.*]] = xf.gradient_scale %[[NORM]], %[[LS]] {max_norm = 1.0{{.*}}, microbatches = 4 : i64}
// CHECK: xf.output %[[UNSCALED]], "grad_norm"
// CHECK: xf.output %[[BAD]], "skipped"
// CHECK: %[[T:.*]] = xf.advance_step %{{.*}}, %[[BAD]]
// CHECK: %[[C1:.*]] = xf.bias_correction %[[T]] {beta = 9.0
// CHECK: %[[C2:.*]] = xf.bias_correction %[[T]] {beta = 0.949

// Weight decay only where the variable says so; the working copy follows.
// CHECK: %[[W:.*]], %{{.*}}, %{{.*}} = xf.adamw %{{.*}}, %[[GW]], {{.*}}, %[[LR]], %[[C1]], %[[C2]], %[[SCALE]], %[[BAD]] {{.*}}weight_decay = 1.0{{0*}}e-01
// CHECK: xf.write %[[W]], @w :
// CHECK: %[[CAST:.*]] = xf.cast %[[W]] : (tensor<8x8xf32>) -> tensor<8x8xf16>
// CHECK: xf.write %[[CAST]], @w.working
// CHECK: xf.adamw %{{.*}}, %[[GB]], {{.*}}weight_decay = 0.0
// CHECK: %[[BIAS:.*]] = xf.read @state.bias
// CHECK: %[[COUNTS:.*]] = xf.read @state.counts
// CHECK: %[[MOVED:.*]] = xf.balance_bias %[[BIAS]], %[[COUNTS]], %[[BAD]] {rate = 5.0
// CHECK: xf.write %[[MOVED]], @state.bias
// CHECK: %[[NOW:.*]] = xf.read @state.loss_scale
// CHECK: xf.loss_scale_update %[[NOW]]
// CHECK: xf.output %[[NOW]], "loss_scale"

// The host says how many microbatches a step has, where that varies.
// GROWS: %[[COUNT:.*]] = xf.input "microbatches"
// GROWS: xf.gradient_scale %{{.*}}, %{{.*}} count %[[COUNT]] {max_norm = 1.0{{[0e+]*}} : f64}
// GROWS: xf.step microbatches(4) rampup [1, 3] forward(@forward)

// SGD: xf.sgd {{.*}}weight_decay = 1.0{{0*}}e-01
// SGD: xf.sgd {{.*}}weight_decay = 0.0
// SGD-NOT: xf.bias_correction

// CHECK-LABEL: func.func @prepare()
// CHECK: xf.write %{{.*}}, @w.working
// CHECK: xf.step microbatches(4) forward(@forward) backward(@backward) update(@update) evaluate(@evaluate) prepare(@prepare)
