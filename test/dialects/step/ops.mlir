// RUN: hocket-opt %s | hocket-opt | FileCheck %s

// CHECK: step.mesh ["dp", "cp"] sizes [2, 4] parts 128{{$}}
step.mesh ["dp", "cp"] sizes [2, 4] parts 128
// CHECK: step.training {clip_norm = 1.000000e+00 : f64, global_batch_size = 8 : i64, micro_batch_size = 4 : i64, model_name = "nano", precision = #xf.precision<fp32>, runtime = {seed = 1 : i64}, sequence_length = 256 : i64}
step.training {clip_norm = 1.0, global_batch_size = 8 : i64, micro_batch_size = 4 : i64, model_name = "nano", precision = #xf.precision<fp32>, runtime = {seed = 1 : i64}, sequence_length = 256 : i64}
// CHECK: step.recompute rank 1 {planned_bytes = 6144 : i64, recomputed = 2 : i64, residuals = 4 : i64, saved_bytes = 9216 : i64, seconds = 0.000000e+00 : f64, step_seconds = 1.000000e-03 : f64}
step.recompute rank 1 {planned_bytes = 6144 : i64, recomputed = 2 : i64, residuals = 4 : i64, saved_bytes = 9216 : i64, seconds = 0.0, step_seconds = 1.0e-3}
