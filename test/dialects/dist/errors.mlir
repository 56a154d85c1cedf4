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

// expected-error @+1 {{D10: a mesh has at most 1048576 devices}}
dist.mesh @mesh ["dp", "tp"] sizes [1048576, 9223372036854775807]
