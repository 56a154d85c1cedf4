//===- XfStateOps.td - State-space layers ------------------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What Mamba-2 (Dao and Gu, arXiv 2405.21060) needs beside linear layers,
/// activations and norms: a short convolution along the sequence, and the
/// recurrence, each with its gradient.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_XF_XFSTATEOPS
#define HOCKET_DIALECTS_XF_XFSTATEOPS

include "dialects/xf/IR/XfOpBase.td"

def Xf_CausalConvOp : Xf_ModelOp<"causal_conv"> {
  let summary = "a convolution along the sequence, each channel by itself";
  let description = [{
    `result[b, s, c] = bias[c] + sum_k weight[c, k] * input[b, s - (K - 1) + k, c]`,
    where rows before the first one of a sequence are 0: a token sees itself and
    the `K - 1` before it.

    ```mlir
    %y = xf.causal_conv %x, %w, %b : (tensor<4x256x64xf32>, tensor<64x4xf32>, tensor<64xf32>) -> tensor<4x256x64xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$input,
                       Xf_Tensor:$weight,
                       Optional<Xf_Tensor>:$bias);
  let results = (outs Xf_Tensor:$result);
}

def Xf_CausalConvGradientOp : Xf_Op<"causal_conv_gradient"> {
  let summary = "gradients of a convolution along the sequence";
  let description = [{
    Gradients by the input, the weight and, where the convolution had one, the bias;
    those of parameters are summed in f32 at least.

    ```mlir
    %dx, %dw, %db = xf.causal_conv_gradient %dy, %x, %w : (tensor<4x256x64xf32>, tensor<4x256x64xf32>, tensor<64x4xf32>) -> (tensor<4x256x64xf32>, tensor<64x4xf32>, tensor<64xf32>)
    ```
  }];
  let arguments = (ins Xf_Tensor:$grad,
                       Xf_Tensor:$input,
                       Xf_Tensor:$weight);
  let results = (outs Xf_Tensor:$input_grad, Xf_Tensor:$weight_grad,
                      Optional<Xf_Tensor>:$bias_grad);
}

def Xf_StateScanOp : Xf_ModelOp<"state_scan"> {
  let summary = "the recurrence of a state-space layer";
  let description = [{
    Of `input[B, S, n, p]`, `step[B, S, n]`, `in_map` and `out_map` `[B, S, g, N]`,
    where `n / g` consecutive heads share a group, and a number a head of `decay`,
    `step_bias` and `skip`: each head has a state `h` of `[p, N]`, 0 before the
    first token, and with

    ```
    d[s] = clamp(softplus(step[s] + step_bias), least, most)
    h[s] = exp(-exp(decay) d[s]) h[s - 1] + d[s] input[s] in_map[s]^T
    result[s] = h[s] out_map[s] + skip input[s]
    ```

    Without `most` steps have no upper bound. States are kept in f32 at least. It is
    the recurrent form of arXiv 2405.21060, equation 16; `decay` is Mamba's `A_log`,
    `in_map` its B, `out_map` its C and `skip` its D.

    ```mlir
    %y = xf.state_scan %x, %dt, %b, %c, %a, %tb, %d : (tensor<4x256x8x64xf32>, tensor<4x256x8xf32>, tensor<4x256x1x16xf32>, tensor<4x256x1x16xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x256x8x64xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$input,
                       Xf_Tensor:$step,
                       Xf_Tensor:$in_map,
                       Xf_Tensor:$out_map,
                       Xf_Tensor:$decay,
                       Xf_Tensor:$step_bias,
                       Xf_Tensor:$skip,
                       DefaultValuedAttr<F64Attr, "0.0">:$least,
                       OptionalAttr<F64Attr>:$most);
  let results = (outs Xf_Tensor:$result);
}

def Xf_StateScanGradientOp : Xf_Op<"state_scan_gradient"> {
  let summary = "gradients of the recurrence of a state-space layer";
  let description = [{
    Gradients by all operands of `xf.state_scan`; those of a number a head are summed
    in f32 at least. Nothing but the operands is kept for it.

    ```mlir
    %dx, %ddt, %db, %dc, %da, %dtb, %dd = xf.state_scan_gradient %dy, %x, %dt, %b, %c, %a, %tb, %d : (tensor<4x256x8x64xf32>, tensor<4x256x8x64xf32>, tensor<4x256x8xf32>, tensor<4x256x1x16xf32>, tensor<4x256x1x16xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x256x8x64xf32>, tensor<4x256x8xf32>, tensor<4x256x1x16xf32>, tensor<4x256x1x16xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
    ```
  }];
  let arguments = (ins Xf_Tensor:$grad,
                       Xf_Tensor:$input,
                       Xf_Tensor:$step,
                       Xf_Tensor:$in_map,
                       Xf_Tensor:$out_map,
                       Xf_Tensor:$decay,
                       Xf_Tensor:$step_bias,
                       Xf_Tensor:$skip,
                       DefaultValuedAttr<F64Attr, "0.0">:$least,
                       OptionalAttr<F64Attr>:$most);
  let results = (outs Xf_Tensor:$input_grad, Xf_Tensor:$step_grad,
                      Xf_Tensor:$in_map_grad, Xf_Tensor:$out_map_grad,
                      Xf_Tensor:$decay_grad, Xf_Tensor:$step_bias_grad,
                      Xf_Tensor:$skip_grad);
}

#endif
