// RUN: hocket-opt %s --convert-dist-to-pipe | FileCheck %s
// RUN: sed 's/microbatches(2)/microbatches(3) rampup [1, 2]/' %s | hocket-opt --convert-dist-to-pipe | FileCheck %s --check-prefix=GROWS

// One stage: forward and backward in turn, then the update. A backward follows
// its forward at once, so one copy of the residuals is enough.

func.func @f(%t: tensor<2x4xi32>, %l: tensor<2x4xi32>) -> tensor<f32> {
  %loss = xf.constant {value = 1.0} : () -> tensor<f32>
  return %loss : tensor<f32>
}
func.func @b(%t: tensor<2x4xi32>, %l: tensor<2x4xi32>) { return }
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

func.func @w(%t: tensor<2x1xi32>, %l: tensor<2x1xi32>, %q: tensor<2x1xi32>, %r: tensor<2x1xi32>, %table: tensor<2x1xi32>) { return }

// CHECK-NOT: xf.serve
xf.serve prefill(@w) decode(@w)

// CHECK-DAG: pipe.fragment F @f stage 0 chunk 0
// CHECK-DAG: pipe.fragment B @b stage 0 chunk 0
// CHECK-DAG: pipe.fragment U @u stage 0 chunk 0
// CHECK-DAG: pipe.fragment E @e stage 0 chunk 0

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
// CHECK: pipe.fragment L @w stage 0 chunk 0
// CHECK: pipe.schedule "prefill" rank 0 microbatches 1 slots 1 {{.*}}<L chunk 0
// CHECK: pipe.fragment D @w stage 0 chunk 0
// CHECK: pipe.schedule "decode" rank 0 microbatches 1 slots 1 {{.*}}<D chunk 0
