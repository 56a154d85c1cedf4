// RUN: hocket-opt %s --convert-pipe-to-kern | FileCheck %s

// What later levels need of the devices: their axes, the parts of sequences for
// the host, and what people asked.

// CHECK: step.mesh ["dp", "cp"] sizes [2, 2] parts 2 {chosen = {ops = 1 : i64}}
dist.mesh @mesh ["dp", "cp"] sizes [2, 2] parts 2 rounds 2 {chosen = {ops = 1 : i64}}
// CHECK: kern.fragment E @evaluate(%{{.*}}: tensor<1x4xi32> from host "tokens" split {{\[}}["dp"], ["cp"]], %{{.*}}: tensor<1x4xi32> from host "labels") {
func.func @evaluate(%tokens: tensor<1x4xi32>, %labels: tensor<1x4xi32>) {
  return
}
pipe.fragment E @evaluate(host "tokens" split [["dp"], ["cp"]], host "labels") stage 0 chunk 0
