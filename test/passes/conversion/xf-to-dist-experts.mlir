// RUN: sed 's/EP/4/; s/ETP/2/' %s | hocket-opt --convert-xf-to-dist="axes=ep=2,tp=8" | FileCheck %s
// RUN: sed 's/EP/2/; s/ETP/2/' %s | hocket-opt --convert-xf-to-dist="axes=cp=2,tp=8" | FileCheck %s --check-prefix=SHARED
// RUN: sed 's/EP/16/; s/ETP/1/' %s | hocket-opt --convert-xf-to-dist="axes=cp=2,tp=8" | FileCheck %s --check-prefix=WHOLE

// Experts have a grid of their own. Of 8 ranks along tp pairs hold halves of each
// expert; of four parts of the experts two are along tp and two along ep, and two
// pairs each share rows.

// CHECK: module attributes {dist.expert_rows = ["tp.0"], dist.experts = ["tp.1", "ep"]}
// CHECK: dist.mesh @mesh ["ep", "tp.0", "tp.1", "tp.2"] sizes [2, 2, 2, 2]
// Two parts, all along tp before cp is asked.
// SHARED: module attributes {{.*}}dist.expert_rows = ["tp.0"], dist.experts = ["tp.1"]
// SHARED: dist.mesh @mesh ["cp", "tp.0", "tp.1", "tp.2"] sizes [2, 2, 2, 2]
// WHOLE: module attributes {{.*}}dist.experts = ["cp", "tp"]
// WHOLE: dist.mesh @mesh ["cp", "tp"] sizes [2, 8]

xf.training {clip_norm = 1.0, global_batch_size = 2 : i64, micro_batch_size = 2 : i64, model_name = "tiny", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, plan = {expert_parallel = EP : i64, expert_tensor_parallel = ETP : i64, sequence_parallel, zero_stage = 1 : i64}, precision = #xf.precision<fp32>, recompute = #xf.recompute<none>, runtime = {}, sequence_length = 16 : i64}

// Other layers are split over all of tp.
// CHECK: @layers.0.mlp.up.weight : tensor{{.*}}{{\[\[}}"tp.0", "tp.1", "tp.2"], []]
// WHOLE: @layers.0.mlp.up.weight : tensor{{.*}}{{\[\[}}"tp"], []]
xf.variable @layers.0.mlp.up.weight : tensor<16x8xf32> {kind = #xf.variable_kind<parameter>}
// CHECK: @layers.0.mlp.experts.up.weight : tensor{{.*}}{{\[\[}}"tp.1", "ep"], ["tp.2"], []]
// SHARED: @layers.0.mlp.experts.up.weight : tensor{{.*}}{{\[\[}}"tp.1"], ["tp.2"], []]
// WHOLE: @layers.0.mlp.experts.up.weight : tensor{{.*}}{{\[\[}}"cp", "tp"], [], []]
xf.variable @layers.0.mlp.experts.up.weight : tensor<16x8x8xf32> {kind = #xf.variable_kind<parameter>}
// ZeRO: all that hold the same part of an expert share its state.
// CHECK: @layers.0.mlp.experts.up.weight.exp_avg : tensor{{.*}}{{\[\[}}"tp.1", "ep", "tp.0"], ["tp.2"], []]
// SHARED: @layers.0.mlp.experts.up.weight.exp_avg : tensor{{.*}}{{\[\[}}"tp.1", "cp", "tp.0"], ["tp.2"], []]
// WHOLE: @layers.0.mlp.experts.up.weight.exp_avg : tensor{{.*}}{{\[\[}}"cp", "tp"], [], []]
xf.variable @layers.0.mlp.experts.up.weight.exp_avg : tensor<16x8x8xf32> {kind = #xf.variable_kind<optimizer_state>, of = @layers.0.mlp.experts.up.weight, slot = "exp_avg"}
