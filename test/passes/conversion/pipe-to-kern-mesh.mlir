// RUN: hocket-opt %s --convert-pipe-to-kern | FileCheck %s

// What later levels need of the devices stands in the module; what the mesh said
// of parts of sequences is the host's matter from here on.

// CHECK: module attributes {kern.mesh = {axes = ["dp", "cp"], sizes = array<i64: 2, 2>}, kern.part = 2 : i64}
// CHECK: dist.mesh @mesh ["dp", "cp"] sizes [2, 2]{{$}}
dist.mesh @mesh ["dp", "cp"] sizes [2, 2] parts 2 rounds 2
// CHECK: kern.fragment E @evaluate(%{{.*}}: tensor<1x4xi32> from host "tokens" split {{\[}}["dp"], ["cp"]], %{{.*}}: tensor<1x4xi32> from host "labels") {
func.func @evaluate(%tokens: tensor<1x4xi32>, %labels: tensor<1x4xi32>) {
  return
}
pipe.fragment E @evaluate(host "tokens" split [["dp"], ["cp"]], host "labels") stage 0 chunk 0
