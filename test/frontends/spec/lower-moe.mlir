// A spec with experts after a dense layer: routing, a capacity, what routers add
// to the loss, and the state that balances them.
// RUN: hocket-translate --spec-to-xf %S/Inputs/moe.textproto | FileCheck %s
// RUN: hocket-translate --spec-to-xf %S/Inputs/moe.textproto | hocket-opt | FileCheck %s

// CHECK: xf.variable @layers.0.mlp.gate.weight : tensor<32x8xf32>{{.*}}role = #xf.parameter_role<gate>}
// CHECK-NOT: @layers.0.mlp.router
// CHECK: xf.variable @layers.1.mlp.router.weight : tensor<4x8xf32>{{.*}}role = #xf.parameter_role<router>}
// CHECK: xf.variable @layers.1.mlp.experts.gate.weight : tensor<4x6x8xf32>{{.*}}role = #xf.parameter_role<expert_gate>}
// CHECK: xf.variable @layers.1.mlp.experts.up.weight : tensor<4x6x8xf32>{{.*}}role = #xf.parameter_role<expert_up>}
// CHECK: xf.variable @layers.1.mlp.experts.down.weight : tensor<4x8x6xf32>{{.*}}role = #xf.parameter_role<expert_down>}
// CHECK: xf.variable @layers.1.mlp.shared.gate.weight : tensor<12x8xf32>{{.*}}role = #xf.parameter_role<gate>}
// CHECK: xf.variable @layers.1.mlp.shared.down.weight : tensor<8x12xf32>{{.*}}role = #xf.parameter_role<down>}
// CHECK: xf.variable @state.layers.1.mlp.router.bias : tensor<4xf32> {init = #xf.init<zeros>, kind = #xf.variable_kind<state>}
// CHECK: xf.variable @state.layers.1.mlp.router.counts : tensor<4xf32>
// CHECK: xf.balance @state.layers.1.mlp.router.bias counts(@state.layers.1.mlp.router.counts) {rate = 1.250000e-01 : f64}
// CHECK: xf.balance @state.layers.2.mlp.router.bias

// CHECK: func.func private @layer({{.*}} -> tensor<1x4x8xf32> {
// CHECK: func.func private @expert_layer(%{{[a-z0-9]+}}: tensor<1x4x8xf32> {xf.stream}, %[[BIAS:[a-z0-9]+]]: tensor<4xf32>, {{.*}} -> (tensor<1x4x8xf32>, tensor<f32>, tensor<4xf32>) {
// CHECK: xf.attention
// CHECK: %[[X:.+]] = xf.norm
// CHECK: %[[L:.+]] = xf.linear %[[X]], %{{.*}} -> tensor<1x4x4xf32>
// CHECK: %[[W:.+]], %[[E:.+]] = xf.router %[[L]], %[[BIAS]] {groups = 2 : i64, renormalise, scale = 1.000000e+00 : f64, scores = #xf.router_scores<sigmoid>, top_k = 2 : i64, topk_groups = 2 : i64}
// CHECK: %[[N:.+]] = xf.expert_counts %[[E]] : (tensor<1x4x2xi32>) -> tensor<1x4xf32>
// CHECK: %[[P:.+]] = xf.router_probabilities %[[L]] {scores = #xf.router_scores<sigmoid>} : (tensor<1x4x4xf32>) -> tensor<1x4xf32>
// CHECK: %[[PN:.+]] = xf.multiply %[[P]], %[[N]]
// CHECK: %[[SUM:.+]] = xf.sum_leading %[[PN]]

// 0.5 * 4 experts / (4 tokens of a sequence * 2 choices * 4 tokens).
// CHECK: %[[A:.+]] = xf.constant {per_sequences = 1 : i64, value = 6.250000e-02 : f64}
// CHECK: %[[AUX:.+]] = xf.multiply %[[SUM]], %[[A]]
// CHECK: %[[Z:.+]] = xf.router_z_loss %[[L]]
// CHECK: xf.constant {per_sequences = 1 : i64, value = 6.250000e-02 : f64}
// CHECK: %[[LOSS:.+]] = xf.add %[[AUX]]
// CHECK: %[[CHOSEN:.+]] = xf.sum_leading %[[N]] : (tensor<1x4xf32>) -> tensor<4xf32>

// ceil(1.25 * 4 tokens * 2 choices / 4 experts).
// CHECK: %[[S:.+]] = xf.expert_order %[[E]] {capacity = 3 : i64, experts = 4 : i64}
// CHECK: %[[ROWS:.+]] = xf.dispatch %[[X]], %[[S]] : {{.*}} -> tensor<4x1x3x8xf32>
// CHECK: %[[G:.+]] = xf.grouped_linear %[[ROWS]]
// CHECK: %[[U:.+]] = xf.grouped_linear %[[ROWS]]
// CHECK: %[[H:.+]] = xf.gated %[[G]], %[[U]]
// CHECK: %[[Y:.+]] = xf.grouped_linear %[[H]]
// CHECK: %[[C:.+]] = xf.combine %[[Y]], %[[S]], %[[W]]
// CHECK: xf.linear %[[X]], %{{.*}} -> tensor<1x4x12xf32>
// CHECK: %[[SHARED:.+]] = xf.linear {{.*}} -> tensor<1x4x8xf32>
// CHECK: xf.add %[[C]], %[[SHARED]]
// CHECK: return %{{.*}}, %[[LOSS]], %[[CHOSEN]]

// The host sees the loss without what the routers add.
// CHECK: func.func @forward(
// CHECK: call @layer(
// CHECK: %[[ONE:.+]]:3 = call @expert_layer(
// CHECK: xf.accumulate %[[ONE]]#2, @state.layers.1.mlp.router.counts
// CHECK: %[[TWO:.+]]:3 = call @expert_layer(
// CHECK: %[[ALL:.+]] = xf.add %[[ONE]]#1, %[[TWO]]#1
// CHECK: xf.accumulate %[[TWO]]#2, @state.layers.2.mlp.router.counts
// CHECK: %[[TEXT:.+]], %{{.*}} = xf.cross_entropy
// CHECK: xf.output %[[TEXT]], "loss"
// CHECK: %[[TOTAL:.+]] = xf.add %[[TEXT]], %[[ALL]]
// CHECK: return %[[TOTAL]]
