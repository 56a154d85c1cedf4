// RUN: hocket-opt %s --convert-pipe-to-kern | FileCheck %s

module {
  // CHECK-NOT: xf.training
  // CHECK: step.training {{{.*}}model_name = "tiny"
  xf.training {clip_norm = 1.0, global_batch_size = 4 : i64, micro_batch_size = 2 : i64, model_name = "tiny", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<fp32>, runtime = {}, sequence_length = 4 : i64}
  // CHECK: kern.variable @w : tensor<8x8xf32> {info = #step.variable_info<decay = unit, init = "normal", random_key = 7 : i32, shape = [8, 8], value = 2.000000e-02 : f64>, kind = #kern.variable_kind<parameter>}
  xf.variable @w : tensor<8x8xf32> {decay, init = #xf.init<normal, 0.02>, kind = #xf.variable_kind<parameter>, random_key = 7 : i32}
  // CHECK: kern.variable @w.grad : tensor<8x8xf32> {{{.*}}kind = #kern.variable_kind<gradient>, of = @w}
  xf.variable @w.grad : tensor<8x8xf32> {kind = #xf.variable_kind<gradient>, of = @w}
  // CHECK: kern.variable @w.exp_avg : tensor<8x8xf32> {{{.*}}kind = #kern.variable_kind<optimizer_state>, of = @w, slot = "exp_avg"}
  xf.variable @w.exp_avg : tensor<8x8xf32> {kind = #xf.variable_kind<optimizer_state>, init = #xf.init<zeros>, of = @w, slot = "exp_avg"}
  // CHECK: kern.variable @step : tensor<f32> {info = #step.variable_info<init = "constant", {{.*}}shape = [], value = 3.000000e+00 : f64
  // CHECK-SAME: kind = #kern.variable_kind<state>}
  xf.variable @step : tensor<f32> {kind = #xf.variable_kind<state>, init = #xf.init<constant, 3.0>}

  // CHECK: kern.fragment F @forward(%[[X:.*]]: tensor<2x4xi32> from host "tokens", %[[Y:.*]]: tensor<2x4xi32> from host "labels") -> (tensor<f32>, tensor<8x8xf32>) {
  func.func @forward(%x: tensor<2x4xi32>, %y: tensor<2x4xi32>) -> (tensor<f32>, tensor<8x8xf32>) {
    // CHECK: %[[W:.*]] = kern.read @w : tensor<8x8xf32>
    %w = xf.read @w : tensor<8x8xf32>
    // CHECK: %[[R:.*]] = kern.input "learning_rate" : tensor<f32>
    %r = xf.input "learning_rate" : tensor<f32>
    // CHECK: kern.output %[[R]], "loss" : tensor<f32>
    xf.output %r, "loss" : tensor<f32>
    // CHECK: kern.return %[[R]], %[[W]] : tensor<f32>, tensor<8x8xf32>
    return %r, %w : tensor<f32>, tensor<8x8xf32>
  }
  // CHECK: kern.fragment B @backward(%[[X:.*]]: tensor<2x4xi32> from F argument 0, %[[Y:.*]]: tensor<2x4xi32> from F argument 1, %[[K:.*]]: tensor<8x8xf32> from F result 1) {
  func.func @backward(%x: tensor<2x4xi32>, %y: tensor<2x4xi32>, %w: tensor<8x8xf32>) {
    // CHECK: kern.accumulate %{{.*}}, @w.grad : tensor<8x8xf32>
    xf.accumulate %w, @w.grad : tensor<8x8xf32>
    // CHECK: kern.accumulate %{{.*}}, @w.grad {always} : tensor<8x8xf32>
    xf.accumulate %w, @w.grad : tensor<8x8xf32>
    return
  }
  func.func @update() {
    %g = xf.read @w.grad : tensor<8x8xf32>
    // CHECK: kern.write %{{.*}}, @w : tensor<8x8xf32>
    xf.write %g, @w : tensor<8x8xf32>
    return
  }
  // CHECK-NOT: pipe.
  pipe.fragment F @forward(host "tokens", host "labels") -> (kept, kept) stage 0 chunk 0
  pipe.fragment B @backward(F argument 0, F argument 1, F result 1) stage 0 chunk 0
  pipe.fragment U @update stage 0 chunk 0
  // CHECK: kern.schedule "train_step" slots 2 {{\[}}#kern.action<@forward microbatch 0 slot 0>, #kern.action<@backward microbatch 0 slot 0>, #kern.action<@forward microbatch 1 slot 1>, #kern.action<@backward microbatch 1 slot 1>, #kern.action<@update microbatch 0 slot 0>]
  pipe.schedule "train_step" rank 0 microbatches 2 slots 2 [
    #pipe.action<F chunk 0 microbatch 0 slot 0>,
    #pipe.action<B chunk 0 microbatch 0 slot 0>,
    #pipe.action<F chunk 0 microbatch 1 slot 1>,
    #pipe.action<B chunk 0 microbatch 1 slot 1>,
    #pipe.action<U chunk 0 microbatch 0 slot 0>]
}
