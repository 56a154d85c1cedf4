// Shardings from a file, which propagation then keeps to.

// RUN: split-file %s %t
// RUN: hocket-opt %t/program.mlir --xf-set-plan=plan=dp=2,tp=2,shardings=%t/good.txt --dist-seed-shardings \
// RUN:   | FileCheck %t/program.mlir --check-prefix=SEED
// RUN: hocket-opt %t/program.mlir --xf-set-plan=plan=dp=2,tp=2,shardings=%t/good.txt --dist-seed-shardings \
// RUN:   --dist-propagate-shardings --dist-explain-shardings \
// RUN:   | FileCheck %t/program.mlir --check-prefix=SPLIT
// RUN: hocket-opt %t/program.mlir --xf-set-plan=plan=dp=2,tp=2,shardings=%t/good.txt --dist-seed-shardings \
// RUN:   --dist-propagate-shardings --dist-partition \
// RUN:   | FileCheck %t/program.mlir --check-prefix=LOCAL

// What is wrong is said once, with its place.
// RUN: not hocket-opt %t/program.mlir --xf-set-plan=plan=dp=2,tp=2,shardings=%t/title.txt --dist-seed-shardings 2>&1 | FileCheck %t/title.txt
// RUN: not hocket-opt %t/program.mlir --xf-set-plan=plan=dp=2,tp=2,shardings=%t/version.txt --dist-seed-shardings 2>&1 | FileCheck %t/version.txt
// RUN: not hocket-opt %t/program.mlir --xf-set-plan=plan=dp=2,tp=2,shardings=%t/mesh.txt --dist-seed-shardings 2>&1 | FileCheck %t/mesh.txt
// RUN: not hocket-opt %t/program.mlir --xf-set-plan=plan=dp=2,tp=2,shardings=%t/axis.txt --dist-seed-shardings 2>&1 | FileCheck %t/axis.txt
// RUN: not hocket-opt %t/program.mlir --xf-set-plan=plan=dp=2,tp=2,shardings=%t/twice.txt --dist-seed-shardings 2>&1 | FileCheck %t/twice.txt
// RUN: not hocket-opt %t/program.mlir --xf-set-plan=plan=dp=2,tp=2,shardings=%t/name.txt --dist-seed-shardings 2>&1 | FileCheck %t/name.txt
// RUN: not hocket-opt %t/program.mlir --xf-set-plan=plan=dp=2,tp=2,shardings=%t/parameter.txt --dist-seed-shardings 2>&1 | FileCheck %t/parameter.txt
// RUN: not hocket-opt %t/program.mlir --xf-set-plan=plan=dp=2,tp=2,shardings=%t/op.txt --dist-seed-shardings 2>&1 | FileCheck %t/op.txt
// RUN: not hocket-opt %t/program.mlir --xf-set-plan=plan=dp=2,tp=2,shardings=%t/dims.txt --dist-seed-shardings 2>&1 | FileCheck %t/dims.txt
// RUN: not hocket-opt %t/program.mlir --xf-set-plan=plan=dp=2,tp=2,shardings=%t/uneven.txt --dist-seed-shardings 2>&1 | FileCheck %t/uneven.txt
// RUN: not hocket-opt %t/program.mlir --xf-set-plan=plan=dp=2,tp=2,shardings=%t/result.txt --dist-seed-shardings 2>&1 | FileCheck %t/result.txt
// RUN: not hocket-opt %t/program.mlir --xf-set-plan=plan=dp=2,tp=2,shardings=%t/tensors.txt --dist-seed-shardings 2>&1 | FileCheck %t/tensors.txt
// RUN: not hocket-opt %t/program.mlir --xf-set-plan=plan=dp=2,tp=2,shardings=%t/loops.txt --dist-seed-shardings 2>&1 | FileCheck %t/loops.txt
// RUN: not hocket-opt %t/program.mlir --xf-set-plan=plan=dp=2,tp=2,shardings=%t/none.txt --dist-seed-shardings 2>&1 | FileCheck %s --check-prefix=NONE

// NONE: none.txt

//--- good.txt
shardings
version 1
mesh dp=2 tp=2
split layers.*.up [dp,tp] # of all layers
split down [-,-]
split forward/linear [dp,-,tp] [-,tp] -> [dp,-,-]
split forward/linear@2 [-,dp+tp,-] [-,-] [-] -> [-,dp+tp,-]
split backward/up.grad/linear_weight_gradient [dp,-,-] [dp,-,tp] -> [-,tp]

//--- program.mlir
module {
// SEED: dist.mesh @mesh {{.*}}chosen = {ops = 3 : i64, parameters = 2 : i64}
// SPLIT: dist.mesh @mesh {{.*}}chosen = {kept = 3 : i64, ops = 3 : i64, parameters = 2 : i64}
// SPLIT-SAME: name = "layers.*.up"{{.*}}why = "as line 4 of the plan's shardings says"
// SPLIT-SAME: kind = "linear"{{.*}}why = "as line 6 of the plan's shardings says
dist.mesh @mesh ["dp", "tp"] sizes [2, 2]
// A parameter's line is of all that belongs to it.
// SEED: xf.variable @layers.0.up {{.*}}<line = 4{{.*}}{{\[\[}}"dp"], ["tp"]]
xf.variable @layers.0.up : tensor<64x16xf32> {dist.sharding = #dist.sharding<@mesh, [["tp"], []], partial = []>, kind = #xf.variable_kind<parameter>}
// SEED: xf.variable @layers.1.up {{.*}}{{\[\[}}"dp"], ["tp"]]
xf.variable @layers.1.up : tensor<64x16xf32> {dist.sharding = #dist.sharding<@mesh, [["tp"], []], partial = []>, kind = #xf.variable_kind<parameter>}
// SEED: xf.variable @layers.0.up.grad {{.*}}scattered = unit>, dist.sharding = #dist.sharding<@mesh, {{\[\[}}"dp"], ["tp"]]
// The op gives sums over dp, in shards along tp: they are scattered.
// SPLIT: xf.variable @layers.0.up.grad {{.*}}dist.sharding = #dist.sharding<@mesh, {{\[\[}}"dp"], ["tp"]], partial = []>
xf.variable @layers.0.up.grad : tensor<64x16xf32> {dist.sharding = #dist.sharding<@mesh, [["tp"], []], partial = []>, kind = #xf.variable_kind<gradient>, of = @layers.0.up}
// SEED: xf.variable @down {{.*}}{{\[\[}}], []]
xf.variable @down : tensor<16x64xf32> {dist.sharding = #dist.sharding<@mesh, [[], ["tp"]], partial = []>, kind = #xf.variable_kind<parameter>}
xf.variable @table : tensor<32x16xf32> {kind = #xf.variable_kind<parameter>}
xf.variable @odd : tensor<6xf32> {kind = #xf.variable_kind<parameter>}
xf.variable @bias : tensor<16xf32> {dist.sharding = #dist.sharding<@mesh, [[]], partial = []>, kind = #xf.variable_kind<parameter>}

func.func @forward(%tokens: tensor<4x8xi32> {dist.sharding = #dist.sharding<@mesh, [["dp"], []], partial = []>}, %labels: tensor<4x8xi32> {dist.sharding = #dist.sharding<@mesh, [["dp"], []], partial = []>}) -> (tensor<f32>, tensor<4x8x16xf32>) {
  %t = xf.read @table : tensor<32x16xf32>
  %x = xf.embedding %tokens, %t : (tensor<4x8xi32>, tensor<32x16xf32>) -> tensor<4x8x16xf32>
  %up = xf.read @layers.0.up : tensor<64x16xf32>
  %down = xf.read @down : tensor<16x64xf32>
  %b = xf.read @bias : tensor<16xf32>
  // SEED: xf.linear {{.*}}<line = 6, split = {{\[\[}}"dp"], [], ["tp"], []]>
  // SPLIT: xf.linear {{.*}}results = [#dist.sharding<@mesh, {{\[\[}}"dp"], [], []], partial = ["tp"]>]
  // LOCAL-LABEL: func.func @forward
  // LOCAL: xf.linear {{.*}} : (tensor<2x8x8xf32>, tensor<64x8xf32>) -> tensor<2x8x64xf32>
  %h = xf.linear %x, %up : (tensor<4x8x16xf32>, tensor<64x16xf32>) -> tensor<4x8x64xf32>
  // Sequences over dp become positions over both.
  // LOCAL: dist.all_to_all
  // SPLIT: xf.linear {{.*}}results = [#dist.sharding<@mesh, {{\[\[}}], ["dp", "tp"], []], partial = []>]
  // LOCAL: xf.linear {{.*}} : (tensor<4x2x64xf32>, tensor<16x64xf32>, tensor<16xf32>) -> tensor<4x2x16xf32>
  %y = xf.linear %h, %down, %b : (tensor<4x8x64xf32>, tensor<16x64xf32>, tensor<16xf32>) -> tensor<4x8x16xf32>
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss, %x : tensor<f32>, tensor<4x8x16xf32>
}
func.func @backward(%tokens: tensor<4x8xi32>, %labels: tensor<4x8xi32>, %again: tensor<4x8x16xf32> {dist.stream = #dist.sharding<@mesh, [["dp"], [], []], partial = []>}) {
  %up = xf.read @layers.0.up : tensor<64x16xf32>
  %h = xf.linear %again, %up : (tensor<4x8x16xf32>, tensor<64x16xf32>) -> tensor<4x8x64xf32>
  // LOCAL: xf.linear_weight_gradient {{.*}} -> tensor<64x8xf32>
  // LOCAL: dist.reduce_scatter {{.*}} dim 0 over ["dp"]
  %g = xf.linear_weight_gradient %h, %again : (tensor<4x8x64xf32>, tensor<4x8x16xf32>) -> tensor<64x16xf32> loc("up.grad")
  xf.accumulate %g, @layers.0.up.grad : tensor<64x16xf32>
  return
}
func.func @update() {
  %g = xf.read @layers.0.up.grad : tensor<64x16xf32>
  %n, %bad = xf.global_norm %g : (tensor<64x16xf32>) -> (tensor<f32>, tensor<f32>)
  xf.output %n, "grad_norm" : tensor<f32>
  return
}
func.func @evaluate(%tokens: tensor<4x8xi32> {dist.sharding = #dist.sharding<@mesh, [["dp"], []], partial = []>}, %labels: tensor<4x8xi32> {dist.sharding = #dist.sharding<@mesh, [["dp"], []], partial = []>}) -> tensor<f32> {
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
xf.step microbatches(1) forward(@forward) backward(@backward) update(@update) evaluate(@evaluate)
}

//--- title.txt
splits
# CHECK: title.txt:1:1: Q30: expected 'shardings' first, found 'splits'
//--- version.txt
shardings
version 2
# CHECK: version.txt:2:9: Q30: expected a whole number from 1 to 1, found '2'
//--- mesh.txt
shardings
version 1
mesh dp=2 tp=4
# CHECK: mesh.txt:3:1: error: D21: the mesh is 'dp=2 tp=4', but that of the plan is 'dp=2 tp=2'; compile for the ranks that the file was written for
//--- axis.txt
shardings
version 1
mesh dp=2 tp=2
split down [-,model]
# CHECK: axis.txt:4:15: Q30: expected axes of the mesh (dp=2 tp=2), or - for a dim that is whole, found 'model'
//--- twice.txt
shardings
version 1
mesh dp=2 tp=2
split down [tp,tp]
# CHECK: twice.txt:4:16: Q30: an axis splits one dim of a tensor, once, found 'tp'
//--- name.txt
shardings
version 1
mesh dp=2 tp=2
split down [tp,-]
split down [-,tp]
# CHECK: name.txt:5:7: Q30: expected each name once, found 'down'
//--- parameter.txt
shardings
version 1
mesh dp=2 tp=2
split gate [tp,-]
# CHECK: parameter.txt:4:7: error: D21: the program has no parameter 'gate'; is the file of another model?
//--- op.txt
shardings
version 1
mesh dp=2 tp=2
split forward/linear@3 [-,-,-] [-,-] -> [-,-,-]
# CHECK: op.txt:4:7: error: D21: the program has no op 'forward/linear@3'; is the file of another model?
//--- dims.txt
shardings
version 1
mesh dp=2 tp=2
split down [-,-,tp]
# CHECK: dims.txt:4:12: error: D21: '[-,-,tp]' is not of the 2 dims of 'tensor<16x64xf32>'
//--- uneven.txt
shardings
version 1
mesh dp=2 tp=2
split odd [dp+tp]
# CHECK: uneven.txt:4:11: error: D21: 4 devices do not share dim 0 of 'tensor<6xf32>' evenly
//--- result.txt
shardings
version 1
mesh dp=2 tp=2
split forward/linear [-,-,-] [-,-] -> [-,-,-]
split forward/linear@2 [-,-,-] [-,-] [-] -> [-,-]
# CHECK: result.txt:5:45: error: D21: '[-,-]' is not of the 3 dims of 'tensor<4x8x16xf32>'
//--- tensors.txt
shardings
version 1
mesh dp=2 tp=2
split forward/linear [-,-,-] -> [-,-,-]
# CHECK: tensors.txt:4:7: error: D21: 'forward/linear' has 2 tensors on this side of ->, not 1
//--- loops.txt
shardings
version 1
mesh dp=2 tp=2
split forward/linear [dp,-,tp] [-,-] -> [dp,-,-]
# CHECK: loops.txt:4:7: error: D21: 'forward/linear' cannot be split so: an axis splits one loop of it, in the mesh's order, evenly, wherever the loop appears in ([a, b, c], [d, c]) -> ([a, b, d]) {a=4, b=8, c=16 reduced, d=64}
