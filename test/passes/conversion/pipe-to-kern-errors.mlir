// RUN: hocket-opt %s --convert-pipe-to-kern --split-input-file --verify-diagnostics

func.func @wide(%x: tensor<4x8xf64>) -> tensor<4x8xf64> {
  // expected-error @+1 {{f64 is for the reference evaluation only; kernels compute in f32, bf16 or f16}}
  %0 = xf.add %x, %x : (tensor<4x8xf64>, tensor<4x8xf64>) -> tensor<4x8xf64>
  return %0 : tensor<4x8xf64>
}

// -----

// expected-error @+1 {{runs #pipe.action<E chunk 0 microbatch 0 slot 0>, which is no fragment}}
pipe.schedule "eval_step" rank 0 microbatches 1 slots 1 [
  #pipe.action<E chunk 0 microbatch 0 slot 0>]

// -----

func.func @forward(%x: tensor<2x4xi32>, %y: tensor<2x4xi32>) -> tensor<f32> {
  %0 = xf.constant {value = 1.0} : () -> tensor<f32>
  return %0 : tensor<f32>
}
func.func @backward(%x: tensor<2x4xi32>, %y: tensor<2x4xi32>) {
  return
}
func.func @nothing() {
  return
}
// expected-error @+1 {{no kernel computes this op}}
xf.step microbatches(2) forward(@forward) backward(@backward) update(@nothing) evaluate(@forward)

// -----

func.func @page(%q: tensor<8x1x4x4xf32>, %k: tensor<8x1x2x4xf32>, %p: tensor<8x1xi32>, %t: tensor<4x2xi32>, %c: tensor<8x32x2x4xf32>) {
  // expected-error @+1 {{a page of the kernels has 64 positions, not 32}}
  %o, %a, %b = xf.cached_attention %q, %k, %k, %p, %p, %t, %c, %c {scale = 0.5} : (tensor<8x1x4x4xf32>, tensor<8x1x2x4xf32>, tensor<8x1x2x4xf32>, tensor<8x1xi32>, tensor<8x1xi32>, tensor<4x2xi32>, tensor<8x32x2x4xf32>, tensor<8x32x2x4xf32>) -> (tensor<8x1x4x4xf32>, tensor<8x32x2x4xf32>, tensor<8x32x2x4xf32>)
  return
}
