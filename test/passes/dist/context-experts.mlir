// RUN: split-file %s %t
// RUN: cat %t/rows %t/step | hocket-opt --dist-propagate-shardings --dist-partition | FileCheck %s --check-prefixes=CHECK,ROWS
// RUN: cat %t/experts %t/step | hocket-opt --dist-propagate-shardings --dist-partition | FileCheck %s --check-prefixes=CHECK,EXPERTS
// RUN: cat %t/experts %t/step | hocket-opt --dist-propagate-shardings --dist-explain-shardings | FileCheck %s --check-prefix=WHY

// Two ranks share sequences. What each sends to the experts is a sum over both:
// either each works on half of every expert's rows, or the experts are split
// over both, and the sums go where their expert is. No row is computed twice.

// WHY: name = "up", {{.*}}why = "dim 0 over cp: by the plan, cp = 2 splits experts; dim 0 over ep: by the plan, ep = 2 splits experts"}
// WHY-SAME: kind = "constrain", {{[^}]*}}why = "experts work on their rows so, and keep them so for the gradient; devices that share sequences add up what each has filled in"}
// WHY-SAME: kind = "grouped_linear", {{[^}]*}}why = "dim 0 over cp: follows dim 0 of 'up', a weight, and weights move last;

//--- rows
module {
dist.mesh @mesh ["ep", "cp"] sizes [2, 2]
// ROWS: xf.variable @up : tensor<2x16x8xf32> {{.*}}whole = tensor<4x16x8xf32>
xf.variable @up : tensor<4x16x8xf32> {dist.placement = #dist.placement<reasons = [[#dist.reason<model over "ep">]]>, dist.sharding = #dist.sharding<@mesh, [["ep"], [], []], partial = []>, kind = #xf.variable_kind<parameter>}
// A gradient of every rank's rows is a sum over both.
// ROWS: xf.variable @up.grad : tensor<2x16x8xf32> {dist.sharding = #dist.sharding<@mesh, {{\[\[}}"ep"], [], []], partial = ["cp"]>
xf.variable @up.grad : tensor<4x16x8xf32> {dist.placement = #dist.placement<reasons = [[#dist.reason<model over "ep">]]>, dist.sharding = #dist.sharding<@mesh, [["ep"], [], []], partial = []>, kind = #xf.variable_kind<gradient>, of = @up}
//--- experts
module {
dist.mesh @mesh ["ep", "cp"] sizes [2, 2] experts ["cp", "ep"]
// EXPERTS: xf.variable @up : tensor<1x16x8xf32> {{.*}}whole = tensor<4x16x8xf32>
xf.variable @up : tensor<4x16x8xf32> {dist.placement = #dist.placement<reasons = [[#dist.reason<model over "cp">, #dist.reason<model over "ep">]]>, dist.sharding = #dist.sharding<@mesh, [["cp", "ep"], [], []], partial = []>, kind = #xf.variable_kind<parameter>}
// EXPERTS: xf.variable @up.grad : tensor<1x16x8xf32> {dist.sharding = #dist.sharding<@mesh, {{\[\[}}"cp", "ep"], [], []], partial = []>
xf.variable @up.grad : tensor<4x16x8xf32> {dist.placement = #dist.placement<reasons = [[#dist.reason<model over "cp">, #dist.reason<model over "ep">]]>, dist.sharding = #dist.sharding<@mesh, [["cp", "ep"], [], []], partial = []>, kind = #xf.variable_kind<gradient>, of = @up}
//--- step
xf.variable @table : tensor<32x8xf32> {dist.sharding = #dist.sharding<@mesh, [[], []], partial = []>, kind = #xf.variable_kind<parameter>}
xf.variable @router : tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [[], []], partial = []>, kind = #xf.variable_kind<parameter>}
// CHECK-LABEL: func.func @forward(
// The rows that experts work on are kept for their gradient.
// ROWS-SAME: -> (tensor<f32>, tensor<2x2x2x8xf32>)
// EXPERTS-SAME: -> (tensor<f32>, tensor<1x2x4x8xf32>)
func.func @forward(%tokens: tensor<2x6xi32> {dist.sharding = #dist.sharding<@mesh, [["ep"], ["cp"]], partial = []>}, %labels: tensor<2x6xi32> {dist.sharding = #dist.sharding<@mesh, [["ep"], ["cp"]], partial = []>}) -> (tensor<f32>, tensor<4x2x4x8xf32>) {
  %table = xf.read @table : tensor<32x8xf32>
  %router = xf.read @router : tensor<4x8xf32>
  %up = xf.read @up : tensor<4x16x8xf32>
  %x = xf.embedding %tokens, %table : (tensor<2x6xi32>, tensor<32x8xf32>) -> tensor<2x6x8xf32>
  %l = xf.linear %x, %router : (tensor<2x6x8xf32>, tensor<4x8xf32>) -> tensor<2x6x4xf32>
  %w, %e = xf.router %l {scale = 1.0, scores = #xf.router_scores<softmax>, top_k = 2 : i64} : (tensor<2x6x4xf32>) -> (tensor<2x6x2xf32>, tensor<2x6x2xi32>)
  // Rows are counted over whole sequences.
  // CHECK: %[[ALL:.*]] = dist.all_gather %{{.*}} dim 1 over ["cp"] {{.*}}: tensor<1x3x2xi32> to tensor<1x6x2xi32>
  // CHECK: %[[SLOTS:.*]] = xf.expert_order %[[ALL]]
  // CHECK: %[[S:.*]] = dist.slice %[[SLOTS]] dim 1 over ["cp"]
  %s = xf.expert_order %e {capacity = 4 : i64, experts = 4 : i64} : (tensor<2x6x2xi32>) -> tensor<2x6x2xi32>
  // CHECK: %[[ROWS:.*]] = xf.dispatch %{{.*}}, %[[S]] {{.*}} -> tensor<4x1x4x8xf32>
  // ROWS-NEXT: %[[MINE:.*]] = dist.reduce_scatter %[[ROWS]] dim 2 over ["cp"] {{.*}}: tensor<4x1x4x8xf32> to tensor<4x1x2x8xf32>
  // ROWS-NEXT: %[[SENT:.*]] = dist.all_to_all %[[MINE]] split 0 concat 1 over ["ep"] {{.*}}: tensor<4x1x2x8xf32> to tensor<2x2x2x8xf32>
  // ROWS-NEXT: %[[H:.*]] = xf.grouped_linear %[[SENT]], {{.*}} -> tensor<2x2x2x16xf32>
  // ROWS: dist.all_to_all %{{.*}} split 1 concat 0 over ["ep"]
  // ROWS-NEXT: %[[BACK:.*]] = dist.all_gather %{{.*}} dim 2 over ["cp"] {{.*}}: tensor<4x1x2x8xf32> to tensor<4x1x4x8xf32>
  // EXPERTS-NEXT: %[[MINE:.*]] = dist.reduce_scatter %[[ROWS]] dim 0 over ["cp"] {{.*}}: tensor<4x1x4x8xf32> to tensor<2x1x4x8xf32>
  // EXPERTS-NEXT: %[[SENT:.*]] = dist.all_to_all %[[MINE]] split 0 concat 1 over ["ep"] {{.*}}: tensor<2x1x4x8xf32> to tensor<1x2x4x8xf32>
  // EXPERTS-NEXT: %[[H:.*]] = xf.grouped_linear %[[SENT]], {{.*}} -> tensor<1x2x4x16xf32>
  // EXPERTS: dist.all_to_all %{{.*}} split 1 concat 0 over ["ep"]
  // EXPERTS-NEXT: %[[BACK:.*]] = dist.all_gather %{{.*}} dim 0 over ["cp"] {{.*}}: tensor<2x1x4x8xf32> to tensor<4x1x4x8xf32>
  // CHECK-NEXT: xf.combine %[[BACK]], %[[S]], {{.*}} -> tensor<1x3x8xf32>
  %rows = xf.dispatch %x, %s : (tensor<2x6x8xf32>, tensor<2x6x2xi32>) -> tensor<4x2x4x8xf32>
  %h = xf.grouped_linear %rows, %up : (tensor<4x2x4x8xf32>, tensor<4x16x8xf32>) -> tensor<4x2x4x16xf32>
  %y = xf.grouped_linear_input_gradient %h, %up : (tensor<4x2x4x16xf32>, tensor<4x16x8xf32>) -> tensor<4x2x4x8xf32>
  %z = xf.combine %y, %s, %w : (tensor<4x2x4x8xf32>, tensor<2x6x2xi32>, tensor<2x6x2xf32>) -> tensor<2x6x8xf32>
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss, %rows : tensor<f32>, tensor<4x2x4x8xf32>
}
// CHECK-LABEL: func.func @backward(
func.func @backward(%tokens: tensor<2x6xi32>, %labels: tensor<2x6xi32>, %rows: tensor<4x2x4x8xf32>) {
  // CHECK-NOT: = dist.
  %up = xf.read @up : tensor<4x16x8xf32>
  %h = xf.grouped_linear %rows, %up : (tensor<4x2x4x8xf32>, tensor<4x16x8xf32>) -> tensor<4x2x4x16xf32>
  // ROWS: xf.grouped_linear_weight_gradient {{.*}} : (tensor<2x2x2x16xf32>, tensor<2x2x2x8xf32>) -> tensor<2x16x8xf32>
  // EXPERTS: xf.grouped_linear_weight_gradient {{.*}} : (tensor<1x2x4x16xf32>, tensor<1x2x4x8xf32>) -> tensor<1x16x8xf32>
  // CHECK-NOT: = dist.
  // CHECK: xf.accumulate
  %g = xf.grouped_linear_weight_gradient %h, %rows : (tensor<4x2x4x16xf32>, tensor<4x2x4x8xf32>) -> tensor<4x16x8xf32>
  xf.accumulate %g, @up.grad : tensor<4x16x8xf32>
  return
}
func.func @update() {
  return
}
func.func @evaluate(%tokens: tensor<2x6xi32> {dist.sharding = #dist.sharding<@mesh, [["ep"], ["cp"]], partial = []>}, %labels: tensor<2x6xi32> {dist.sharding = #dist.sharding<@mesh, [["ep"], ["cp"]], partial = []>}) -> tensor<f32> {
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
xf.step microbatches(1) forward(@forward) backward(@backward) update(@update) evaluate(@evaluate)
}
