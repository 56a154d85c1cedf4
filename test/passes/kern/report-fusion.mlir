// RUN: hocket-opt %s --kern-fuse-rows --kern-report-fusion=file=%t.txt -o /dev/null
// RUN: FileCheck %s < %t.txt
// RUN: hocket-opt %s --kern-fuse-rows --kern-report-fusion="file=%t.json json" -o /dev/null
// RUN: FileCheck %s --check-prefix=JSON < %t.json
// RUN: not hocket-opt %s --kern-report-fusion=file=/nowhere/report 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: error: cannot write the fusion report: cannot open output file '/nowhere/report'

// CHECK: @main
// CHECK-NEXT: negate+add [8 x 8] from model:3:1, model:4:1
// CHECK-NEXT: linear [8 x 8 x 8]
// CHECK-NEXT: negate2 [8 x 8] from layer
// CHECK-NEXT: sum [8 x 8]
// CHECK-NEXT: not fused: negate+add -> linear (tensor<8x8xf32>): a GEMM reads whole matrices
// CHECK-NEXT: not fused: linear -> negate2 (tensor<8x8xf32>): the GEMM has several uses
// CHECK-NEXT: not fused: negate2 -> sum (tensor<8x8xf32>): the producer has other uses

// JSON: "function": "main"
// JSON: "label": "negate+add"
// JSON: "shape": "[8 x 8]"
// JSON: "model:3:1",
// JSON: "producer": "linear"
// JSON: "reason": "the GEMM has several uses"

func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>) {
  %0 = kern.rows "negate" [8 x 8] (%a = %x as full : tensor<8x8xf32>) -> (tensor<8x8xf32> as full) {
    %n = arith.negf %a : f32
    kern.yield %n : f32
  } loc("model":3:1)
  %1 = kern.rows "add" [8 x 8] (%a = %0 as full : tensor<8x8xf32>, %b = %x as full : tensor<8x8xf32>) -> (tensor<8x8xf32> as full) {
    %n = arith.addf %a, %b : f32
    kern.yield %n : f32
  } loc("model":4:1)
  %2 = kern.gemm %1, %w {k = 8 : i64, label = "linear", m = 8 : i64, n = 8 : i64} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = kern.rows "negate2" [8 x 8] (%a = %2 as full : tensor<8x8xf32>) -> (tensor<8x8xf32> as full) {
    %n = arith.negf %a : f32
    kern.yield %n : f32
  } loc("layer")
  %4 = kern.columns "sum" [8 x 8] (%a = %3 as full : tensor<8x8xf32>) -> (tensor<8xf32>) {
    kern.yield %a : f32
  }
  return %2, %3, %4 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>
}
