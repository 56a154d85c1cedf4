// RUN: hocket-opt %s --split-input-file --convert-xf-to-dist | FileCheck %s
// RUN: not hocket-opt %s --convert-xf-to-dist="axes=dp=2" 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: not hocket-opt %s --convert-xf-to-dist="axes=dp" 2>&1 | FileCheck %s --check-prefix=SYNTAX

// TWO: D11: the mesh has 2 devices; this compiler places programs on one
// SYNTAX: a mesh axis is written name=size, not 'dp'

// CHECK: dist.mesh @mesh ["dp"] sizes [1]
// CHECK: xf.variable @w : tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, {{\[\[}}], []], partial = []>
xf.variable @w : tensor<8x8xf32> {kind = #xf.variable_kind<parameter>}
// CHECK: func.func @forward(%{{.*}}: tensor<2x4xi32> {dist.sharding = #dist.sharding<@mesh, {{\[\[}}], []], partial = []>}
func.func @forward(%x: tensor<2x4xi32>, %y: tensor<2x4xi32>) {
  return
}
func.func @backward() {
  return
}
xf.step microbatches(1) forward(@forward) backward(@backward) update(@backward) evaluate(@forward)
