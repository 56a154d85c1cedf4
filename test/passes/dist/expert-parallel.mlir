// RUN: hocket-opt %s --dist-propagate-shardings --dist-partition | FileCheck %s

// Four data-parallel ranks of which two and two hold different experts. Nothing
// here knows of expert parallelism: sequences are split in what `dispatch`
// fills, experts in what their weights multiply, and the way from one to the
// other and back is an all-to-all each.

module {
dist.mesh @mesh ["dp", "ep"] sizes [2, 2]
xf.variable @table : tensor<32x8xf32> {dist.sharding = #dist.sharding<@mesh, [[], []], partial = []>, kind = #xf.variable_kind<parameter>}
xf.variable @router : tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [[], []], partial = []>, kind = #xf.variable_kind<parameter>}
// CHECK: xf.variable @up : tensor<2x16x8xf32> {{.*}}whole = tensor<4x16x8xf32>
xf.variable @up : tensor<4x16x8xf32> {dist.sharding = #dist.sharding<@mesh, [["ep"], [], []], partial = []>, kind = #xf.variable_kind<parameter>}
xf.variable @down : tensor<4x8x16xf32> {dist.sharding = #dist.sharding<@mesh, [["ep"], [], []], partial = []>, kind = #xf.variable_kind<parameter>}
// An expert's gradient is a sum over the ranks that hold it, and no others.
// CHECK: xf.variable @up.grad : tensor<2x16x8xf32> {dist.sharding = #dist.sharding<@mesh, {{\[\[}}"ep"], [], []], partial = ["dp"]>
xf.variable @up.grad : tensor<4x16x8xf32> {dist.sharding = #dist.sharding<@mesh, [["ep"], [], []], partial = []>, kind = #xf.variable_kind<gradient>, of = @up}

// CHECK-LABEL: func.func @forward(
func.func @forward(%tokens: tensor<4x6xi32> {dist.sharding = #dist.sharding<@mesh, [["dp", "ep"], []], partial = []>}, %labels: tensor<4x6xi32> {dist.sharding = #dist.sharding<@mesh, [["dp", "ep"], []], partial = []>}) -> (tensor<f32>, tensor<4x4x3x8xf32>) {
  %table = xf.read @table : tensor<32x8xf32>
  %router = xf.read @router : tensor<4x8xf32>
  %up = xf.read @up : tensor<4x16x8xf32>
  %down = xf.read @down : tensor<4x8x16xf32>
  %x = xf.embedding %tokens, %table : (tensor<4x6xi32>, tensor<32x8xf32>) -> tensor<4x6x8xf32>
  %l = xf.linear %x, %router : (tensor<4x6x8xf32>, tensor<4x8xf32>) -> tensor<4x6x4xf32>
  // CHECK: %[[W:.*]], %[[E:.*]] = xf.router {{.*}} -> (tensor<1x6x2xf32>, tensor<1x6x2xi32>)
  %w, %e = xf.router %l {scale = 1.0, scores = #xf.router_scores<softmax>, top_k = 2 : i64} : (tensor<4x6x4xf32>) -> (tensor<4x6x2xf32>, tensor<4x6x2xi32>)
  // CHECK: %[[S:.*]] = xf.expert_order %[[E]] {{.*}}: (tensor<1x6x2xi32>) -> tensor<1x6x2xi32>
  %s = xf.expert_order %e {capacity = 3 : i64, experts = 4 : i64} : (tensor<4x6x2xi32>) -> tensor<4x6x2xi32>
  // CHECK: %[[ROWS:.*]] = xf.dispatch %{{.*}}, %[[S]] {{.*}} -> tensor<4x1x3x8xf32>
  // CHECK-NEXT: %[[SENT:.*]] = dist.all_to_all %[[ROWS]] split 0 concat 1 over ["ep"] {{.*}}: tensor<4x1x3x8xf32> to tensor<2x2x3x8xf32>
  // CHECK-NEXT: %[[H:.*]] = xf.grouped_linear %[[SENT]], {{.*}} -> tensor<2x2x3x16xf32>
  // CHECK-NEXT: %[[Y:.*]] = xf.grouped_linear %[[H]], {{.*}} -> tensor<2x2x3x8xf32>
  // CHECK-NEXT: %[[BACK:.*]] = dist.all_to_all %[[Y]] split 1 concat 0 over ["ep"] {{.*}}: tensor<2x2x3x8xf32> to tensor<4x1x3x8xf32>
  // CHECK-NEXT: xf.combine %[[BACK]], %[[S]], %[[W]] {{.*}} -> tensor<1x6x8xf32>
  %rows = xf.dispatch %x, %s : (tensor<4x6x8xf32>, tensor<4x6x2xi32>) -> tensor<4x4x3x8xf32>
  %h = xf.grouped_linear %rows, %up : (tensor<4x4x3x8xf32>, tensor<4x16x8xf32>) -> tensor<4x4x3x16xf32>
  %y = xf.grouped_linear %h, %down : (tensor<4x4x3x16xf32>, tensor<4x8x16xf32>) -> tensor<4x4x3x8xf32>
  %z = xf.combine %y, %s, %w : (tensor<4x4x3x8xf32>, tensor<4x6x2xi32>, tensor<4x6x2xf32>) -> tensor<4x6x8xf32>
  // The load-balancing loss is of all tokens: two sums of one number an expert.
  // CHECK: %[[P:.*]] = xf.router_probabilities
  // CHECK-NEXT: %[[N:.*]] = xf.expert_counts
  // CHECK-NEXT: dist.all_reduce %[[P]] over ["dp", "ep"]
  // CHECK-NEXT: dist.all_reduce %[[N]] over ["dp", "ep"]
  // CHECK-NEXT: xf.multiply
  // CHECK-NOT: dist.all_to_all
  %p = xf.router_probabilities %l {scores = #xf.router_scores<softmax>} : (tensor<4x6x4xf32>) -> tensor<4xf32>
  %n = xf.expert_counts %e : (tensor<4x6x2xi32>) -> tensor<4xf32>
  %pn = xf.multiply %p, %n : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %loss = xf.sum_leading %pn : (tensor<4xf32>) -> tensor<f32>
  return %loss, %rows : tensor<f32>, tensor<4x4x3x8xf32>
}
// CHECK-LABEL: func.func @backward(
func.func @backward(%tokens: tensor<4x6xi32>, %labels: tensor<4x6xi32>, %rows: tensor<4x4x3x8xf32>) {
  %up = xf.read @up : tensor<4x16x8xf32>
  %h = xf.grouped_linear %rows, %up : (tensor<4x4x3x8xf32>, tensor<4x16x8xf32>) -> tensor<4x4x3x16xf32>
  // The rows that were sent are kept for the gradient.
  // CHECK-NOT: = dist.
  // CHECK: xf.grouped_linear_weight_gradient %{{.*}}, %{{.*}} : (tensor<2x2x3x16xf32>, tensor<2x2x3x8xf32>) -> tensor<2x16x8xf32>
  // CHECK-NOT: dist.
  // CHECK: xf.accumulate
  %g = xf.grouped_linear_weight_gradient %h, %rows : (tensor<4x4x3x16xf32>, tensor<4x4x3x8xf32>) -> tensor<4x16x8xf32>
  xf.accumulate %g, @up.grad : tensor<4x16x8xf32>
  return
}
// CHECK-LABEL: func.func @update(
func.func @update() {
  // CHECK: dist.all_reduce %{{.*}} over ["dp"] {{.*}}: tensor<2x16x8xf32>
  %g = xf.read @up.grad : tensor<4x16x8xf32>
  %n, %bad = xf.global_norm %g : (tensor<4x16x8xf32>) -> (tensor<f32>, tensor<f32>)
  xf.output %n, "grad_norm" : tensor<f32>
  return
}
func.func @evaluate(%tokens: tensor<4x6xi32> {dist.sharding = #dist.sharding<@mesh, [["dp", "ep"], []], partial = []>}, %labels: tensor<4x6xi32> {dist.sharding = #dist.sharding<@mesh, [["dp", "ep"], []], partial = []>}) -> tensor<f32> {
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
xf.step microbatches(1) forward(@forward) backward(@backward) update(@update) evaluate(@evaluate)
}
