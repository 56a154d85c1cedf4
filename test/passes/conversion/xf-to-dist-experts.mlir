// RUN: hocket-opt %s --xf-set-plan=plan=dp=3,tp=8,ep=6,etp=2,sp=1,zero=1 --convert-xf-to-dist | FileCheck %s
// RUN: hocket-opt %s --xf-set-plan=plan=cp=2,tp=8,ep=2,etp=2,sp=1,zero=1 --convert-xf-to-dist | FileCheck %s --check-prefix=SHARED
// RUN: hocket-opt %s --xf-set-plan=plan=cp=2,tp=4,ep=8,etp=1,sp=1,zero=1 --convert-xf-to-dist | FileCheck %s --check-prefix=WHOLE
// RUN: hocket-opt %s --xf-set-plan=plan=dp=2,cp=4,tp=2,ep=2,sp=1,zero=1 --convert-xf-to-dist | FileCheck %s --check-prefix=HALF
// RUN: hocket-opt %s --xf-set-plan=plan=dp=5,cp=12,tp=8,ep=30,etp=2,sp=1,zero=1 --convert-xf-to-dist | FileCheck %s --check-prefix=BOTH
// RUN: not hocket-opt %s --xf-set-plan=plan=cp=4,ep=3 2>&1 | FileCheck %s --check-prefix=UNEVEN
// RUN: not hocket-opt %s --xf-set-plan=plan=tp=8,etp=3 2>&1 | FileCheck %s --check-prefix=THIN

// Experts have a grid of their own. Of 8 ranks along tp pairs hold halves of each
// expert; of six parts of the experts two are along tp and three along ep, and two
// pairs each share rows.

// CHECK: dist.mesh @mesh ["ep", "tp.0", "tp.1", "tp.2"] sizes [3, 2, 2, 2]{{.*}} experts ["tp.1", "ep"] sharing ["tp.0"]
// Two parts, all along tp.
// SHARED: dist.mesh @mesh ["cp", "tp.0", "tp.1", "tp.2"] sizes [2, 2, 2, 2]{{.*}} experts ["tp.1"] sharing ["tp.0"]
// WHOLE: dist.mesh @mesh ["cp", "tp"] sizes [2, 4]{{.*}} experts ["cp", "tp"]
// Two parts along four ranks that share sequences, so that pairs share rows.
// HALF: dist.mesh @mesh ["dp", "cp.0", "cp.1", "tp"] sizes [2, 2, 2, 2]{{.*}} experts ["cp.1"]
// BOTH: dist.mesh @mesh ["ep", "cp.0", "cp.1", "tp.0", "tp.1", "tp.2"] sizes [5, 4, 3, 2, 2, 2]{{.*}} experts ["cp.1", "tp.1", "ep"] sharing ["tp.0"]
// UNEVEN: S21: plan.expert_parallel is 3, which does not divide data_parallel * context_parallel (4)
// THIN: S38: plan.expert_tensor_parallel is 3, which does not divide plan.tensor_parallel (8)

xf.training {clip_norm = 1.0, global_batch_size = 2 : i64, micro_batch_size = 2 : i64, model_name = "tiny", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<fp32>, runtime = {}, sequence_length = 16 : i64}

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
xf.variable @layers.0.mlp.experts.up.weight : tensor<120x8x8xf32> {kind = #xf.variable_kind<parameter>, role = #xf.parameter_role<expert_up>}
// ZeRO: all that hold the same part of an expert share its state.
// CHECK: @layers.0.mlp.experts.up.weight.exp_avg : tensor{{.*}}{{\[\[}}"tp.1", "ep", "tp.0"], ["tp.2"], []]
// SHARED: @layers.0.mlp.experts.up.weight.exp_avg : tensor{{.*}}{{\[\[}}"tp.1", "cp", "tp.0"], ["tp.2"], []]
// WHOLE: @layers.0.mlp.experts.up.weight.exp_avg : tensor{{.*}}{{\[\[}}"cp", "tp"], [], []]
// HALF: @layers.0.mlp.experts.up.weight.exp_avg : tensor{{.*}}{{\[\[}}"cp.1", "dp", "cp.0"], ["tp"], []]
// BOTH: @layers.0.mlp.experts.up.weight.exp_avg : tensor{{.*}}{{\[\[}}"cp.1", "tp.1", "ep"], ["tp.2"], ["cp.0", "tp.0"]]
xf.variable @layers.0.mlp.experts.up.weight.exp_avg : tensor<120x8x8xf32> {kind = #xf.variable_kind<optimizer_state>, of = @layers.0.mlp.experts.up.weight, slot = "exp_avg"}
