// RUN: hocket-opt %s --convert-dist-to-pipe | FileCheck %s
// RUN: sed 's/microbatches(2)/microbatches(3) rampup [1, 2]/' %s | hocket-opt --convert-dist-to-pipe | FileCheck %s --check-prefix=GROWS
// RUN: sed 's/ {xf.host = #xf.host_input<rows>}//' %s | not hocket-opt --convert-dist-to-pipe 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// One stage: forward and backward in turn, then the update. A backward follows
// its forward at once, so one copy of the residuals is enough.

dist.mesh @mesh ["dp"] sizes [2]
// CHECK: func.func @f(%{{.*}}: tensor<2x4xi32>, %{{.*}}: tensor<2x4xi32>) ->
func.func @f(%t: tensor<2x4xi32> {dist.sharding = #dist.sharding<@mesh, [["dp"], []], partial = []>, xf.host = #xf.host_input<tokens>}, %l: tensor<2x4xi32> {dist.sharding = #dist.sharding<@mesh, [[], []], partial = []>, xf.host = #xf.host_input<labels>}) -> (tensor<f32>, tensor<2x4xf32>) {
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  %kept = xf.constant {value = 1.0} : () -> tensor<2x4xf32>
  return %loss, %kept : tensor<f32>, tensor<2x4xf32>
}
func.func @b(%t: tensor<2x4xi32>, %l: tensor<2x4xi32>, %k: tensor<2x4xf32>) { return }
func.func @u() { return }
func.func @e(%t: tensor<2x4xi32>, %l: tensor<2x4xi32>) -> tensor<f32> {
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
func.func @p() { return }

// A step of each size, of the same fragments.

// GROWS: pipe.schedule "train_step" rank 0 microbatches 3 slots 1
// GROWS: pipe.schedule "train_step.1" rank 0 microbatches 1 slots 1
// GROWS-SAME: [#pipe.action<F chunk 0 microbatch 0 slot 0>, #pipe.action<B chunk 0 microbatch 0 slot 0>, #pipe.action<U chunk 0 microbatch 0 slot 0>]
// GROWS: pipe.schedule "train_step.2" rank 0 microbatches 2 slots 1

// CHECK-NOT: xf.step
xf.step microbatches(2) forward(@f) backward(@b) update(@u) evaluate(@e) prepare(@p)

func.func @w(%t: tensor<2x1xi32>, %l: tensor<2x1xi32>, %q: tensor<2x1xi32> {xf.host = #xf.host_input<positions>}, %r: tensor<2x1xi32> {xf.host = #xf.host_input<rows>}, %table: tensor<2x1xi32> {xf.host = #xf.host_input<table>}) { return }

// UNKNOWN: 'func.func' op P14: takes argument 3, of which `xf.host` does not say what it is

// CHECK-NOT: xf.serve
xf.serve prefill(@w) decode(@w)

// CHECK-DAG: pipe.fragment F @f(host "tokens" split {{\[}}["dp"], []], host "labels") -> (kept, kept) stage 0 chunk 0
// CHECK-DAG: pipe.fragment B @b(F argument 0, F argument 1, F result 1) stage 0 chunk 0
// CHECK-DAG: pipe.fragment U @u stage 0 chunk 0
// CHECK-DAG: pipe.fragment E @e(host "tokens", host "labels") -> (kept) stage 0 chunk 0

// CHECK: pipe.schedule "train_step" rank 0 microbatches 2 slots 1
// CHECK-SAME: <F chunk 0 microbatch 0 slot 0>
// CHECK-SAME: <B chunk 0 microbatch 0 slot 0>
// CHECK-SAME: <F chunk 0 microbatch 1 slot 0>
// CHECK-SAME: <B chunk 0 microbatch 1 slot 0>
// CHECK-SAME: <U chunk 0 microbatch 0 slot 0>
// CHECK: pipe.schedule "eval_step"
// CHECK-SAME: <E chunk 0
// CHECK: pipe.fragment P @p stage 0 chunk 0
// CHECK: pipe.schedule "prepare"
// CHECK-SAME: <P chunk 0
// CHECK: pipe.fragment L @w(host "tokens", host "labels", host "positions", host "rows", host "table") stage 0 chunk 0
// CHECK: pipe.schedule "prefill" rank 0 microbatches 1 slots 1 {{.*}}<L chunk 0
// CHECK: pipe.fragment D @w({{.*}}) stage 0 chunk 0
// CHECK: pipe.schedule "decode" rank 0 microbatches 1 slots 1 {{.*}}<D chunk 0
