// RUN: hocket-opt %s --kern-fuse-rows --split-input-file | FileCheck %s

// A producer joins its consumer; what else reads it is still stored.
// CHECK-LABEL: func.func @add_norm
// CHECK-SAME: (%[[X:.*]]: tensor<8x64xbf16>, %[[R:.*]]: tensor<8x64xbf16>, %[[W:.*]]: tensor<64xf32>)
func.func @add_norm(%x: tensor<8x64xbf16>, %r: tensor<8x64xbf16>, %w: tensor<64xf32>) -> (tensor<8x64xbf16>, tensor<8x64xbf16>) {
  // CHECK: %[[F:.*]]:2 = kern.rows "add+scale" [8 x 64] (%[[A:.*]] = %[[X]] as full : tensor<8x64xbf16>, %[[B:.*]] = %[[R]] as full : tensor<8x64xbf16>, %[[C:.*]] = %[[W]] as col : tensor<64xf32>) -> (tensor<8x64xbf16> as full, tensor<8x64xbf16> as full) {
  // CHECK-NEXT: %[[S:.*]] = arith.addf %[[A]], %[[B]]
  // CHECK-NEXT: %[[T:.*]] = kern.reduce
  // CHECK-SAME: add %[[S]]
  // CHECK-NEXT: %[[U:.*]] = arith.mulf %[[T]], %[[C]]
  // CHECK-NEXT: kern.yield %[[S]], %[[U]]
  // CHECK: return %[[F]]#0, %[[F]]#1
  %h = kern.rows "add" [8 x 64] (%a = %x as full : tensor<8x64xbf16>, %b = %r as full : tensor<8x64xbf16>) -> (tensor<8x64xbf16> as full) {
    %0 = arith.addf %a, %b : f32
    kern.yield %0 : f32
  }
  %y = kern.rows "scale" [8 x 64] (%a = %h as full : tensor<8x64xbf16>, %b = %w as col : tensor<64xf32>) -> (tensor<8x64xbf16> as full) {
    %0 = kern.reduce add %a : f32
    %1 = arith.mulf %0, %b : f32
    kern.yield %1 : f32
  }
  return %h, %y : tensor<8x64xbf16>, tensor<8x64xbf16>
}

// -----

// A flat region takes its reader's space, through a view; a cast disappears.
// CHECK-LABEL: func.func @flat
func.func @flat(%x: tensor<512xf32>, %w: tensor<64xf32>) -> tensor<8x64xf32> {
  // CHECK: kern.rows "cast+multiply" [8 x 64] (%[[A:.*]] = %{{.*}} as full : tensor<512xf32>, %[[B:.*]] = %{{.*}} as col : tensor<64xf32>) -> (tensor<8x64xf32> as full)
  // CHECK-NEXT: arith.mulf %[[A]], %[[B]]
  // CHECK-NOT: kern.rows
  %c = kern.rows "cast" [1 x 512] (%a = %x as full : tensor<512xf32>) -> (tensor<512xbf16> as full) {
    kern.yield %a : f32
  }
  %v = kern.view %c : tensor<512xbf16> to tensor<8x64xbf16>
  %y = kern.rows "multiply" [8 x 64] (%a = %v as full : tensor<8x64xbf16>, %b = %w as col : tensor<64xf32>) -> (tensor<8x64xf32> as full) {
    %0 = arith.mulf %a, %b : f32
    kern.yield %0 : f32
  }
  return %y : tensor<8x64xf32>
}

// -----

// One value a row, and one in all, join what runs over the rows' columns.
// CHECK-LABEL: func.func @narrow
func.func @narrow(%x: tensor<8x64xf32>, %r: tensor<8xf32>, %s: tensor<f32>) -> tensor<8x64xf32> {
  // CHECK: kern.rows "double+negate+scale" [8 x 64] (%[[S:.*]] = %{{.*}} as scalar : tensor<f32>, %[[R:.*]] = %{{.*}} as row : tensor<8xf32>, %[[X:.*]] = %{{.*}} as full : tensor<8x64xf32>)
  // CHECK-DAG: arith.addf %[[S]], %[[S]]
  // CHECK-DAG: arith.negf %[[R]]
  // CHECK-NOT: kern.rows
  %a1 = kern.rows "negate" [1 x 8] (%a = %r as full : tensor<8xf32>) -> (tensor<8xf32> as full) {
    %0 = arith.negf %a : f32
    kern.yield %0 : f32
  }
  %a2 = kern.rows "double" [1 x 1] (%a = %s as scalar : tensor<f32>) -> (tensor<f32> as scalar) {
    %0 = arith.addf %a, %a : f32
    kern.yield %0 : f32
  }
  %y = kern.rows "scale" [8 x 64] (%a = %x as full : tensor<8x64xf32>, %b = %a1 as row : tensor<8xf32>, %c = %a2 as scalar : tensor<f32>) -> (tensor<8x64xf32> as full) {
    %0 = arith.mulf %a, %b : f32
    %1 = arith.mulf %0, %c : f32
    kern.yield %1 : f32
  }
  return %y : tensor<8x64xf32>
}

// -----

// A value in between that needs the first and is needed by the second keeps
// them apart; a GEMM is such a value.
// CHECK-LABEL: func.func @cycle
func.func @cycle(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK: kern.rows "negate"
  // CHECK: kern.gemm
  // CHECK: kern.rows "add"
  %h = kern.rows "negate" [8 x 8] (%a = %x as full : tensor<8x8xf32>) -> (tensor<8x8xf32> as full) {
    %0 = arith.negf %a : f32
    kern.yield %0 : f32
  }
  %p = kern.gemm %h, %w {k = 8 : i64, m = 8 : i64, n = 8 : i64} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = kern.rows "add" [8 x 8] (%a = %h as full : tensor<8x8xf32>, %b = %p as full : tensor<8x8xf32>) -> (tensor<8x8xf32> as full) {
    %0 = arith.addf %a, %b : f32
    kern.yield %0 : f32
  }
  return %y : tensor<8x8xf32>
}

// -----

// A tensor whose rows repeat is read at another place than it is computed.
// CHECK-LABEL: func.func @tiled
func.func @tiled(%x: tensor<8x8xf32>, %p: tensor<2x8xf32>) -> tensor<8x8xf32> {
  // CHECK: kern.rows "negate" [2 x 8]
  // CHECK: kern.rows "add" [8 x 8]
  %h = kern.rows "negate" [2 x 8] (%a = %p as full : tensor<2x8xf32>) -> (tensor<2x8xf32> as full) {
    %0 = arith.negf %a : f32
    kern.yield %0 : f32
  }
  %y = kern.rows "add" [8 x 8] (%a = %x as full : tensor<8x8xf32>, %b = %h as tiled : tensor<2x8xf32>) -> (tensor<8x8xf32> as full) {
    %0 = arith.addf %a, %b : f32
    kern.yield %0 : f32
  }
  return %y : tensor<8x8xf32>
}

// -----

// Two readers of one tensor; equal code is computed once.
// CHECK-LABEL: func.func @siblings
func.func @siblings(%x: tensor<8x8xf32>, %g: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  // CHECK: kern.rows "exp+exp_gradient" [8 x 8]
  // CHECK: math.exp
  // CHECK-NOT: math.exp
  // CHECK: return
  %y = kern.rows "exp" [8 x 8] (%a = %x as full : tensor<8x8xf32>) -> (tensor<8x8xf32> as full) {
    %0 = math.exp %a : f32
    kern.yield %0 : f32
  }
  %d = kern.rows "exp_gradient" [8 x 8] (%a = %x as full : tensor<8x8xf32>, %b = %g as full : tensor<8x8xf32>) -> (tensor<8x8xf32> as full) {
    %0 = math.exp %a : f32
    %1 = arith.mulf %0, %b : f32
    kern.yield %1 : f32
  }
  return %y, %d : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// What reads a variable does not move past its write.
kern.variable @v : tensor<8x8xf32> {kind = #kern.variable_kind<state>}
kern.variable @u : tensor<8x8xf32> {kind = #kern.variable_kind<state>}
// CHECK-LABEL: func.func @written
func.func @written(%x: tensor<8x8xf32>) {
  // CHECK: kern.rows "negate"
  // CHECK: kern.write %{{.*}}, @v
  // CHECK: kern.rows "add"
  %r = kern.read @v : tensor<8x8xf32>
  %h = kern.rows "negate" [8 x 8] (%a = %r as full : tensor<8x8xf32>) -> (tensor<8x8xf32> as full) {
    %0 = arith.negf %a : f32
    kern.yield %0 : f32
  }
  kern.write %x, @v : tensor<8x8xf32>
  %n = kern.read @v : tensor<8x8xf32>
  %y = kern.rows "add" [8 x 8] (%a = %h as full : tensor<8x8xf32>, %b = %n as full : tensor<8x8xf32>) -> (tensor<8x8xf32> as full) {
    %0 = arith.addf %a, %b : f32
    kern.yield %0 : f32
  }
  kern.write %y, @u : tensor<8x8xf32>
  return
}

// -----

// Constants go into every reader, and are gone.
// CHECK-LABEL: func.func @constants
func.func @constants(%x: tensor<8x8xf32>, %g: tensor<4xf32>) -> (tensor<8x8xf32>, tensor<4xf32>) {
  // CHECK-NOT: "constant"
  // CHECK-COUNT-2: arith.constant 3.000000e+00
  %c = kern.rows "constant" [1 x 1] () -> (tensor<f32> as scalar) {
    %0 = arith.constant 3.0 : f32
    kern.yield %0 : f32
  }
  %y = kern.rows "multiply" [8 x 8] (%a = %x as full : tensor<8x8xf32>, %b = %c as scalar : tensor<f32>) -> (tensor<8x8xf32> as full) {
    %0 = arith.mulf %a, %b : f32
    kern.yield %0 : f32
  }
  %z = kern.rows "multiply" [1 x 4] (%a = %g as full : tensor<4xf32>, %b = %c as scalar : tensor<f32>) -> (tensor<4xf32> as full) {
    %0 = arith.mulf %a, %b : f32
    kern.yield %0 : f32
  }
  return %y, %z : tensor<8x8xf32>, tensor<4xf32>
}
