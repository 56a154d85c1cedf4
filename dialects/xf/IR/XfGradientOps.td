//===- XfGradientOps.td - What gradients are built of ------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_XF_XFGRADIENTOPS
#define HOCKET_DIALECTS_XF_XFGRADIENTOPS

include "dialects/xf/IR/XfOpBase.td"

def Xf_EmbeddingGradientOp : Xf_Op<"embedding_gradient"> {
  let summary = "gradient of a table of embeddings";
  let description = [{
    `result[v, :] = sum over ids == v of grad[..., :]`, in a fixed order. With
    `first_row` the result is a shard of a larger table that starts there.

    ```mlir
    %dw = xf.embedding_gradient %ids, %dy : (tensor<4x256xi32>, tensor<4x256x64xf32>) -> tensor<512x64xf32>
    ```
  }];
  let arguments = (ins Xf_Ids:$ids,
                       Xf_Tensor:$grad,
                       Optional<I32>:$first_row);
  let results = (outs Xf_Tensor:$result);
}

def Xf_PadRowsOp : Xf_ModelOp<"pad_rows"> {
  let summary = "zeros after the last row";
  let description = [{
    `input`, then rows of zeros: the gradient of `xf.prefix`, as that is of it.

    ```mlir
    %dw = xf.pad_rows %dp : (tensor<256x64xf32>) -> tensor<1024x64xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$input);
  let results = (outs Xf_Tensor:$result);
  let hasFolder = 1;
}

def Xf_LinearInputGradientOp : Xf_Op<"linear_input_gradient"> {
  let summary = "gradient of a linear layer by its input";
  let description = [{
    `result[..., i] = sum_o grad[..., o] * weight[o, i]`, times the two `scales`
    of operands with 8-bit elements.

    ```mlir
    %dx = xf.linear_input_gradient %dy, %w : (tensor<4x256x192xf32>, tensor<192x64xf32>) -> tensor<4x256x64xf32>
    ```

    ```mlir
    %dx = xf.linear_input_gradient %dy, %w, %s, %t : (tensor<8x192xf8E5M2>, tensor<192x64xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<8x64xbf16>
    ```
  }];
  let arguments = (ins Xf_Factor:$grad,
                       Xf_Factor:$weight,
                       Variadic<Xf_Scalar>:$scales);
  let results = (outs Xf_Tensor:$result);
}

def Xf_LinearWeightGradientOp : Xf_Op<"linear_weight_gradient"> {
  let summary = "gradient of a linear layer by its weight";
  let description = [{
    `result[o, i] = sum over rows of grad[..., o] * input[..., i]`, times the two
    `scales` of operands with 8-bit elements; the result may have a wider element
    type than the operands, which saves a rounding.

    ```mlir
    %dw = xf.linear_weight_gradient %dy, %x : (tensor<4x256x192xbf16>, tensor<4x256x64xbf16>) -> tensor<192x64xf32>
    ```

    ```mlir
    %dw = xf.linear_weight_gradient %dy, %x, %s, %t : (tensor<8x192xf8E5M2>, tensor<8x64xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<192x64xf32>
    ```
  }];
  let arguments = (ins Xf_Factor:$grad,
                       Xf_Factor:$input,
                       Variadic<Xf_Scalar>:$scales);
  let results = (outs Xf_Tensor:$result);
}

def Xf_NormGradientOp : Xf_Op<"norm_gradient"> {
  let summary = "gradients of a normalisation";
  let description = [{
    Gradients by the input, the weight and, where the norm had one, the bias.
    Statistics are computed again from the input; `zero_centered` as in `xf.norm`.

    ```mlir
    %dx, %dw = xf.norm_gradient %dy, %x, %w {kind = #xf.norm_kind<rms>, epsilon = 1.0e-5} : (tensor<8x64xf32>, tensor<8x64xf32>, tensor<64xf32>) -> (tensor<8x64xf32>, tensor<64xf32>)
    ```
  }];
  let arguments = (ins Xf_Tensor:$grad,
                       Xf_Tensor:$input,
                       Xf_Tensor:$weight,
                       Xf_NormKindAttr:$kind,
                       F64Attr:$epsilon,
                       UnitAttr:$zero_centered);
  let results = (outs Xf_Tensor:$input_grad, Xf_Tensor:$weight_grad, Optional<Xf_Tensor>:$bias_grad);
}

def Xf_AttentionGradientOp : Xf_Op<"attention_gradient",
    [AttrSizedOperandSegments]> {
  let summary = "gradients of attention";
  let description = [{
    Gradients by query, key and value from the forward pass's operands, its
    result and log-sum-exp (arXiv 2307.08691); `positions`, `softcap` and `alibi` as there. Of a
    shard (`part`, `rounds`, `whole`, `place` and `behind` as in `xf.attention`) result and
    log-sum-exp are those of all keys, and the gradients by key and value are those that the
    shard's queries give. With `bias` there is its gradient too, in f32 at least.

    ```mlir
    %dq, %dk, %dv = xf.attention_gradient %do, %q, %k, %v, %o, %lse {causal, scale = 0.125} : (tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x2x8xf32>) -> (tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>)
    ```
  }];
  let arguments = (ins Xf_Tensor:$grad,
                       Xf_Tensor:$query,
                       Xf_Tensor:$key,
                       Xf_Tensor:$value,
                       Xf_Tensor:$output,
                       Xf_Tensor:$lse,
                       Optional<Xf_Ids>:$positions,
                       Optional<Xf_Tensor>:$bias,
                       Optional<I32>:$instance,
                       Variadic<I32>:$place,
                       UnitAttr:$causal,
                       DefaultValuedAttr<I64Attr, "0">:$window,
                       F64Attr:$scale,
                       DefaultValuedAttr<F64Attr, "0.0">:$softcap,
                       UnitAttr:$alibi,
                       DefaultValuedAttr<F64Attr, "0.0">:$dropout,
                       DefaultValuedAttr<I32Attr, "0">:$stream,
                       DefaultValuedAttr<I64Attr, "0">:$part,
                       DefaultValuedAttr<I64Attr, "1">:$rounds,
                       OptionalAttr<DenseI64ArrayAttr>:$whole,
                       DefaultValuedAttr<I64Attr, "0">:$behind);
  let results = (outs Xf_Tensor:$query_grad, Xf_Tensor:$key_grad, Xf_Tensor:$value_grad,
                      Optional<Xf_Tensor>:$bias_grad);
  let assemblyFormat = [{
    $grad `,` $query `,` $key `,` $value `,` $output `,` $lse
    (`positions` $positions^)? (`bias` $bias^)? (`,` $instance^)? (`from` `(` $place^ `)`)? attr-dict `:`
    functional-type(operands, results)
  }];
}

def Xf_ActivationGradientOp : Xf_Op<"activation_gradient"> {
  let summary = "gradient of an elementwise nonlinearity";
  let description = [{
    `result = grad * activation'(input)`.

    ```mlir
    %dx = xf.activation_gradient %dy, %x {kind = #xf.activation_kind<gelu>} : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$grad,
                       Xf_Tensor:$input,
                       Xf_ActivationKindAttr:$kind);
  let results = (outs Xf_Tensor:$result);
}

def Xf_SoftcapGradientOp : Xf_Op<"softcap_gradient"> {
  let summary = "gradient of numbers bent to stay within a bound";
  let description = [{
    `result = grad * (1 - (output / cap)^2)`, where `output` is the forward op's
    result.

    ```mlir
    %dx = xf.softcap_gradient %dy, %y {cap = 30.0} : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$grad,
                       Xf_Tensor:$output,
                       F64Attr:$cap);
  let results = (outs Xf_Tensor:$result);
}

def Xf_GatedGradientOp : Xf_Op<"gated_gradient"> {
  let summary = "gradients of a gated linear unit";
  let description = [{
    `gate_grad = grad * up * activation'(gate)`, `up_grad = grad * activation(gate)`.

    ```mlir
    %dg, %du = xf.gated_gradient %dy, %g, %u {kind = #xf.activation_kind<silu>} : (tensor<4x64xf32>, tensor<4x64xf32>, tensor<4x64xf32>) -> (tensor<4x64xf32>, tensor<4x64xf32>)
    ```
  }];
  let arguments = (ins Xf_Tensor:$grad,
                       Xf_Tensor:$gate,
                       Xf_Tensor:$up,
                       Xf_ActivationKindAttr:$kind);
  let results = (outs Xf_Tensor:$gate_grad, Xf_Tensor:$up_grad);
}

def Xf_RowGateGradientOp : Xf_Op<"row_gate_gradient"> {
  let summary = "gradients of rows times the sigmoids of their numbers";
  let description = [{
    With `s = sigmoid(gate)`: `input_grad = grad * s`, and `gate_grad = s (1 - s)` times
    the row's sum of `grad * input`.

    ```mlir
    %dx, %dg = xf.row_gate_gradient %dy, %x, %g : (tensor<4x8x64xf32>, tensor<4x8x64xf32>, tensor<4x8x1xf32>) -> (tensor<4x8x64xf32>, tensor<4x8x1xf32>)
    ```
  }];
  let arguments = (ins Xf_Tensor:$grad,
                       Xf_Tensor:$input,
                       Xf_Tensor:$gate);
  let results = (outs Xf_Tensor:$input_grad, Xf_Tensor:$gate_grad);
}

def Xf_SumHeadsOp : Xf_Op<"sum_heads"> {
  let summary = "the sum of the fronts of all heads";
  let description = [{
    `result[b, s, 0, c] = sum_h input[b, s, h, c]`, in f32 at least, for as many
    channels as the result has: the gradient of the front that heads share in
    `xf.join_heads`.

    ```mlir
    %df = xf.sum_heads %dk : (tensor<4x256x8x192xf32>) -> tensor<4x256x1x64xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$input);
  let results = (outs Xf_Tensor:$result);
}

def Xf_GatherChoicesGradientOp : Xf_Op<"gather_choices_gradient"> {
  let summary = "gradient of numbers that stand side by side";
  let description = [{
    `result[q C + c, s, 0] = grad[q C, s, c]`: what the first sequence of a question
    has of each choice. What the others have is passed over.

    ```mlir
    %dx = xf.gather_choices_gradient %dy : (tensor<8x16x4xf32>) -> tensor<8x16x1xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$grad);
  let results = (outs Xf_Tensor:$result);
}

def Xf_PlaceRowsGradientOp : Xf_Op<"place_rows_gradient"> {
  let summary = "gradient of tokens of which others have taken the place";
  let description = [{
    `result[b, s] = grad[b, s]` where `rows` is negative, and 0 elsewhere. There are
    `sources` rows for each sequence.

    ```mlir
    %dx = xf.place_rows_gradient %dy, %r {sources = 34 : i64} : (tensor<4x256x64xf32>, tensor<4x256xi32>) -> tensor<4x256x64xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$grad,
                       Xf_Ids:$rows,
                       I64Attr:$sources);
  let results = (outs Xf_Tensor:$result);
}

def Xf_PlacedRowsGradientOp : Xf_Op<"placed_rows_gradient"> {
  let summary = "gradient of rows that stand for tokens";
  let description = [{
    `result[b N + r / T, r % T] = sum over rows[b, s] == r of grad[b, s]`, in order
    of `s`: of the source of `xf.place_rows`.

    ```mlir
    %ds = xf.placed_rows_gradient %dy, %r : (tensor<4x256x64xf32>, tensor<4x256xi32>) -> tensor<8x17x64xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$grad,
                       Xf_Ids:$rows);
  let results = (outs Xf_Tensor:$result);
}

def Xf_CrossEntropyGradientOp : Xf_Op<"cross_entropy_gradient",
    [AttrSizedOperandSegments]> {
  let summary = "gradient of the cross-entropy by the logits";
  let description = [{
    `result = loss_grad / count * (softmax(logits) - onehot(label))`; 0 where
    the label is ignored and in padded columns. `count` is how many labels are
    not ignored, here unless it is given; with `first_column` the logits are a
    shard of wider ones that starts there.

    ```mlir
    %dl = xf.cross_entropy_gradient %d, %l, %y, %lse {valid_vocab = 257 : i64} : (tensor<f32>, tensor<8x288xf32>, tensor<8xi32>, tensor<8xf32>) -> tensor<8x288xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$loss_grad,
                       Xf_Tensor:$logits,
                       Xf_Ids:$labels,
                       Xf_Tensor:$lse,
                       Optional<Xf_Tensor>:$count,
                       Optional<I32>:$first_column,
                       I64Attr:$valid_vocab);
  let results = (outs Xf_Tensor:$result);
  let assemblyFormat = [{
    $loss_grad `,` $logits `,` $labels `,` $lse (`count` $count^)?
    (`from` $first_column^)? attr-dict `:` functional-type(operands, results)
  }];
}

#endif
