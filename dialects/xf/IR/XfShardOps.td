//===- XfShardOps.td - What a loss over shards is built of -*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_XF_XFSHARDOPS
#define HOCKET_DIALECTS_XF_XFSHARDOPS

include "dialects/xf/IR/XfOpBase.td"

def Xf_CrossEntropyRowsOp : Xf_Op<"cross_entropy_rows"> {
  let summary = "what cross-entropy needs of each row of logits";
  let description = [{
    `lse[..., p]` is the log-sum-exp of part `p` of the first `valid_vocab`
    logits, cut into as many parts of ceil(V / parts) as the result's last dim
    says (minus infinity for a part without any); `picked` is the label's logit,
    0 where the label is -1. With `first_column` the logits are one part of wider
    ones that starts there, and `picked` is 0 where the label is in another: over
    the devices that hold the parts it is a partial sum.

    ```mlir
    %lse, %picked = xf.cross_entropy_rows %l, %y {valid_vocab = 257 : i64} : (tensor<8x288xf32>, tensor<8xi32>) -> (tensor<8x2xf32>, tensor<8xf32>)
    ```
  }];
  let arguments = (ins Xf_Tensor:$logits,
                       Xf_Ids:$labels,
                       Optional<I32>:$first_column,
                       I64Attr:$valid_vocab);
  let results = (outs Xf_Tensor:$lse, Xf_Tensor:$picked);
}

def Xf_MergeAttentionOp : Xf_Op<"merge_attention"> {
  let summary = "attention over two sets of keys, from that over each";
  let description = [{
    With `l = log(exp(lse) + exp(other_lse))`:
    `result = input * exp(lse - l) + other * exp(other_lse - l)`, and `l` is the
    second result (arXiv 2310.01889). A row that has seen no key of a set has
    minus infinity there, and 0 in its place.

    ```mlir
    %y, %l = xf.merge_attention %a, %la, %b, %lb : (tensor<1x8x2x4xf32>, tensor<1x2x8xf32>, tensor<1x8x2x4xf32>, tensor<1x2x8xf32>) -> (tensor<1x8x2x4xf32>, tensor<1x2x8xf32>)
    ```
  }];
  let arguments = (ins Xf_Tensor:$input,
                       Xf_Tensor:$lse,
                       Xf_Tensor:$other,
                       Xf_Tensor:$other_lse);
  let results = (outs Xf_Tensor:$result, Xf_Tensor:$result_lse);
}

def Xf_LogSumExpOp : Xf_Op<"log_sum_exp"> {
  let summary = "log-sum-exp over the last dim";
  let description = [{
    `result = log(sum_i exp(input[..., i]))`, without overflow.

    ```mlir
    %y = xf.log_sum_exp %x : (tensor<8x2xf32>) -> tensor<8xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$input);
  let results = (outs Xf_Tensor:$result);
}

def Xf_CountLabelsOp : Xf_Op<"count_labels"> {
  let summary = "how many labels are not ignored";
  let description = [{
    The number of labels that are not -1.

    ```mlir
    %n = xf.count_labels %y : (tensor<4x8xi32>) -> tensor<f32>
    ```
  }];
  let arguments = (ins Xf_Ids:$labels);
  let results = (outs Xf_Tensor:$result);
}

def Xf_MeanLossOp : Xf_Op<"mean_loss"> {
  let summary = "mean negative log-likelihood, of rows";
  let description = [{
    `sum over labels >= 0 of (lse - picked) / count`; 0 where `count` is 0. On a
    shard of the rows it is a partial sum.

    ```mlir
    %loss = xf.mean_loss %lse, %picked, %y, %n : (tensor<8xf32>, tensor<8xf32>, tensor<8xi32>, tensor<f32>) -> tensor<f32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$lse,
                       Xf_Tensor:$picked,
                       Xf_Ids:$labels,
                       Xf_Tensor:$count);
  let results = (outs Xf_Tensor:$result);
}

#endif
