// A spec whose experts drop nothing. As it is written one run has all of them; the
// plan shares them out among four ranks, each with two sequences of four tokens, of
// two choices: they have room for 1.5 times as many rows.
// RUN: hocket-translate --spec-to-xf %S/Inputs/shared-out.textproto | FileCheck %s --check-prefix=WRITTEN
// RUN: hocket-translate --spec-to-xf %S/Inputs/shared-out.textproto | hocket-opt --xf-size-microbatch | FileCheck %s

// WRITTEN: xf.expert_order %{{.*}} {experts = 8 : i64} : (tensor<1x8x2xi32>) -> (tensor<1x8x2xi32>, tensor<1x8x2xi32>)
// WRITTEN: xf.expert_segments %{{.*}} -> tensor<1x1x8x2xi32>
// WRITTEN: xf.exchange_rows %{{.*}} {room = 1.500000e+00 : f64, top_k = 2 : i64} : {{.*}} -> tensor<1x16x8xf32>

// CHECK: func.func private @expert_layer(
// CHECK: %[[S:.+]], %[[N:.+]] = xf.expert_order %{{.*}} {experts = 8 : i64, position_runs = 2 : i64} : (tensor<4x8x2xi32>) -> (tensor<4x8x2xi32>, tensor<4x8x2xi32>)
// CHECK: %[[ROWS:.+]] = xf.dispatch %{{.*}}, %[[S]] {position_runs = 2 : i64} {{.*}} -> tensor<4x16x8xf32>
// CHECK: %[[WHERE:.+]] = xf.expert_segments %[[N]] : (tensor<4x8x2xi32>) -> tensor<4x4x2x2xi32>
// CHECK: %[[HERE:.+]] = xf.exchange_rows %[[ROWS]], %[[N]], %[[WHERE]] {{.*}} -> tensor<4x24x8xf32>
// CHECK: xf.grouped_linear %[[HERE]], %{{.*}}, %[[WHERE]] {expected_rows = 16 : i64} : {{.*}} -> tensor<4x24x6xf32>
// CHECK: %[[Y:.+]] = xf.grouped_linear {{.*}} -> tensor<4x24x8xf32>
// CHECK: %[[BACK:.+]] = xf.return_rows %[[Y]], %[[N]], %[[WHERE]] {{.*}} -> tensor<4x16x8xf32>
// CHECK: xf.combine %[[BACK]], %[[S]]

// Without a bound it is 1 + 12 / sqrt(64), of 64 experts a rank; and never more than
// the tokens of all four can choose.
// RUN: sed 's/experts: 8/experts: 256/; s/expert_capacity_bound: 1.5//' %S/Inputs/shared-out.textproto | hocket-translate --spec-to-xf | hocket-opt --xf-size-microbatch | FileCheck %s --check-prefix=USUAL
// USUAL: xf.exchange_rows {{.*}} -> tensor<4x40x8xf32>
// RUN: sed 's/expert_capacity_bound: 1.5/expert_capacity_bound: 9/' %S/Inputs/shared-out.textproto | hocket-translate --spec-to-xf | hocket-opt --xf-size-microbatch | FileCheck %s --check-prefix=MOST
// MOST: xf.exchange_rows {{.*}} -> tensor<4x64x8xf32>
