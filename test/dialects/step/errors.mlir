// RUN: hocket-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{K35: each axis has a name of its own and a size of at least 1}}
step.mesh ["dp", "dp"] sizes [2, 4]

// -----

// expected-error @+1 {{K35: each axis has a name of its own and a size of at least 1}}
step.mesh ["dp", "tp"] sizes [2]

// -----

// expected-error @+1 {{K35: each axis has a name of its own and a size of at least 1}}
step.mesh ["dp"] sizes [0]

// -----

// expected-error @+1 {{K35: parts have at least one row, not 0}}
step.mesh ["dp"] sizes [2] parts 0

// -----

// expected-error @+1 {{K36: the global batch of 8 is no multiple of the micro batch of 3}}
step.training {global_batch_size = 8 : i64, micro_batch_size = 3 : i64, model_name = "nano", runtime = {}, sequence_length = 256 : i64}

// -----

// expected-error @+1 {{K37: has a number to begin with and no `init`}}
kern.variable @w : tensor<8xf32> {info = #step.variable_info<value = 1.0 : f64>, kind = #kern.variable_kind<parameter>}

// -----

// expected-error @+1 {{K37: no variable has the shape array<i64: 0>}}
kern.variable @w : tensor<8xf32> {info = #step.variable_info<shape = [0]>, kind = #kern.variable_kind<parameter>}

// -----

// expected-error @+1 {{K37: has no names of axes for each dim: [["dp"], []]}}
kern.variable @w : tensor<8xf32> {info = #step.variable_info<axes = [["dp"], []], shape = [8]>, kind = #kern.variable_kind<parameter>}
