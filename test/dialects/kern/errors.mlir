// RUN: hocket-opt %s --split-input-file --verify-diagnostics

func.func @access(%x: tensor<8x8xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{K1: operand 0 is full and must have 512 elements, found 64}}
  %0 = kern.rows [8 x 64] (%a = %x as full : tensor<8x8xf32>) -> (tensor<8x64xf32> as full) {
    kern.yield %a : f32
  }
  return %0 : tensor<8x64xf32>
}

// -----

func.func @tiled(%x: tensor<3x64xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{K1: operand 0 is tiled and has 192 elements, which are not 64 times a divisor of 8}}
  %0 = kern.rows [8 x 64] (%a = %x as tiled : tensor<3x64xf32>) -> (tensor<8x64xf32> as full) {
    kern.yield %a : f32
  }
  return %0 : tensor<8x64xf32>
}

// -----

func.func @dynamic(%x: tensor<?xf32>) -> tensor<64xf32> {
  // expected-error @+1 {{K1: operand 0 must have a static shape}}
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
  // expected-error @+1 {{K2: iteration space [9000000000 x 9000000000] must be positive and below 2^62}}
  %0 = kern.rows [9000000000 x 9000000000] (%a = %x as full : tensor<64xf32>) -> (tensor<64xf32> as full) {
    kern.yield %a : f32
  }
  return %0 : tensor<64xf32>
}

// -----

func.func @yields(%x: tensor<64xf32>) -> tensor<64xf32> {
  // expected-error @+1 {{K3: region must yield 1 values, found 2}}
  %0 = kern.rows [1 x 64] (%a = %x as full : tensor<64xf32>) -> (tensor<64xf32> as full) {
    kern.yield %a, %a : f32, f32
  }
  return %0 : tensor<64xf32>
}

// -----

func.func @foreign(%x: tensor<64xf32>) -> tensor<64xf32> {
  // expected-error @+1 {{K4: region cannot hold 'kern.input'}}
  %0 = kern.rows [1 x 64] (%a = %x as full : tensor<64xf32>) -> (tensor<64xf32> as full) {
    %1 = kern.input "x" : tensor<f32>
    kern.yield %a : f32
  }
  return %0 : tensor<64xf32>
}

// -----

func.func @vector(%x: tensor<64xf32>) -> tensor<64xf32> {
  // expected-error @+1 {{K4: region holds 'arith.constant' that gives 'vector<4xf32>', which is not a scalar}}
  %0 = kern.rows [1 x 64] (%a = %x as full : tensor<64xf32>) -> (tensor<64xf32> as full) {
    %1 = arith.constant dense<1.0> : vector<4xf32>
    kern.yield %a : f32
  }
  return %0 : tensor<64xf32>
}

// -----

func.func @result(%x: tensor<8x64xf32>) -> tensor<f32> {
  // expected-error @+1 {{K5: result 0 cannot be scalar}}
  %0 = kern.rows [8 x 64] (%a = %x as full : tensor<8x64xf32>) -> (tensor<f32> as scalar) {
    kern.yield %a : f32
  }
  return %0 : tensor<f32>
}

// -----

func.func @reduce(%x: tensor<8x64xf32>) -> tensor<64xf32> {
  %0 = kern.columns [8 x 64] (%a = %x as full : tensor<8x64xf32>) -> (tensor<64xf32>) {
    // expected-error @+1 {{K6: must be inside kern.rows or a kernel of rows}}
    %1 = kern.reduce add %a : f32
    kern.yield %1 : f32
  }
  return %0 : tensor<64xf32>
}

// -----

func.func @certain(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %0 = kern.rows [8 x 64] (%a = %x as full : tensor<8x64xf32>) -> (tensor<8x64xf32> as full) {
    // expected-error @+1 {{K7: rate must be in [0, 1)}}
    %1 = kern.keep_scale {rate = 1.0, stream = 0 : i32}
    kern.yield %1 : f32
  }
  return %0 : tensor<8x64xf32>
}

// -----

func.func @elsewhere(%x: tensor<8x64xf32>, %i: i32) -> tensor<8x64xf32> {
  %0 = kern.rows [8 x 64] (%a = %x as full : tensor<8x64xf32>) instances (%j = %i) -> (tensor<8x64xf32> as full) {
    // expected-error @+1 {{K19: has 1 starts of 0 dims}}
    %1 = kern.keep_scale at(%j) {rate = 0.5, stream = 0 : i32}
    kern.yield %1 : f32
  }
  return %0 : tensor<8x64xf32>
}

// -----

func.func @elsewhere(%x: tensor<8x64xf32>, %i: i32) -> tensor<8x64xf32> {
  %0 = kern.rows [8 x 64] (%a = %x as full : tensor<8x64xf32>) instances (%j = %i) -> (tensor<8x64xf32> as full) {
    // expected-error @+1 {{K19: shard: a dim consists of an even number of parts in every round}}
    %1 = kern.keep_scale at(%j) {rate = 0.5, shard = #kern.shard<[8, 64] of [12, 64] dims [0] parts [5]>, stream = 0 : i32}
    kern.yield %1 : f32
  }
  return %0 : tensor<8x64xf32>
}

// -----

func.func @elsewhere(%x: tensor<8x64xf32>, %i: i32) -> tensor<8x64xf32> {
  %0 = kern.rows [8 x 64] (%a = %x as full : tensor<8x64xf32>) instances (%j = %i) -> (tensor<8x64xf32> as full) {
    // expected-error @+1 {{K19: draws for a shard of 256 elements in a region of 512}}
    %1 = kern.keep_scale at(%j) {rate = 0.5, shard = #kern.shard<[4, 64] of [8, 64] dims [0] parts [0]>, stream = 0 : i32}
    kern.yield %1 : f32
  }
  return %0 : tensor<8x64xf32>
}

// -----

func.func @nothing(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{K8: calls @nothing, which is not a kern.kernel}}
  %0 = kern.launch @nothing(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

kern.kernel @copy [1 x 8] (%a: tensor<8xf32> as full) instances (%i) -> (tensor<8xf32> as full) {
  kern.yield %a : f32
}
func.func @types(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{K8: must have 1 instances}}
  %0 = kern.launch @copy(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

kern.kernel @copy [1 x 8] (%a: tensor<8xf32> as full) -> (tensor<8xf32> as full) {
  kern.yield %a : f32
}
func.func @types(%y: tensor<4xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{K8: operands differ from those of @copy}}
  %1 = kern.launch @copy(%y) : (tensor<4xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

kern.kernel @copy [1 x 8] (%a: tensor<8xf32> as full) -> (tensor<8xf32> as full) {
  kern.yield %a : f32
}
func.func @types(%x: tensor<8xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{K8: results differ from those of @copy}}
  %2 = kern.launch @copy(%x) : (tensor<8xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

func.func @product(%x: tensor<8x8xf32>, %w: tensor<8x4xf32>) -> tensor<8x8xf32> {
  // expected-error @+1 {{K9: b must have 64 elements, found 'tensor<8x4xf32>'}}
  %0 = kern.gemm %x, %w {k = 8 : i64, m = 8 : i64, n = 8 : i64} : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

func.func @sizes(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @+1 {{K9: m, n and k must be positive and below 2^31}}
  %0 = kern.gemm %x, %x {k = 8589934592 : i64, m = 8589934592 : i64, n = 8 : i64} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

func.func @auxiliary(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @+1 {{K9: auxiliary needs an epilogue or bias_gradient}}
  %0, %1 = kern.gemm %x, %x {k = 8 : i64, m = 8 : i64, n = 8 : i64} : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
  return %0 : tensor<8x8xf32>
}

// -----

func.func @preactivation(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @+1 {{K9: preactivation needs an epilogue and no bias, residual or auxiliary}}
  %0 = kern.gemm %x, %x preactivation %x {k = 8 : i64, m = 8 : i64, n = 8 : i64} : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

func.func @bias_gradient(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @+1 {{K9: bias_gradient needs an auxiliary result and no epilogue, bias or residual}}
  %0, %1 = kern.gemm %x, %x residual %x {bias_gradient, k = 8 : i64, m = 8 : i64, n = 8 : i64} : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>)
  return %0 : tensor<8x8xf32>
}

// -----

func.func @factors(%x: tensor<8x8xf8E4M3FN>, %w: tensor<8x8xbf16>) -> tensor<8x8xbf16> {
  // expected-error @+1 {{K9: one factor has 8-bit elements and the other has not}}
  %0 = kern.gemm %x, %w {k = 8 : i64, m = 8 : i64, n = 8 : i64} : (tensor<8x8xf8E4M3FN>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  return %0 : tensor<8x8xbf16>
}

// -----

func.func @formats(%x: tensor<8x8xf8E5M2>) -> tensor<8x8xbf16> {
  // expected-error @+1 {{K9: both operands are f8E5M2, one of the two must be f8E4M3FN}}
  %0 = kern.gemm %x, %x {k = 8 : i64, m = 8 : i64, n = 8 : i64} : (tensor<8x8xf8E5M2>, tensor<8x8xf8E5M2>) -> tensor<8x8xbf16>
  return %0 : tensor<8x8xbf16>
}

// -----

func.func @scale(%x: tensor<8x8xbf16>, %s: tensor<f32>) -> tensor<8x8xbf16> {
  // expected-error @+1 {{K9: a scale is an f32 for 8-bit elements}}
  %0 = kern.gemm %x, %x scale_b %s {k = 8 : i64, m = 8 : i64, n = 8 : i64} : (tensor<8x8xbf16>, tensor<8x8xbf16>, tensor<f32>) -> tensor<8x8xbf16>
  return %0 : tensor<8x8xbf16>
}

// -----

func.func @workspaces(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{K10: has 1 results, which cannot hold 2 workspaces}}
  %0 = kern.library "pad_rows"(%x) {floats = array<f64>, integers = array<i64>, workspaces = 2 : i64} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @in_place(%x: tensor<8xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{K10: in_place entry 0 must be -1 or an operand of the same type}}
  %0 = kern.library "pad_rows"(%x) {floats = array<f64>, in_place = array<i64: 0>, integers = array<i64>} : (tensor<8xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @view(%x: tensor<8xf32>) -> tensor<16xf32> {
  // expected-error @+1 {{K11: cannot see 'tensor<8xf32>' as 'tensor<16xf32>': the element types must be equal and the elements no more}}
  %0 = kern.view %x : tensor<8xf32> to tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

// expected-error @+2 {{expected ::hocket::step::VariableKind to be one of: parameter, gradient, optimizer_state, state, working, cache}}
// expected-error @+1 {{failed to parse Kern_VariableKindAttr parameter 'value'}}
kern.variable @w : tensor<8xf32> {kind = #kern.variable_kind<weights>}

// -----

kern.variable @w : tensor<8xf32> {kind = #kern.variable_kind<state>}
func.func @read() -> tensor<4xf32> {
  // expected-error @+1 {{K12: has type 'tensor<4xf32>', but @w is 'tensor<8xf32>'}}
  %0 = kern.read @w : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @write(%x: tensor<4xf32>) {
  // expected-error @+1 {{K12: names @w, which is no variable}}
  kern.write %x, @w : tensor<4xf32>
  return
}

// -----

// expected-error @+1 {{K13: action 0 is of microbatch -1}}
kern.schedule "train_step" slots 1 [#kern.action<@f microbatch -1 slot 0>]

// -----

// expected-error @+1 {{attribute 'actions' failed to satisfy constraint: actions}}
kern.schedule "train_step" slots 1 [0]

// -----

// expected-error @+1 {{K13: action 0 uses slot 1 of 1}}
kern.schedule "train_step" slots 1 [#kern.action<@f microbatch 0 slot 1>]

// -----

func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+2 {{expected ::hocket::step::CollectiveKind to be one of: all_reduce, reduce_scatter, all_gather, all_to_all, shift}}
  // expected-error @+1 {{failed to parse Kern_CollectiveKindAttr parameter 'value'}}
  %y = kern.collective broadcast %x over ["tp"] : tensor<8xf32> to tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{K31: names no axis}}
  %y = kern.collective all_reduce %x over [] : tensor<8xf32> to tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

func.func @f() -> i32 {
  // expected-error @+1 {{K31: names no axis}}
  %o = kern.place over [] step 128
  return %o : i32
}

// -----

func.func @f(%x: tensor<8xf32>) -> tensor<8xbf16> {
  // expected-error @+1 {{K32: makes 'tensor<8xbf16>' of 'tensor<8xf32>'}}
  %y = kern.collective all_reduce %x over ["tp"] : tensor<8xf32> to tensor<8xbf16>
  return %y : tensor<8xbf16>
}

// -----

func.func @f(%x: tensor<8xf32>) -> tensor<12xf32> {
  // expected-error @+1 {{K32: makes 'tensor<12xf32>' of 'tensor<8xf32>'}}
  %y = kern.collective all_gather %x over ["tp"] : tensor<8xf32> to tensor<12xf32>
  return %y : tensor<12xf32>
}

// -----

func.func @f() -> i32 {
  // expected-error @+1 {{K33: a shard has at least one element, not 0}}
  %o = kern.place over ["tp"] step 0
  return %o : i32
}

// -----

func.func @f(%x: tensor<1x6x5xf32>, %r: tensor<1x8x2xi32>, %s: tensor<1x2x4x2xi32>) {
  // expected-error @+1 {{K34: makes 'tensor<1x9x4xf32>' of 'tensor<1x6x5xf32>'}}
  %y = kern.exchange %x, %r, %s over ["ep"] : (tensor<1x6x5xf32>, tensor<1x8x2xi32>, tensor<1x2x4x2xi32>) -> tensor<1x9x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x5xf32>, %r: tensor<1x8x2xi32>, %s: tensor<1x2x2x2xi32>) {
  // expected-error @+1 {{K34: 'tensor<1x8x2xi32>' and 'tensor<1x2x2x2xi32>' are not as many pairs of 32-bit numbers}}
  %y = kern.exchange %x, %r, %s over ["ep"] : (tensor<1x6x5xf32>, tensor<1x8x2xi32>, tensor<1x2x2x2xi32>) -> tensor<1x9x5xf32>
  return
}

// -----

func.func @f(%x: tensor<1x6x5xf32>, %r: tensor<1x8x2xi32>, %s: tensor<1x2x4x2xi32>) {
  // expected-error @+1 {{K31: names no axis}}
  %y = kern.exchange %x, %r, %s over [] : (tensor<1x6x5xf32>, tensor<1x8x2xi32>, tensor<1x2x4x2xi32>) -> tensor<1x9x5xf32>
  return
}

// -----

// expected-error @+1 {{K16: is of stage -1}}
kern.fragment U @update() stage -1 {
  kern.return
}

// -----

// expected-error @+1 {{K16: meets another rank and says no `stage`}}
kern.fragment F @forward(%x: tensor<8xf32> from rank 1 tag 0) {
  kern.return
}

// -----

// expected-error @+1 {{K16: meets another rank and says no `stage`}}
kern.fragment F @forward(%x: tensor<8xf32> from host "x") -> (tensor<8xf32> to rank 1 tag 0) {
  kern.return %x : tensor<8xf32>
}

// -----

// expected-error @+1 {{K16: takes 'f32', no tensor}}
kern.fragment F @forward(%x: f32 from host "x") {
  kern.return
}

// -----

// expected-error @+1 {{K16: has [["dp"]] for the dims of 'tensor<8x4xf32>'}}
kern.fragment F @forward(%x: tensor<8x4xf32> from host "x" split [["dp"]]) {
  kern.return
}

// -----

// expected-error @+1 {{K16: `split` has the names of axes of each dim, not ["dp", "tp"]}}
kern.fragment F @forward(%x: tensor<8x4xf32> from host "x" split ["dp", "tp"]) {
  kern.return
}

// -----

kern.fragment F @forward(%x: tensor<8xf32> from host "x") -> (tensor<4xf32>) {
  // expected-error @+1 {{K16: returns 'tensor<8xf32>' where its fragment states 'tensor<4xf32>'}}
  kern.return %x : tensor<8xf32>
}

// -----

// expected-error @+1 {{K16: has 0 sources of 1 arguments and 0 targets of 0 results}}
"kern.fragment"() <{function_type = (tensor<8xf32>) -> (), kind = #kern<fragment_kind F>, sources = [], sym_name = "f", targets = []}> ({
^bb0(%x: tensor<8xf32>):
  "kern.return"() : () -> ()
}) : () -> ()

// -----

// expected-error @+1 {{K16: has attributes of arguments or results beside their sources and targets}}
"kern.fragment"() <{arg_attrs = [{}], function_type = (tensor<8xf32>) -> (), kind = #kern<fragment_kind F>, sources = [#step.host<"x">], sym_name = "f", targets = []}> ({
^bb0(%x: tensor<8xf32>):
  "kern.return"() : () -> ()
}) : () -> ()

// -----

// expected-error @+1 {{expected F, B, W, U, E, P, L or D, found 'G'}}
kern.fragment G @forward() {
  kern.return
}

// -----

// expected-error @+1 {{expected argument or result, found 'operand'}}
kern.fragment B @backward(%x: tensor<8xf32> from F operand 0) {
  kern.return
}

// -----

// expected-error @+1 {{K38: a state of the optimizer, and nothing else, has a `slot`; it is `of` a parameter, as gradients and working copies may be}}
kern.variable @w : tensor<8xf32> {kind = #kern.variable_kind<optimizer_state>, of = @w}

// -----

// expected-error @+1 {{K38: a state of the optimizer, and nothing else, has a `slot`; it is `of` a parameter, as gradients and working copies may be}}
kern.variable @w : tensor<8xf32> {kind = #kern.variable_kind<optimizer_state>, slot = "exp_avg"}

// -----

// expected-error @+1 {{K38: a state of the optimizer, and nothing else, has a `slot`; it is `of` a parameter, as gradients and working copies may be}}
kern.variable @w : tensor<8xf32> {kind = #kern.variable_kind<gradient>, of = @w, slot = "exp_avg"}

// -----

// expected-error @+1 {{K38: a state of the optimizer, and nothing else, has a `slot`; it is `of` a parameter, as gradients and working copies may be}}
kern.variable @w : tensor<8xf32> {kind = #kern.variable_kind<state>, of = @w}
