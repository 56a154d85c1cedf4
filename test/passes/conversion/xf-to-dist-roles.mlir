// RUN: hocket-opt %s --xf-set-plan=plan=dp=2,tp=4 --convert-xf-to-dist 2>&1 | FileCheck %s
// RUN: hocket-opt %s --xf-set-plan=plan=dp=2,ep=2 --convert-xf-to-dist 2>&1 | FileCheck %s --check-prefix=EXPERTS
// RUN: hocket-opt %s --xf-set-plan=plan=dp=8 --convert-xf-to-dist 2>&1 | FileCheck %s --check-prefix=DATA

// What a parameter does says what splits it; its name says nothing. Two key heads
// are split over the first of two sub-axes.

// A parameter without a role is kept whole, and its author hears of it.
// CHECK: xf-to-dist-roles.mlir:[[#@LINE+26]]:1: warning: parameter @attention.q.weight has no role, so every rank along tp.0, tp.1 keeps all of it: say what it does, as in `role = #xf.parameter_role<query>`
// CHECK-NOT: warning
// EXPERTS: warning: parameter @attention.q.weight has no role, so every rank along ep keeps
// EXPERTS-NOT: warning
// Where no axis splits parameters by their roles, nothing is lost.
// DATA-NOT: warning

// CHECK: xf.variable @a : {{.*}} {{\[\[}}"tp.0", "tp.1"], []]
xf.variable @a : tensor<16x8xf32> {kind = #xf.variable_kind<parameter>, role = #xf.parameter_role<query>}
// CHECK: xf.variable @b : {{.*}} {{\[\[}}"tp.0"], []]
xf.variable @b : tensor<16x8xf32> {kind = #xf.variable_kind<parameter>, role = #xf.parameter_role<key>}
// CHECK: xf.variable @c : {{.*}} {{\[\[}}], ["tp.0", "tp.1"]]
xf.variable @c : tensor<16x8xf32> {kind = #xf.variable_kind<parameter>, role = #xf.parameter_role<down>}
// A bias goes with what its layer gives, not with what it takes.
// CHECK: xf.variable @d : {{.*}} {{\[\[}}"tp.0", "tp.1"]]
xf.variable @d : tensor<16xf32> {kind = #xf.variable_kind<parameter>, role = #xf.parameter_role<up>}
// CHECK: xf.variable @e : {{.*}} {{\[\[}}]]
xf.variable @e : tensor<16xf32> {kind = #xf.variable_kind<parameter>, role = #xf.parameter_role<down>}
// CHECK: xf.variable @f : {{.*}} {{\[\[}}], [], ["tp.0", "tp.1"]]
// EXPERTS: xf.variable @f : {{.*}} {{\[\[}}"ep"], [], []]
// DATA: xf.variable @f : {{.*}} {{\[\[}}], [], []]
xf.variable @f : tensor<4x8x16xf32> {kind = #xf.variable_kind<parameter>, role = #xf.parameter_role<expert_down>}
// What belongs to a parameter has its role.
// CHECK: xf.variable @f.grad : {{.*}} {{\[\[}}], [], ["tp.0", "tp.1"]]
xf.variable @f.grad : tensor<4x8x16xf32> {kind = #xf.variable_kind<gradient>, of = @f}
// CHECK: xf.variable @attention.q.weight : {{.*}} {{\[\[}}], []]
xf.variable @attention.q.weight : tensor<16x8xf32> {kind = #xf.variable_kind<parameter>}

func.func @attention(%q: tensor<2x4x4x4xf32>, %k: tensor<2x4x2x4xf32>) -> tensor<2x4x4x4xf32> {
  %o, %lse = xf.attention %q, %k, %k {causal, scale = 0.5} : (tensor<2x4x4x4xf32>, tensor<2x4x2x4xf32>, tensor<2x4x2x4xf32>) -> (tensor<2x4x4x4xf32>, tensor<2x4x4xf32>)
  return %o : tensor<2x4x4x4xf32>
}
