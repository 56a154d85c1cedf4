// RUN: sed 's/EXPERTS/experts_over_tensor = 2 : i64, expert_tensor_parallel = 2/' %s | hocket-opt --convert-xf-to-dist="axes=ep=2,tp=8" | FileCheck %s
// RUN: sed 's/EXPERTS/experts_over_tensor = 2 : i64, expert_tensor_parallel = 2/' %s | hocket-opt --convert-xf-to-dist="axes=cp=2,tp=8" | FileCheck %s --check-prefix=SHARED
// RUN: sed 's/EXPERTS/experts_over_context = 2 : i64, experts_over_tensor = 8 : i64, expert_tensor_parallel = 1/' %s | hocket-opt --convert-xf-to-dist="axes=cp=2,tp=8" | FileCheck %s --check-prefix=WHOLE
// RUN: sed 's/EXPERTS/experts_over_context = 2/' %s | hocket-opt --convert-xf-to-dist="axes=dp=2,cp=4,tp=2" | FileCheck %s --check-prefix=HALF
// RUN: sed 's/EXPERTS/experts_over_context = 2 : i64, experts_over_tensor = 2 : i64, expert_tensor_parallel = 2/' %s | hocket-opt --convert-xf-to-dist="axes=ep=2,cp=6,tp=8" | FileCheck %s --check-prefix=BOTH
// RUN: sed 's/EXPERTS/experts_over_context = 3/' %s | not hocket-opt --convert-xf-to-dist="axes=cp=4" 2>&1 | FileCheck %s --check-prefix=UNEVEN
// RUN: sed 's/EXPERTS/experts_over_tensor = 4 : i64, expert_tensor_parallel = 4/' %s | not hocket-opt --convert-xf-to-dist="axes=tp=8" 2>&1 | FileCheck %s --check-prefix=THIN

// Experts have a grid of their own. Of 8 ranks along tp pairs hold halves of each
// expert; of four parts of the experts two are along tp and two along ep, and two
// pairs each share rows.

// CHECK: module attributes {dist.expert_rows = ["tp.0"], dist.experts = ["tp.1", "ep"]}
// CHECK: dist.mesh @mesh ["ep", "tp.0", "tp.1", "tp.2"] sizes [2, 2, 2, 2]
// Two parts, all along tp.
// SHARED: module attributes {{.*}}dist.expert_rows = ["tp.0"], dist.experts = ["tp.1"]
// SHARED: dist.mesh @mesh ["cp", "tp.0", "tp.1", "tp.2"] sizes [2, 2, 2, 2]
// WHOLE: module attributes {{.*}}dist.experts = ["cp", "tp"]
// WHOLE: dist.mesh @mesh ["cp", "tp"] sizes [2, 8]
// Two parts along four ranks that share sequences, so that pairs share rows.
// HALF: module attributes {{.*}}dist.experts = ["cp.1"]
// HALF: dist.mesh @mesh ["dp", "cp.0", "cp.1", "tp"] sizes [2, 2, 2, 2]
// BOTH: module attributes {{.*}}dist.expert_rows = ["tp.0"], dist.experts = ["cp.1", "tp.1", "ep"]
// BOTH: dist.mesh @mesh ["ep", "cp.0", "cp.1", "tp.0", "tp.1", "tp.2"] sizes [2, 3, 2, 2, 2, 2]
// UNEVEN: D20: 4 ranks along cp cannot hold 3 parts of the experts, each in 1
// THIN: D20: 8 ranks along tp cannot hold 4 parts of the experts, each in 4

xf.training {clip_norm = 1.0, global_batch_size = 2 : i64, micro_batch_size = 2 : i64, model_name = "tiny", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, plan = {EXPERTS : i64, sequence_parallel, zero_stage = 1 : i64}, precision = #xf.precision<fp32>, recompute = #xf.recompute<none>, runtime = {}, sequence_length = 16 : i64}

// Other layers are split over all of tp.
// CHECK: @layers.0.mlp.up.weight : tensor{{.*}}{{\[\[}}"tp.0", "tp.1", "tp.2"], []]
// WHOLE: @layers.0.mlp.up.weight : tensor{{.*}}{{\[\[}}"tp"], []]
// HALF: @layers.0.mlp.up.weight : tensor{{.*}}{{\[\[}}"tp"], []]
xf.variable @layers.0.mlp.up.weight : tensor<16x8xf32> {kind = #xf.variable_kind<parameter>, role = #xf.parameter_role<up>}
// CHECK: @layers.0.mlp.experts.up.weight : tensor{{.*}}{{\[\[}}"tp.1", "ep"], ["tp.2"], []]
// SHARED: @layers.0.mlp.experts.up.weight : tensor{{.*}}{{\[\[}}"tp.1"], ["tp.2"], []]
// WHOLE: @layers.0.mlp.experts.up.weight : tensor{{.*}}{{\[\[}}"cp", "tp"], [], []]
// HALF: @layers.0.mlp.experts.up.weight : tensor{{.*}}{{\[\[}}"cp.1"], ["tp"], []]
// BOTH: @layers.0.mlp.experts.up.weight : tensor{{.*}}{{\[\[}}"cp.1", "tp.1", "ep"], ["tp.2"], []]
xf.variable @layers.0.mlp.experts.up.weight : tensor<16x8x8xf32> {kind = #xf.variable_kind<parameter>, role = #xf.parameter_role<expert_up>}
// ZeRO: all that hold the same part of an expert share its state.
// CHECK: @layers.0.mlp.experts.up.weight.exp_avg : tensor{{.*}}{{\[\[}}"tp.1", "ep", "tp.0"], ["tp.2"], []]
// SHARED: @layers.0.mlp.experts.up.weight.exp_avg : tensor{{.*}}{{\[\[}}"tp.1", "cp", "tp.0"], ["tp.2"], []]
// WHOLE: @layers.0.mlp.experts.up.weight.exp_avg : tensor{{.*}}{{\[\[}}"cp", "tp"], [], []]
// HALF: @layers.0.mlp.experts.up.weight.exp_avg : tensor{{.*}}{{\[\[}}"cp.1", "dp", "cp.0"], ["tp"], []]
// BOTH: @layers.0.mlp.experts.up.weight.exp_avg : tensor{{.*}}{{\[\[}}"cp.1", "tp.1", "ep"], ["tp.2"], ["cp.0", "tp.0"]]
xf.variable @layers.0.mlp.experts.up.weight.exp_avg : tensor<16x8x8xf32> {kind = #xf.variable_kind<optimizer_state>, of = @layers.0.mlp.experts.up.weight, slot = "exp_avg"}
