// RUN: hocket-opt %s --split-input-file --verify-diagnostics

func.func @access(%x: tensor<8x8xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{operand 0 is full and must have 512 elements, found 64 (K1)}}
  %0 = kern.rows [8 x 64] (%a = %x as full : tensor<8x8xf32>) -> (tensor<8x64xf32> as full) {
    kern.yield %a : f32
  }
  return %0 : tensor<8x64xf32>
}

// -----

func.func @tiled(%x: tensor<3x64xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{operand 0 is tiled and has 192 elements, which are not 64 times a divisor of 8 (K1)}}
  %0 = kern.rows [8 x 64] (%a = %x as tiled : tensor<3x64xf32>) -> (tensor<8x64xf32> as full) {
    kern.yield %a : f32
  }
  return %0 : tensor<8x64xf32>
}

// -----

func.func @dynamic(%x: tensor<?xf32>) -> tensor<64xf32> {
  // expected-error @+1 {{operand 0 must have a static shape (K1)}}
  %0 = kern.rows [1 x 64] (%a = %x as full : tensor<?xf32>) -> (tensor<64xf32> as full) {
    kern.yield %a : f32
  }
  return %0 : tensor<64xf32>
}

// -----

func.func @unknown(%x: tensor<64xf32>) -> tensor<64xf32> {
  // expected-error @+1 {{expected full, tiled, row, col or scalar, found 'whole'}}
  %0 = kern.rows [1 x 64] (%a = %x as whole : tensor<64xf32>) -> (tensor<64xf32> as full) {
    kern.yield %a : f32
  }
}

// -----

func.func @space(%x: tensor<64xf32>) -> tensor<64xf32> {
  // expected-error @+1 {{expected an iteration space [rows x cols]}}
  %0 = kern.rows [64] (%a = %x as full : tensor<64xf32>) -> (tensor<64xf32> as full) {
    kern.yield %a : f32
  }
}

// -----

func.func @huge(%x: tensor<64xf32>) -> tensor<64xf32> {
  // expected-error @+1 {{iteration space [9000000000 x 9000000000] must be positive and below 2^62 (K2)}}
  %0 = kern.rows [9000000000 x 9000000000] (%a = %x as full : tensor<64xf32>) -> (tensor<64xf32> as full) {
    kern.yield %a : f32
  }
  return %0 : tensor<64xf32>
}

// -----

func.func @yields(%x: tensor<64xf32>) -> tensor<64xf32> {
  // expected-error @+1 {{region must yield 1 values, found 2 (K3)}}
  %0 = kern.rows [1 x 64] (%a = %x as full : tensor<64xf32>) -> (tensor<64xf32> as full) {
    kern.yield %a, %a : f32, f32
  }
  return %0 : tensor<64xf32>
}

// -----

func.func @foreign(%x: tensor<64xf32>) -> tensor<64xf32> {
  // expected-error @+1 {{region cannot hold 'kern.input' (K4)}}
  %0 = kern.rows [1 x 64] (%a = %x as full : tensor<64xf32>) -> (tensor<64xf32> as full) {
    %1 = kern.input "x" : tensor<f32>
    kern.yield %a : f32
  }
  return %0 : tensor<64xf32>
}

// -----

func.func @vector(%x: tensor<64xf32>) -> tensor<64xf32> {
  // expected-error @+1 {{which is not a scalar (K4)}}
  %0 = kern.rows [1 x 64] (%a = %x as full : tensor<64xf32>) -> (tensor<64xf32> as full) {
    %1 = arith.constant dense<1.0> : vector<4xf32>
    kern.yield %a : f32
  }
  return %0 : tensor<64xf32>
}

// -----

func.func @result(%x: tensor<8x64xf32>) -> tensor<64xf32> {
  // expected-error @+1 {{result 0 cannot be col (K5)}}
  %0 = kern.rows [8 x 64] (%a = %x as full : tensor<8x64xf32>) -> (tensor<64xf32> as col) {
    kern.yield %a : f32
  }
  return %0 : tensor<64xf32>
}

// -----

func.func @reduce(%x: tensor<8x64xf32>) -> tensor<64xf32> {
  %0 = kern.columns [8 x 64] (%a = %x as full : tensor<8x64xf32>) -> (tensor<64xf32>) {
    // expected-error @+1 {{must be inside kern.rows or a kernel of rows (K6)}}
    %1 = kern.reduce add %a : f32
    kern.yield %1 : f32
  }
  return %0 : tensor<64xf32>
}

// -----

func.func @certain(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %0 = kern.rows [8 x 64] (%a = %x as full : tensor<8x64xf32>) -> (tensor<8x64xf32> as full) {
    // expected-error @+1 {{probability must be in [0, 1) (K7)}}
    %1 = kern.keep_scale {probability = 1.0, stream = 0 : i32}
    kern.yield %1 : f32
  }
  return %0 : tensor<8x64xf32>
}

// -----

func.func @elsewhere(%x: tensor<8x64xf32>, %i: i32) -> tensor<8x64xf32> {
  %0 = kern.rows [8 x 64] (%a = %x as full : tensor<8x64xf32>) instances (%j = %i) -> (tensor<8x64xf32> as full) {
    // expected-error @+1 {{has 1 starts of 0 dims (K19)}}
    %1 = kern.keep_scale at(%j) {probability = 0.5, stream = 0 : i32}
    kern.yield %1 : f32
  }
  return %0 : tensor<8x64xf32>
}

// -----

func.func @elsewhere(%x: tensor<8x64xf32>, %i: i32) -> tensor<8x64xf32> {
  %0 = kern.rows [8 x 64] (%a = %x as full : tensor<8x64xf32>) instances (%j = %i) -> (tensor<8x64xf32> as full) {
    // expected-error @+1 {{piece: a dim consists of whole parts (K19)}}
    %1 = kern.keep_scale at(%j) {dims = array<i64: 0>, parts = array<i64: 5>, piece = array<i64: 8, 64>, probability = 0.5, stream = 0 : i32, whole = array<i64: 12, 64>}
    kern.yield %1 : f32
  }
  return %0 : tensor<8x64xf32>
}

// -----

func.func @elsewhere(%x: tensor<8x64xf32>, %i: i32) -> tensor<8x64xf32> {
  %0 = kern.rows [8 x 64] (%a = %x as full : tensor<8x64xf32>) instances (%j = %i) -> (tensor<8x64xf32> as full) {
    // expected-error @+1 {{draws for a piece of 256 elements in a region of 512 (K19)}}
    %1 = kern.keep_scale at(%j) {dims = array<i64: 0>, parts = array<i64: 0>, piece = array<i64: 4, 64>, probability = 0.5, stream = 0 : i32, whole = array<i64: 8, 64>}
    kern.yield %1 : f32
  }
  return %0 : tensor<8x64xf32>
}

// -----

func.func @nothing(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{calls @nothing, which is not a kern.kernel (K8)}}
  %0 = kern.launch @nothing(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

kern.kernel @copy [1 x 8] (%a: tensor<8xf32> as full) instances (%i) -> (tensor<8xf32> as full) {
  kern.yield %a : f32
}
func.func @types(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{must have 1 instances (K8)}}
  %0 = kern.launch @copy(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

kern.kernel @copy [1 x 8] (%a: tensor<8xf32> as full) -> (tensor<8xf32> as full) {
  kern.yield %a : f32
}
func.func @types(%y: tensor<4xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{operands differ from those of @copy (K8)}}
  %1 = kern.launch @copy(%y) : (tensor<4xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

kern.kernel @copy [1 x 8] (%a: tensor<8xf32> as full) -> (tensor<8xf32> as full) {
  kern.yield %a : f32
}
func.func @types(%x: tensor<8xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{results differ from those of @copy (K8)}}
  %2 = kern.launch @copy(%x) : (tensor<8xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

func.func @product(%x: tensor<8x8xf32>, %w: tensor<8x4xf32>) -> tensor<8x8xf32> {
  // expected-error @+1 {{b must have 64 elements, found 'tensor<8x4xf32>' (K9)}}
  %0 = kern.gemm %x, %w {k = 8 : i64, m = 8 : i64, n = 8 : i64} : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

func.func @sizes(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @+1 {{m, n and k must be positive and below 2^31 (K9)}}
  %0 = kern.gemm %x, %x {k = 8589934592 : i64, m = 8589934592 : i64, n = 8 : i64} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

func.func @auxiliary(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @+1 {{auxiliary needs an epilogue (K9)}}
  %0, %1 = kern.gemm %x, %x {k = 8 : i64, m = 8 : i64, n = 8 : i64} : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
  return %0 : tensor<8x8xf32>
}

// -----

func.func @factors(%x: tensor<8x8xf8E4M3FN>, %w: tensor<8x8xbf16>) -> tensor<8x8xbf16> {
  // expected-error @+1 {{one factor has 8-bit elements and the other has not (K9)}}
  %0 = kern.gemm %x, %w {k = 8 : i64, m = 8 : i64, n = 8 : i64} : (tensor<8x8xf8E4M3FN>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  return %0 : tensor<8x8xbf16>
}

// -----

func.func @formats(%x: tensor<8x8xf8E5M2>) -> tensor<8x8xbf16> {
  // expected-error @+1 {{both factors are f8E5M2, one of the two must be f8E4M3FN (K9)}}
  %0 = kern.gemm %x, %x {k = 8 : i64, m = 8 : i64, n = 8 : i64} : (tensor<8x8xf8E5M2>, tensor<8x8xf8E5M2>) -> tensor<8x8xbf16>
  return %0 : tensor<8x8xbf16>
}

// -----

func.func @scale(%x: tensor<8x8xbf16>, %s: tensor<f32>) -> tensor<8x8xbf16> {
  // expected-error @+1 {{a scale is an f32 for 8-bit elements (K9)}}
  %0 = kern.gemm %x, %x scale_b %s {k = 8 : i64, m = 8 : i64, n = 8 : i64} : (tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<f32>) -> tensor<8x8xbf16>
  return %0 : tensor<8x8xbf16>
}

// -----

func.func @workspaces(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{has 1 results, which cannot hold 2 workspaces (K10)}}
  %0 = kern.library "pad_rows"(%x) {floats = array<f64>, integers = array<i64>, workspaces = 2 : i64} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @in_place(%x: tensor<8xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{in_place entry 0 must be -1 or an operand of the same type (K10)}}
  %0 = kern.library "pad_rows"(%x) {floats = array<f64>, in_place = array<i64: 0>, integers = array<i64>} : (tensor<8xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @view(%x: tensor<8xf32>) -> tensor<16xf32> {
  // expected-error @+1 {{cannot see 'tensor<8xf32>' as 'tensor<16xf32>': the element types must be equal and the elements no more (K11)}}
  %0 = kern.view %x : tensor<8xf32> to tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

// expected-error @+1 {{kind 'weights' is not one of parameter, gradient, optimizer_state, state, working (K12)}}
kern.variable @w : tensor<8xf32> {kind = "weights"}

// -----

kern.variable @w : tensor<8xf32> {kind = "state"}
func.func @read() -> tensor<4xf32> {
  // expected-error @+1 {{has type 'tensor<4xf32>', but @w is 'tensor<8xf32>' (K12)}}
  %0 = kern.read @w : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @write(%x: tensor<4xf32>) {
  // expected-error @+1 {{names @w, which is no variable (K12)}}
  kern.write %x, @w : tensor<4xf32>
  return
}

// -----

// expected-error @+1 {{action 0 must be [@function, microbatch, slot] (K13)}}
kern.schedule "train_step" {actions = [0], program = {}, slots = 1 : i64}

// -----

// expected-error @+1 {{action 0 uses slot 1 of 1 (K13)}}
kern.schedule "train_step" {actions = [[@f, 0, 1]], program = {}, slots = 1 : i64}
