// Kernels of a transformer's step, as the fusion pass writes them; read by
// codegen_benchmark.

kern.kernel @copy "copy" [4096 x 4096] (%x: tensor<4096x4096xf32> as full) -> (tensor<4096x4096xf32> as full) {
  kern.yield %x : f32
}

kern.kernel @gelu_bf16 "gelu" [4096 x 3072] (%x: tensor<4096x3072xbf16> as full) -> (tensor<4096x3072xbf16> as full) {
  %half = arith.constant 5.000000e-01 : f32
  %one = arith.constant 1.000000e+00 : f32
  %k = arith.constant 0.797884583 : f32
  %c = arith.constant 4.471500e-02 : f32
  %0 = arith.mulf %x, %x : f32
  %1 = arith.mulf %0, %x : f32
  %2 = arith.mulf %1, %c : f32
  %3 = arith.addf %x, %2 : f32
  %4 = arith.mulf %3, %k : f32
  %5 = math.tanh %4 : f32
  %6 = arith.addf %5, %one : f32
  %7 = arith.mulf %6, %half : f32
  %8 = arith.mulf %7, %x : f32
  kern.yield %8 : f32
}

kern.kernel @gelu_grad_bf16 "gelu_grad" [4096 x 3072] (%x: tensor<4096x3072xbf16> as full, %dy: tensor<4096x3072xbf16> as full) -> (tensor<4096x3072xbf16> as full) {
  %half = arith.constant 5.000000e-01 : f32
  %one = arith.constant 1.000000e+00 : f32
  %k = arith.constant 0.797884583 : f32
  %c = arith.constant 4.471500e-02 : f32
  %c3 = arith.constant 0.134145 : f32
  %0 = arith.mulf %x, %x : f32
  %1 = arith.mulf %0, %x : f32
  %2 = arith.mulf %1, %c : f32
  %3 = arith.addf %x, %2 : f32
  %4 = arith.mulf %3, %k : f32
  %t = math.tanh %4 : f32
  %5 = arith.addf %t, %one : f32
  %6 = arith.mulf %5, %half : f32
  %7 = arith.mulf %t, %t : f32
  %8 = arith.subf %one, %7 : f32
  %9 = arith.mulf %0, %c3 : f32
  %10 = arith.addf %9, %one : f32
  %11 = arith.mulf %10, %k : f32
  %12 = arith.mulf %11, %8 : f32
  %13 = arith.mulf %12, %x : f32
  %14 = arith.mulf %13, %half : f32
  %15 = arith.addf %6, %14 : f32
  %16 = arith.mulf %15, %dy : f32
  kern.yield %16 : f32
}

kern.kernel @gelu_erf "gelu_erf" [4096 x 3072] (%x: tensor<4096x3072xf32> as full) -> (tensor<4096x3072xf32> as full) {
  %half = arith.constant 5.000000e-01 : f32
  %one = arith.constant 1.000000e+00 : f32
  %r = arith.constant 0.707106769 : f32
  %0 = arith.mulf %x, %r : f32
  %1 = math.erf %0 : f32
  %2 = arith.addf %1, %one : f32
  %3 = arith.mulf %2, %half : f32
  %4 = arith.mulf %3, %x : f32
  kern.yield %4 : f32
}

kern.kernel @layer_norm "residual, layer_norm" [8192 x 768] (%x: tensor<8192x768xf32> as full, %d: tensor<8192x768xbf16> as full, %w: tensor<768xf32> as col, %b: tensor<768xf32> as col) -> (tensor<8192x768xf32> as full, tensor<8192x768xbf16> as full, tensor<8192xf32> as row, tensor<8192xf32> as row) {
  %n = arith.constant 0.00130208337 : f32
  %eps = arith.constant 9.99999974E-6 : f32
  %r = arith.addf %x, %d : f32
  %0 = kern.reduce add %r : f32
  %mean = arith.mulf %0, %n : f32
  %1 = arith.subf %r, %mean : f32
  %2 = arith.mulf %1, %1 : f32
  %3 = kern.reduce add %2 : f32
  %4 = arith.mulf %3, %n : f32
  %5 = arith.addf %4, %eps : f32
  %rstd = math.rsqrt %5 : f32
  %6 = arith.mulf %1, %rstd : f32
  %7 = arith.mulf %6, %w : f32
  %8 = arith.addf %7, %b : f32
  kern.yield %r, %8, %mean, %rstd : f32, f32, f32, f32
}

kern.kernel @layer_norm_grad "layer_norm_grad" [8192 x 768] (%dy: tensor<8192x768xbf16> as full, %x: tensor<8192x768xf32> as full, %w: tensor<768xf32> as col, %mean: tensor<8192xf32> as row, %rstd: tensor<8192xf32> as row, %skip: tensor<8192x768xf32> as full) -> (tensor<8192x768xf32> as full) {
  %n = arith.constant 0.00130208337 : f32
  %0 = arith.subf %x, %mean : f32
  %h = arith.mulf %0, %rstd : f32
  %g = arith.mulf %dy, %w : f32
  %gh = arith.mulf %g, %h : f32
  %s0 = kern.reduce add %g : f32
  %s1 = kern.reduce add %gh : f32
  %m0 = arith.mulf %s0, %n : f32
  %m1 = arith.mulf %s1, %n : f32
  %1 = arith.subf %g, %m0 : f32
  %2 = arith.mulf %h, %m1 : f32
  %3 = arith.subf %1, %2 : f32
  %4 = arith.mulf %3, %rstd : f32
  %5 = arith.addf %4, %skip : f32
  kern.yield %5 : f32
}

kern.kernel @norm_weight_grad by_columns "layer_norm_weight_grad" [8192 x 768] (%dy: tensor<8192x768xbf16> as full, %x: tensor<8192x768xf32> as full, %mean: tensor<8192xf32> as row, %rstd: tensor<8192xf32> as row) -> (tensor<768xf32> as col, tensor<768xf32> as col) {
  %0 = arith.subf %x, %mean : f32
  %1 = arith.mulf %0, %rstd : f32
  %2 = arith.mulf %1, %dy : f32
  kern.yield %2, %dy : f32, f32
}

kern.kernel @bias_grad by_columns "bias_grad" [4096 x 3072] (%dy: tensor<4096x3072xbf16> as full) -> (tensor<3072xf32> as col) {
  kern.yield %dy : f32
}

kern.kernel @softmax "softmax" [8192 x 1024] (%x: tensor<8192x1024xf32> as full) -> (tensor<8192x1024xf32> as full) {
  %one = arith.constant 1.000000e+00 : f32
  %m = kern.reduce max %x : f32
  %0 = arith.subf %x, %m : f32
  %e = math.exp %0 : f32
  %s = kern.reduce add %e : f32
  %i = arith.divf %one, %s : f32
  %p = arith.mulf %e, %i : f32
  kern.yield %p : f32
}

kern.kernel @dropout "residual, dropout" [8192 x 768] (%x: tensor<8192x768xf32> as full, %d: tensor<8192x768xbf16> as full) instances (%layer) -> (tensor<8192x768xf32> as full) {
  %k = kern.keep_scale %layer {rate = 0.1, stream = 3 : i32}
  %0 = arith.mulf %d, %k : f32
  %1 = arith.addf %x, %0 : f32
  kern.yield %1 : f32
}

kern.kernel @adamw "adamw" [4096 x 3072] (%p: tensor<4096x3072xf32> as full, %g: tensor<4096x3072xf32> as full, %m: tensor<4096x3072xf32> as full, %v: tensor<4096x3072xf32> as full, %lr: tensor<f32> as scalar, %c1: tensor<f32> as scalar, %c2: tensor<f32> as scalar, %scale: tensor<f32> as scalar) -> (tensor<4096x3072xf32> as full, tensor<4096x3072xf32> as full, tensor<4096x3072xf32> as full, tensor<4096x3072xbf16> as full) {
  %b1 = arith.constant 0.9 : f32
  %r1 = arith.constant 0.1 : f32
  %b2 = arith.constant 0.95 : f32
  %r2 = arith.constant 0.05 : f32
  %eps = arith.constant 1.0e-8 : f32
  %wd = arith.constant 0.1 : f32
  %one = arith.constant 1.0 : f32
  %gs = arith.mulf %g, %scale : f32
  %0 = arith.mulf %b1, %m : f32
  %1 = arith.mulf %r1, %gs : f32
  %m1 = arith.addf %0, %1 : f32
  %2 = arith.mulf %gs, %gs : f32
  %3 = arith.mulf %r2, %2 : f32
  %4 = arith.mulf %b2, %v : f32
  %v1 = arith.addf %3, %4 : f32
  %5 = arith.divf %v1, %c2 : f32
  %6 = math.sqrt %5 : f32
  %7 = arith.addf %6, %eps : f32
  %8 = arith.divf %m1, %c1 : f32
  %9 = arith.divf %8, %7 : f32
  %10 = arith.mulf %lr, %9 : f32
  %11 = arith.mulf %lr, %wd : f32
  %12 = arith.subf %one, %11 : f32
  %13 = arith.mulf %p, %12 : f32
  %p1 = arith.subf %13, %10 : f32
  kern.yield %p1, %m1, %v1, %p1 : f32, f32, f32, f32
}

kern.kernel @silu_gate "silu_gate" [4096 x 2816] (%x: tensor<4096x2816xbf16> as full, %y: tensor<4096x2816xbf16> as full) -> (tensor<4096x2816xbf16> as full) {
  %one = arith.constant 1.0 : f32
  %0 = arith.negf %x : f32
  %1 = math.exp %0 : f32
  %2 = arith.addf %1, %one : f32
  %3 = arith.divf %x, %2 : f32
  %4 = arith.mulf %3, %y : f32
  kern.yield %4 : f32
}
