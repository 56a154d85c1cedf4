// RUN: hocket-opt %s --convert-kern-to-exec | FileCheck %s

// Kernels stay as they are.
// CHECK: kern.kernel @double
kern.kernel @double [8 x 64] (%a: tensor<8x64xf32> as full) -> (tensor<8x64xf32> as full) {
  %0 = arith.addf %a, %a : f32
  kern.yield %0 : f32
}
kern.variable @w : tensor<8x64xf32> {info = {init = "normal", init_value = 2.000000e-02 : f64, random_key = 7 : i32, shape = array<i64: 8, 64>}, kind = "parameter", parameter = "w", slot = "value"}
kern.variable @w.grad : tensor<8x64xf32> {kind = "gradient", parameter = "w", slot = "gradient"}

// A layer, called twice.
func.func private @layer(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %y = kern.launch @double(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}
func.func @forward(%tokens: tensor<2x4xi32>, %labels: tensor<2x4xi32>) -> (tensor<8x64xf32>) attributes {kern.fragment = "F"} {
  %w = kern.read @w : tensor<8x64xf32>
  %a = func.call @layer(%w) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %b = func.call @layer(%a) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %b : tensor<8x64xf32>
}
kern.schedule "train_step" {actions = [[@forward, 0, 0]], program = {microbatches = 1 : i64, rank = 0 : i64}, slots = 1 : i64}

// The layer is inlined twice. Its first result is a buffer that shares its
// place with the inputs, which are dead by then; its second is written over its
// first. Nothing needs more than the two variables and that buffer.
// CHECK: exec.role @role0 ranks [0] arena 8192 lower_bound 8192 {
// CHECK-DAG: %[[W:.*]] = exec.buffer "w" at 0 kind "parameters" {{.*}} {persistent} : memref<8x64xf32>
// CHECK-DAG: exec.buffer "w.grad" at 2048 kind "gradients" {{.*}} {persistent}
// CHECK-DAG: %[[TOKENS:.*]] = exec.buffer "tokens" at 4096 kind "inputs" live 0 to 0
// CHECK-DAG: %[[Y:.*]] = exec.buffer "double" at 4096 kind "temporaries" live 2 to 3
// CHECK: exec.parameter "w" state "value" in %[[W]]
// CHECK: exec.sequence @forward {
// CHECK-NEXT: exec.host "input" "tokens" %[[TOKENS]]
// CHECK-NEXT: exec.host "input" "labels"
// CHECK-NEXT: exec.launch @double(%[[W]], %[[Y]]) {kernel_inputs = 1 : i64}
// CHECK-NEXT: exec.launch @double(%[[Y]], %[[Y]]) {kernel_inputs = 1 : i64}
// CHECK-NEXT: }
// CHECK: exec.entry "train_step" [@forward] microbatches [0] slots [0]

// CHECK-NOT: func.func
