// RUN: hocket-opt %s --xf-low-rank --split-input-file --verify-diagnostics

// expected-error @+1 {{finds no linear op whose weight has one of its roles}}
xf.low_rank {alpha = 8.0, dropout = 0.0, rank = 2 : i64, targets = [#xf.parameter_role<gate>]}
xf.variable @w : tensor<8x4xf32> {kind = #xf.variable_kind<parameter>, role = #xf.parameter_role<query>}

// -----

xf.low_rank {alpha = 8.0, dropout = 0.0, rank = 2 : i64, targets = [#xf.parameter_role<gate>]}
// expected-error @+1 {{is the second of the module}}
xf.low_rank {alpha = 8.0, dropout = 0.0, rank = 2 : i64, targets = [#xf.parameter_role<gate>]}
