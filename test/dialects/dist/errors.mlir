// RUN: hocket-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

// expected-error @+1 {{D1: each dim of a sharding has a list of axes, not "dp"}}
"test.op"() {s = #dist.sharding<@mesh, ["dp"], partial = []>} : () -> ()

// -----

// expected-error @+1 {{D2: axis "dp" stands twice in one sharding}}
"test.op"() {s = #dist.sharding<@mesh, [["dp"], ["dp"]], partial = []>} : () -> ()

// -----

dist.mesh @mesh ["dp"] sizes [2]
// expected-error @+1 {{D3: `dist.sharding` must be a #dist.sharding}}
xf.variable @w : tensor<8x8xf32> {kind = #xf.variable_kind<parameter>, dist.sharding = "dp"}

// -----

dist.mesh @mesh ["dp"] sizes [2]
// expected-error @+1 {{D4: a sharding of 1 dims stands on 'tensor<8x8xf32>'}}
xf.variable @w : tensor<8x8xf32> {kind = #xf.variable_kind<parameter>, dist.sharding = #dist.sharding<@mesh, [[]], partial = []>}

// -----

// expected-error @+1 {{D5: no `dist.mesh` is named @mesh}}
xf.variable @w : tensor<8xf32> {kind = #xf.variable_kind<parameter>, dist.sharding = #dist.sharding<@mesh, [[]], partial = []>}

// -----

dist.mesh @mesh ["dp"] sizes [2]
// expected-error @+1 {{D6: mesh @mesh has no axis "tp"}}
xf.variable @w : tensor<8xf32> {kind = #xf.variable_kind<parameter>, dist.sharding = #dist.sharding<@mesh, [["tp"]], partial = []>}

// -----

// expected-error @+1 {{D7: 1 axes have 2 sizes}}
dist.mesh @mesh ["dp"] sizes [2, 2]

// -----

// expected-error @+1 {{D8: axis "dp" stands twice in the mesh}}
dist.mesh @mesh ["dp", "dp"] sizes [2, 2]

// -----

// expected-error @+1 {{D9: an axis has at least one device, not 0}}
dist.mesh @mesh ["dp"] sizes [0]

// -----

// expected-error @+1 {{D28: has no axis "ep" for experts}}
dist.mesh @mesh ["dp"] sizes [2] experts ["ep"]

// -----

// expected-error @+1 {{D28: has no axis "tp.0" for experts}}
dist.mesh @mesh ["ep"] sizes [2] experts ["ep"] sharing ["tp.0"]

// -----

// expected-error @+1 {{D28: parts have at least one row, in one round}}
dist.mesh @mesh ["cp"] sizes [2] context ring parts 0

// -----

// expected-error @+1 {{D28: parts have at least one row, in one round}}
dist.mesh @mesh ["cp"] sizes [2] context ring parts 1 rounds 0

// -----

// expected-error @+1 {{D10: a mesh has at most 1048576 devices}}
dist.mesh @mesh ["dp", "tp"] sizes [1048576, 9223372036854775807]

// -----

func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{D12: stands in no module with a `dist.mesh`}}
  %y = dist.all_reduce %x over ["tp"] : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

dist.mesh @mesh ["tp"] sizes [2]
func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{D13: names no axis}}
  %y = dist.shift %x over [] : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

dist.mesh @mesh ["tp"] sizes [2]
func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{D13: axis "tp" stands twice}}
  %y = dist.all_reduce %x over ["tp", "tp"] : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

dist.mesh @mesh ["tp"] sizes [2]
func.func @f(%x: tensor<5x8xf32>) -> tensor<2x8xf32> {
  // expected-error @+1 {{D14: dim 0 of a shard of 'tensor<5x8xf32>' over 2 devices is 3, not 2}}
  %y = dist.slice %x dim 0 over ["tp"] : tensor<5x8xf32> to tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// -----

dist.mesh @mesh ["tp"] sizes [2]
func.func @f(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{D14: dim 0 of 'tensor<4x8xf32>' does not follow from 'tensor<4x8xf32>' over 2 devices}}
  %y = dist.all_to_all %x split 0 concat 1 over ["tp"] : tensor<4x8xf32> to tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

dist.mesh @mesh ["tp"] sizes [2]
func.func @f(%x: tensor<4xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{D15: there is no dim 1 in 'tensor<8xf32>'}}
  %y = dist.all_gather %x dim 1 over ["tp"] : tensor<4xf32> to tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

dist.mesh @mesh ["tp"] sizes [2]
func.func @f(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{D15: dims 1 and 1 are not two dims of 'tensor<4x8xf32>'}}
  %y = dist.all_to_all %x split 1 concat 1 over ["tp"] : tensor<4x8xf32> to tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

dist.mesh @mesh ["tp"] sizes [2]
func.func @f() -> i32 {
  // expected-error @+1 {{D16: a shard has at least one element, not 0}}
  %o = dist.offset over ["tp"] step 0
  return %o : i32
}

// -----

dist.mesh @mesh ["ep"] sizes [2]
func.func @f(%x: tensor<1x6x5xf32>, %r: tensor<1x8x2xi32>, %s: tensor<1x2x4x2xi32>) {
  // expected-error @+1 {{D25: 'tensor<1x9x4xf32>' does not hold the rows of 'tensor<1x6x5xf32>'}}
  %y = dist.exchange_rows %x, %r, %s over ["ep"] : (tensor<1x6x5xf32>, tensor<1x8x2xi32>, tensor<1x2x4x2xi32>) -> tensor<1x9x4xf32>
  return
}

// -----

dist.mesh @mesh ["ep"] sizes [2]
func.func @f(%x: tensor<2x9x5xf32>, %r: tensor<1x8x2xi32>, %s: tensor<1x2x4x2xi32>) {
  // expected-error @+1 {{D25: 'tensor<2x6x5xf32>' does not hold the rows of 'tensor<2x9x5xf32>'}}
  %y = dist.return_rows %x, %r, %s over ["ep"] : (tensor<2x9x5xf32>, tensor<1x8x2xi32>, tensor<1x2x4x2xi32>) -> tensor<2x6x5xf32>
  return
}

// -----

dist.mesh @mesh ["ep"] sizes [2]
func.func @f(%x: tensor<1x9x5xf32>, %r: tensor<1x8x2xf32>, %s: tensor<1x2x4x2xi32>) {
  // expected-error @+1 {{D25: 'tensor<1x8x2xf32>' are no ranges of a run}}
  %y = dist.return_rows %x, %r, %s over ["ep"] : (tensor<1x9x5xf32>, tensor<1x8x2xf32>, tensor<1x2x4x2xi32>) -> tensor<1x6x5xf32>
  return
}

// -----

dist.mesh @mesh ["ep"] sizes [2]
func.func @f(%x: tensor<1x6x5xf32>, %r: tensor<1x8x2xi32>, %s: tensor<1x4x2x2xi32>) {
  // expected-error @+1 {{D25: 'tensor<1x4x2x2xi32>' are no segments of 'tensor<1x8x2xi32>' over 2 devices}}
  %y = dist.exchange_rows %x, %r, %s over ["ep"] : (tensor<1x6x5xf32>, tensor<1x8x2xi32>, tensor<1x4x2x2xi32>) -> tensor<1x9x5xf32>
  return
}

// -----

dist.mesh @mesh ["dp"] sizes [2]
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{D29: `dist.placement` must be a #dist.placement}}
  %y = xf.add %x, %x {dist.placement = "dp"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh ["dp"] sizes [2]
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{D29: has shardings of 1 operands and 2 operands}}
  %y = xf.add %x, %x {dist.placement = #dist.placement<operands = [#dist.sharding<@mesh, [["dp"]], partial = []>]>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh ["dp"] sizes [2]
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{D29: has unit among its results for 'tensor<4xf32>'}}
  %y = xf.add %x, %x {dist.placement = #dist.placement<results = [unit]>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh ["dp"] sizes [2]
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{D29: has #dist.sharding<@mesh, [["dp"], []], partial = []> among its results for 'tensor<4xf32>'}}
  %y = xf.add %x, %x {dist.placement = #dist.placement<results = [#dist.sharding<@mesh, [["dp"], []], partial = []>]>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh ["dp"] sizes [2]
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{D29: has reasons of 2 values, of 1}}
  %y = xf.add %x, %x {dist.placement = #dist.placement<reasons = [[], []]>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh ["dp"] sizes [2]
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{D29: has ["dp"], no list of reasons}}
  %y = xf.add %x, %x {dist.placement = #dist.placement<moves = [["dp"]]>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh ["dp"] sizes [2]
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{D29: only variables are scattered}}
  %y = xf.add %x, %x {dist.placement = #dist.placement<scattered = unit>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
