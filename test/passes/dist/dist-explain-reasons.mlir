// RUN: hocket-opt %s --dist-explain-shardings | FileCheck %s

// The words for every reason that propagation writes down, and none of its own:
// these reasons are not those of the ops that they are on.

// CHECK: dist.mesh @mesh
dist.mesh @mesh ["dp", "tp"] sizes [2, 2]
// CHECK-SAME: name = "state", {{.*}}why = "dim 0 over dp: ZeRO keeps the optimizer's state in shards"
xf.variable @state : tensor<8xf32> {dist.placement = #dist.placement<reasons = [[#dist.reason<zero_state over "dp">]]>, dist.sharding = #dist.sharding<@mesh, [["dp"]], partial = []>, kind = #xf.variable_kind<parameter>}
// CHECK-SAME: name = "copy", {{.*}}why = "dim 0 over dp: ZeRO keeps this copy, which the optimizer alone reads, in the shards of its state"
xf.variable @copy : tensor<8xf32> {dist.placement = #dist.placement<reasons = [[#dist.reason<zero_copy over "dp">]]>, dist.sharding = #dist.sharding<@mesh, [["dp"]], partial = []>, kind = #xf.variable_kind<parameter>}
// CHECK-SAME: name = "weights", {{.*}}why = "dim 0 over dp: ZeRO-3 keeps weights in shards and gathers them for use"
xf.variable @weights : tensor<8xf32> {dist.placement = #dist.placement<reasons = [[#dist.reason<zero_weights over "dp">]]>, dist.sharding = #dist.sharding<@mesh, [["dp"]], partial = []>, kind = #xf.variable_kind<parameter>}
// CHECK-SAME: name = "gradient", {{.*}}why = "dim 0 over dp: ZeRO-2 keeps gradients in the shards of the optimizer's state; partial sums over tp: each rank adds up the gradient of its own data, and their sum is formed once a step, where the update begins"
xf.variable @gradient : tensor<8xf32> {dist.placement = #dist.placement<reasons = [[#dist.reason<zero_gradients over "dp">, #dist.reason<sums_of_data over "tp">]]>, dist.sharding = #dist.sharding<@mesh, [["dp"]], partial = ["tp"]>, kind = #xf.variable_kind<parameter>}
// CHECK-SAME: name = "first", {{.*}}why = "dim 0 over dp: as the op gives it that is the first to add to it"
xf.variable @first : tensor<8xf32> {dist.placement = #dist.placement<reasons = [[#dist.reason<first_addition over "dp">]]>, dist.sharding = #dist.sharding<@mesh, [["dp"]], partial = []>, kind = #xf.variable_kind<parameter>}
// CHECK-SAME: name = "cache", {{.*}}why = "dim 0 over dp: by the plan, dp = 2 splits sequences, and pages are with theirs; dim 1 over tp: by the plan, tp = 2 splits key and value heads"
xf.variable @cache : tensor<8x8xf32> {dist.placement = #dist.placement<reasons = [[#dist.reason<cache_pages over "dp">, #dist.reason<cache_heads over "tp">]]>, dist.sharding = #dist.sharding<@mesh, [["dp"], ["tp"]], partial = []>, kind = #xf.variable_kind<parameter>}
// CHECK-SAME: name = "keys", {{.*}}why = "dim 2 over tp: by the plan, tp = 2 splits key and value heads"
xf.variable @keys : tensor<8x8x8x8xf32> {dist.placement = #dist.placement<reasons = [[#dist.reason<cache_heads over "tp">]]>, dist.sharding = #dist.sharding<@mesh, [[], [], ["tp"], []], partial = []>, kind = #xf.variable_kind<cache>, role = #xf.parameter_role<key>}
// CHECK-SAME: name = "states", {{.*}}why = "dim 1 over tp: by the plan, tp = 2 splits heads of state spaces"
xf.variable @states : tensor<8x8x8x8xf32> {dist.placement = #dist.placement<reasons = [[#dist.reason<cache_heads over "tp">]]>, dist.sharding = #dist.sharding<@mesh, [[], ["tp"], [], []], partial = []>, kind = #xf.variable_kind<cache>, role = #xf.parameter_role<state_input>}
// CHECK-SAME: name = "chosen", {{.*}}why = "as line 7 of the plan's shardings says"
xf.variable @chosen : tensor<8xf32> {dist.placement = #dist.placement<reasons = [[#dist.reason<chosen line 7>]]>, dist.sharding = #dist.sharding<@mesh, [["dp"]], partial = []>, kind = #xf.variable_kind<parameter>}
// One that is placed by hand has no reason.
// CHECK-SAME: name = "placed", {{.*}}why = "dim 0 over dp: as the program says"
xf.variable @placed : tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [["dp"]], partial = []>, kind = #xf.variable_kind<parameter>}

func.func @forward(%a: tensor<8x8xf32> loc("a"), %b: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [["dp"], ["tp"]], partial = []>} loc("b")) {
  // CHECK-SAME: name = "two", {{.*}}why = "dim 0 over dp: follows dim 1 of 'b', a weight; dim 1 over tp: follows the parameter whose gradient it is added to"
  %two = xf.add %a, %b {dist.placement = #dist.placement<reasons = [[#dist.reason<weight over "dp" operand 1 dim 1>, #dist.reason<gradient_of over "tp">]], results = [#dist.sharding<@mesh, [["dp"], ["tp"]], partial = []>]>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("two")
  // CHECK-SAME: name = "stream", {{.*}}why = "dim 0 over dp: the residual stream lies so by the plan, and partial sums that are of it are formed there; dim 1 over tp: each device has its own part of the vocabulary"
  %stream = xf.add %a, %b {dist.placement = #dist.placement<reasons = [[#dist.reason<stream over "dp">, #dist.reason<vocabulary over "tp">]], results = [#dist.sharding<@mesh, [["dp"], ["tp"]], partial = []>]>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("stream")
  // CHECK-SAME: name = "rows", {{.*}}why = "dim 0 over dp: devices that share sequences share out each expert's rows; dim 1 over tp: each device makes it for the positions that it has"
  %rows = xf.add %a, %b {dist.placement = #dist.placement<reasons = [[#dist.reason<shared_rows over "dp">, #dist.reason<positions over "tp">]], results = [#dist.sharding<@mesh, [["dp"], ["tp"]], partial = []>]>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("rows")
  // CHECK-SAME: name = "heads", {{.*}}why = "dim 0 over dp: sequences are needed whole, so that heads or channels are split in the place of positions; dim 1 over tp: keys and values stay where their positions are, and travel in a ring"
  %heads = xf.add %a, %b {dist.placement = #dist.placement<reasons = [[#dist.reason<heads over "dp">, #dist.reason<ring over "tp">]], results = [#dist.sharding<@mesh, [["dp"], ["tp"]], partial = []>]>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("heads")
  // CHECK-SAME: name = "sums", {{.*}}why = "partial sums over dp: passed on from 'a', since the op is linear; partial sums over tp: each device adds up its own part"
  %sums = xf.add %a, %b {dist.placement = #dist.placement<reasons = [[#dist.reason<linear over "dp" operand 0>, #dist.reason<own_part over "tp">]], results = [#dist.sharding<@mesh, [[], []], partial = ["dp", "tp"]>]>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("sums")
  // CHECK-SAME: name = "moved", {{.*}}why = "whole: nothing that it is made of splits it; 'b' moves from {{\[\[}}dp], [tp]], partial = [] to {{\[\[}}], []], partial = [], because dp splits dim 1 of 'a', because the op needs all of dim 1"
  %moved = xf.add %a, %b {dist.placement = #dist.placement<moves = [unit, [#dist.reason<operand over "dp" operand 0 dim 1>, #dist.reason<needs_all over "tp" operand 1 dim 1>]], operands = [#dist.sharding<@mesh, [[], []], partial = []>, #dist.sharding<@mesh, [[], []], partial = []>], reasons = [[]], results = [#dist.sharding<@mesh, [[], []], partial = []>]>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("moved")
  // CHECK-SAME: name = "lost", {{.*}}because dp splits the parameter whose gradient it is added to, because tp splits heads in the place of positions"
  %lost = xf.add %a, %b {dist.placement = #dist.placement<moves = [unit, [#dist.reason<gradient_of over "dp">, #dist.reason<heads over "tp">]], operands = [#dist.sharding<@mesh, [[], []], partial = []>, #dist.sharding<@mesh, [[], []], partial = []>], reasons = [[]], results = [#dist.sharding<@mesh, [[], []], partial = []>]>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("lost")
  // CHECK-SAME: name = "alike", {{.*}}why = "as the same op of training"
  %alike = xf.add %a, %b {dist.placement = #dist.placement<reasons = [[#dist.reason<chosen_alike>]], results = [#dist.sharding<@mesh, [["dp"], []], partial = []>]>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("alike")
  // CHECK-SAME: name = "wanted", {{.*}}why = "wanted so where it is used next"
  %wanted = dist.constrain %a to <@mesh, [["dp"], []], partial = []> {dist.placement = #dist.placement<reasons = [[#dist.reason<wanted>]], results = [#dist.sharding<@mesh, [["dp"], []], partial = []>]>} : tensor<8x8xf32> loc("wanted")
  return
}
