//===- XfExpertOps.td - Mixtures of experts --------------------------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// A layer of experts is, in this order: `router` (which experts, and with what
// weight), `expert_order` (which row of the experts' buffer is whose),
// `dispatch` (tokens to rows), `grouped_linear` (every expert on its rows) and
// `combine` (rows back to tokens). Sizes never depend on data. The buffer has
// one of two forms:
//
//   capacity  [E, B, C, h]  C rows for each expert and sequence; what does not
//                           fit is dropped, what is left over is 0.
//   dropless  [G, R, h]     for each of G runs of B / G sequences the rows of
//                           expert 0, then those of expert 1, ..., R = B S k / G
//                           in all; `ranges[G, E, 2]` says where in its run
//                           each expert's begin and how many they are. Nothing
//                           is dropped or left over.
//
// In the dropless form runs may share their experts out: `exchange_rows` brings
// each chosen row to the run that holds its expert, into a buffer with a bound
// of rows, and `return_rows` brings it back. Only what was chosen travels.
//
// Sharding. In the form with a capacity, tokens are split along B and experts
// along E, and the two only meet in the buffer: `dispatch` fills [E, B/n, C, h],
// the experts want [E/n, B, C, h], and going from one to the other is an
// all-to-all. A sequence has a capacity of its own so that no token's fate
// depends on how B is split. In the dropless form a run of sequences is ordered
// by itself, so that tokens are split along G without a word between shards.
// Where experts are split, a device has one run, `exchange_rows` is an exchange
// between devices whose counts are known only when it runs, and E meets G: the
// experts that a run holds are those of its device. (Without an exchange E is a
// factor over which `grouped_linear` sums: a shard of the experts computes the
// rows in its part of `ranges` and leaves the others 0.)
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_XF_XFEXPERTOPS
#define HOCKET_DIALECTS_XF_XFEXPERTOPS

include "dialects/xf/IR/XfOpBase.td"

//===----------------------------------------------------------------------===//
// Routing
//===----------------------------------------------------------------------===//

def Xf_RouterOp : Xf_ModelOp<"router"> {
  let summary = "chooses each token's experts";
  let description = [{
    `p` is the softmax of the logits, or their sigmoid (arXiv 2412.19437). The
    experts are the `top_k` with the greatest `p + bias`, the greatest first and
    of equals the one with the lower number. `bias` takes part in this choice
    alone (arXiv 2408.15664).

    With `groups` > 1 the experts are that many runs of equal length, and only
    the `topk_groups` best of these are chosen from; a group counts as the sum
    of its `max(1, top_k / topk_groups)` greatest `p + bias` (arXiv 2412.19437).

    With a `bias` of `[B, E]`, a row for each sequence, the experts are those with
    the greatest `logit + bias` instead (`sinkhorn`).

    An expert's weight is its `p`, divided by the sum over the chosen with
    `renormalise`, times `scale`. Gradients pass through the weights, not
    through the choice.

    With `wide`, training in a narrow type computes the linear layer that makes
    the logits in f32, from its f32 weight, forward and backward.

    ```mlir
    %w, %e = xf.router %l {renormalise, scale = 1.0, scores = #xf.router_scores<softmax>, top_k = 2 : i64} : (tensor<4x256x8xf32>) -> (tensor<4x256x2xf32>, tensor<4x256x2xi32>)
    ```
  }];
  let arguments = (ins Xf_Tensor:$logits,
                       Optional<Xf_Tensor>:$bias,
                       I64Attr:$top_k,
                       Xf_RouterScoresAttr:$scores,
                       UnitAttr:$renormalise,
                       DefaultValuedAttr<I64Attr, "1">:$groups,
                       DefaultValuedAttr<I64Attr, "1">:$topk_groups,
                       F64Attr:$scale,
                       UnitAttr:$wide);
  let results = (outs Xf_Tensor:$weights, Xf_Ids:$experts);
}

def Xf_RouterGradientOp : Xf_Op<"router_gradient"> {
  let summary = "gradient of a router by its logits";
  let description = [{
    From the gradient of the weights and the choice that was made; `p` is
    computed again.

    ```mlir
    %dl = xf.router_gradient %dw, %l, %e {renormalise, scale = 1.0, scores = #xf.router_scores<softmax>} : (tensor<8x2xf32>, tensor<8x4xf32>, tensor<8x2xi32>) -> tensor<8x4xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$grad,
                       Xf_Tensor:$logits,
                       Xf_Ids:$experts,
                       Xf_RouterScoresAttr:$scores,
                       UnitAttr:$renormalise,
                       F64Attr:$scale);
  let results = (outs Xf_Tensor:$result);
}

def Xf_SinkhornOp : Xf_ModelOp<"sinkhorn"> {
  let summary = "biases of a sequence's logits that give experts like loads";
  let description = [{
    The matrix `exp(logits)` of a sequence, `[S, E]`, is scaled until each of its
    rows sums to `1 / S` and each of its columns to `1 / E` (Sinkhorn's iterations,
    as in S-BASE, arXiv 2202.01169). The result is the logarithm of the
    columns' scales, `[B, E]`: rows' scales do not change which of a row's numbers
    are the greatest. Iterations begin with scales of 1 and end when those of the
    columns change by 1e-4 or less in the mean, or after 1,000. Nothing here has a
    gradient.

    ```mlir
    %s = xf.sinkhorn %l : (tensor<4x256x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$logits);
  let results = (outs Xf_Tensor:$result);
}

def Xf_RouterProbabilitiesOp : Xf_ModelOp<"router_probabilities"> {
  let summary = "how probable each expert is, over all tokens or a sequence's";
  let description = [{
    `result[e] = sum over tokens of q[token, e]`, where `q` is the softmax of
    the logits, or their sigmoids divided by their sum. Times `expert_counts`
    it is the load-balancing loss (arXiv 2101.03961, equation 4). A sum, not a
    mean, so that shards of the tokens are put together by adding.

    With a result of `[B, E]` there is a sum for each sequence, the leading dim
    of the logits: a loss of these (arXiv 2412.19437, equation 17) does not
    depend on which sequences are computed together.

    ```mlir
    %p = xf.router_probabilities %l {scores = #xf.router_scores<softmax>} : (tensor<4x256x8xf32>) -> tensor<8xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$logits,
                       Xf_RouterScoresAttr:$scores);
  let results = (outs Xf_Tensor:$result);
}

def Xf_RouterProbabilitiesGradientOp : Xf_Op<"router_probabilities_gradient"> {
  let summary = "gradient of the experts' probabilities by the logits";
  let description = [{
    `q[t, e] (grad[e] - sum_f grad[f] q[t, f])` for softmax; for sigmoids with
    another `1 - sigmoid(logits[t, e])`. A gradient of `[B, E]` is by sequence.

    ```mlir
    %dl = xf.router_probabilities_gradient %dp, %l {scores = #xf.router_scores<softmax>} : (tensor<8xf32>, tensor<4x256x8xf32>) -> tensor<4x256x8xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$grad,
                       Xf_Tensor:$logits,
                       Xf_RouterScoresAttr:$scores);
  let results = (outs Xf_Tensor:$result);
}

def Xf_RouterZLossOp : Xf_ModelOp<"router_z_loss"> {
  let summary = "the sum of squared log-sum-exps of the router's logits";
  let description = [{
    `sum over tokens of logsumexp(logits)^2`, which keeps logits small (arXiv
    2202.08906, equation 5, there as a mean).

    ```mlir
    %z = xf.router_z_loss %l : (tensor<4x256x8xf32>) -> tensor<f32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$logits);
  let results = (outs Xf_Tensor:$result);
}

def Xf_RouterZLossGradientOp : Xf_Op<"router_z_loss_gradient"> {
  let summary = "gradient of the router's z-loss by the logits";
  let description = [{
    `2 grad logsumexp(logits) softmax(logits)`.

    ```mlir
    %dl = xf.router_z_loss_gradient %d, %l : (tensor<f32>, tensor<4x256x8xf32>) -> tensor<4x256x8xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$grad,
                       Xf_Tensor:$logits);
  let results = (outs Xf_Tensor:$result);
}

def Xf_ExpertCountsOp : Xf_ModelOp<"expert_counts"> {
  let summary = "how many tokens chose each expert";
  let description = [{
    As numbers that can be added up over microbatches and shards; of each
    sequence where the result is `[B, E]`. It has no gradient.

    ```mlir
    %n = xf.expert_counts %e : (tensor<4x256x2xi32>) -> tensor<8xf32>
    ```
  }];
  let arguments = (ins Xf_Ids:$experts);
  let results = (outs Xf_Tensor:$result);
}

def Xf_BalanceBiasOp : Xf_Op<"balance_bias"> {
  let summary = "moves a router's bias against the load";
  let description = [{
    `result[e] = bias[e] + rate * sign(mean(counts) - counts[e])`, once a step
    (arXiv 2408.15664, algorithm 1). Where `skip` is not 0 nothing changes.

    ```mlir
    %b1 = xf.balance_bias %b, %n, %skip {rate = 0.001} : (tensor<8xf32>, tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$bias,
                       Xf_Tensor:$counts,
                       Xf_Tensor:$skip,
                       F64Attr:$rate);
  let results = (outs Xf_Tensor:$result);
}

//===----------------------------------------------------------------------===//
// Rows of experts
//===----------------------------------------------------------------------===//

def Xf_ExpertOrderOp : Xf_ModelOp<"expert_order"> {
  let summary = "gives each chosen expert's token a row";
  let description = [{
    With `capacity` C > 0: the tokens of a sequence take the rows of an expert
    in their order, so that whether a token is dropped depends on earlier ones
    alone; `slots[b, s, j]` is `expert * C + row`, or -1 where the expert's C
    rows are taken.

    With `capacity` 0 nothing is dropped: of each of G runs `slots` is the row
    among all of the run's, ordered by expert, then by token, and the second
    result says for each run and expert its first row and how many it has. G is
    the leading dim of `ranges`. With `position_runs` P, run g holds positions
    [g % P, g % P + 1) S / P of sequences [g / P, g / P + 1) B P / G. Runs change
    no result but the order in which a weight's gradient is summed; they are
    what devices can have for themselves.

    ```mlir
    %s = xf.expert_order %e {capacity = 80 : i64, experts = 8 : i64} : (tensor<4x256x2xi32>) -> tensor<4x256x2xi32>
    ```

    ```mlir
    %s, %r = xf.expert_order %e {experts = 8 : i64} : (tensor<4x256x2xi32>) -> (tensor<4x256x2xi32>, tensor<1x8x2xi32>)
    ```
  }];
  let arguments = (ins Xf_Ids:$choice,
                       I64Attr:$experts,
                       DefaultValuedAttr<I64Attr, "0">:$capacity,
                       DefaultValuedAttr<I64Attr, "1">:$position_runs);
  let results = (outs Xf_Ids:$slots, Optional<Xf_Ids>:$ranges);
}

def Xf_DispatchOp : Xf_ModelOp<"dispatch"> {
  let summary = "tokens to the rows of their experts";
  let description = [{
    Row `slots[b, s, j]` of the result is `input[b, s, :]`, times
    `weights[b, s, j]` where they are given; the other rows are 0. The result
    is `[E, B, C, h]` or, dropless, `[G, R, h]`, where runs are those of
    `expert_order` with as many `position_runs`. With a capacity, B is a
    parallel factor: a shard of the sequences fills its part of every expert's
    rows, and an all-to-all brings them to the shard of the expert.

    ```mlir
    %r = xf.dispatch %x, %s : (tensor<4x256x64xf32>, tensor<4x256x2xi32>) -> tensor<8x4x80x64xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$input,
                       Xf_Ids:$slots,
                       Optional<Xf_Tensor>:$weights,
                       DefaultValuedAttr<I64Attr, "1">:$position_runs);
  let results = (outs Xf_Tensor:$result);
}

def Xf_CombineOp : Xf_ModelOp<"combine"> {
  let summary = "rows of experts back to their tokens";
  let description = [{
    `result[b, s, :] = sum_j weights[b, s, j] * rows[slots[b, s, j], :]`, summed
    in f32 at least in the order of j; a dropped token's row counts as 0, and a
    missing `weights` as 1. The adjoint of `dispatch`.

    ```mlir
    %y = xf.combine %r, %s, %w : (tensor<8x4x80x64xf32>, tensor<4x256x2xi32>, tensor<4x256x2xf32>) -> tensor<4x256x64xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$rows,
                       Xf_Ids:$slots,
                       Optional<Xf_Tensor>:$weights,
                       DefaultValuedAttr<I64Attr, "1">:$position_runs);
  let results = (outs Xf_Tensor:$result);
}

def Xf_CombineWeightGradientOp : Xf_Op<"combine_weight_gradient"> {
  let summary = "gradient of a combination by its weights";
  let description = [{
    `result[b, s, j] = sum_h tokens[b, s, h] * rows[slots[b, s, j], h]`, 0 where
    the token was dropped.

    ```mlir
    %dw = xf.combine_weight_gradient %dy, %r, %s : (tensor<4x256x64xf32>, tensor<8x4x80x64xf32>, tensor<4x256x2xi32>) -> tensor<4x256x2xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$tokens,
                       Xf_Tensor:$rows,
                       Xf_Ids:$slots,
                       DefaultValuedAttr<I64Attr, "1">:$position_runs);
  let results = (outs Xf_Tensor:$result);
}

//===----------------------------------------------------------------------===//
// Rows between runs
//===----------------------------------------------------------------------===//

def Xf_ExpertSegmentsOp : Xf_ModelOp<"expert_segments"> {
  let summary = "where rows lie that runs have exchanged";
  let description = [{
    Runs form groups of n, the second dim of the result `[G, n, E/n, 2]`, of
    which the p-th holds experts [p E/n, (p + 1) E/n). Each run of a group gets
    from every run of it, in their order, the rows of the experts that it holds,
    in theirs; `result[g, s, e]` is the first of the rows that run g has from the
    s-th run of its group for its expert e, and how many they are. They follow
    one another without gaps. Which runs form a group is the mesh's to say; it
    changes nothing but the order in which a weight's gradient is summed. Where
    there is none, groups are consecutive runs.

    Of the ranges `[n, E/n, 2]` that the runs of one group have sent, the result
    is `[1, n, E/n, 2]`: all that is left on a device.

    ```mlir
    %s = xf.expert_segments %r : (tensor<4x8x2xi32>) -> tensor<4x2x4x2xi32>
    ```
  }];
  let arguments = (ins Xf_Ids:$ranges);
  let results = (outs Xf_Ids:$result);
}

def Xf_ExchangeRowsOp : Xf_ModelOp<"exchange_rows"> {
  let summary = "rows to the runs that hold their experts";
  let description = [{
    From `[G, R, h]`, as `ranges` has them, to `[G, bound, h]`, as `segments`
    (`expert_segments`) has them; the other rows are 0. It is an error if a run
    is sent more rows than `bound`: none is dropped.

    The bound follows from the plan (`xf-size-microbatch`): `room` times the even
    share of what tokens choose, `top_k` experts each, where runs share the
    experts out. A room of 0 is the default; without a `top_k` the bound stays as
    it is written.

    ```mlir
    %y = xf.exchange_rows %x, %r, %s : (tensor<4x128x64xf32>, tensor<4x8x2xi32>, tensor<4x2x4x2xi32>) -> tensor<4x200x64xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$rows, Xf_Ids:$ranges, Xf_Ids:$segments,
                       DefaultValuedAttr<I64Attr, "0">:$top_k,
                       DefaultValuedAttr<F64Attr, "0.0">:$room);
  let results = (outs Xf_Tensor:$result);
}

def Xf_ReturnRowsOp : Xf_ModelOp<"return_rows"> {
  let summary = "rows back to the runs that they came from";
  let description = [{
    From `[G, bound, h]`, as `segments` has them, to `[G, R, h]`, as `ranges` has
    them; the other rows are 0. The reverse and the adjoint of `exchange_rows`,
    whose `top_k` and `room` it has.

    ```mlir
    %y = xf.return_rows %x, %r, %s : (tensor<4x200x64xf32>, tensor<4x8x2xi32>, tensor<4x2x4x2xi32>) -> tensor<4x128x64xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$rows, Xf_Ids:$ranges, Xf_Ids:$segments,
                       DefaultValuedAttr<I64Attr, "0">:$top_k,
                       DefaultValuedAttr<F64Attr, "0.0">:$room);
  let results = (outs Xf_Tensor:$result);
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

def Xf_GroupedLinearOp : Xf_ModelOp<"grouped_linear"> {
  let summary = "a linear layer of each expert on its rows";
  let description = [{
    `result[r, o] = sum_i rows[r, i] * weight[e, o, i]` for the rows r of expert
    e, summed in f32 at least. Rows are `[E, B, C, i]`, or `[G, R, i]` with
    `ranges`; rows in no expert's range become 0. With a capacity E is a
    parallel factor of rows, weights and result.

    `ranges` are `[G, E, 2]`, or, of rows that were exchanged, the segments
    `[G, n, e, 2]`: run g has n segments of each of its e experts, which are
    those from `g % (E / e) * e` on. `expected_rows` is how many rows of a run are
    in ranges where tokens choose experts evenly, 0 for all of them; only what
    an op costs follows from it.

    With `fp8` rows and weights are what blocks of 8 bits stand for, as in
    `xf.linear`. The gradient by the rows gets such operands too, that by the
    weights does not: which rows an expert has beside each other depends on how
    tokens are spread, and blocks of them would.

    ```mlir
    %y = xf.grouped_linear %r, %w : (tensor<8x4x80x64xf32>, tensor<8x192x64xf32>) -> tensor<8x4x80x192xf32>
    ```

    ```mlir
    %y = xf.grouped_linear %r, %w, %n : (tensor<1x2048x64xf32>, tensor<8x192x64xf32>, tensor<1x8x2xi32>) -> tensor<1x2048x192xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$rows,
                       Xf_Tensor:$weight,
                       Optional<Xf_Ids>:$ranges,
                       DefaultValuedAttr<I64Attr, "0">:$expected_rows,
                       OptionalAttr<Xf_Fp8RecipeAttr>:$fp8);
  let results = (outs Xf_Tensor:$result);
}

def Xf_GroupedLinearInputGradientOp : Xf_Op<"grouped_linear_input_gradient"> {
  let summary = "gradient of the experts' linear layers by their rows";
  let description = [{
    `result[r, i] = sum_o grad[r, o] * weight[e, o, i]` for the rows r of expert
    e, 0 for rows of none.

    ```mlir
    %dr = xf.grouped_linear_input_gradient %dy, %w : (tensor<8x4x80x192xf32>, tensor<8x192x64xf32>) -> tensor<8x4x80x64xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$grad,
                       Xf_Tensor:$weight,
                       Optional<Xf_Ids>:$ranges,
                       DefaultValuedAttr<I64Attr, "0">:$expected_rows);
  let results = (outs Xf_Tensor:$result);
}

def Xf_GroupedLinearWeightGradientOp : Xf_Op<"grouped_linear_weight_gradient"> {
  let summary = "gradient of the experts' linear layers by their weights";
  let description = [{
    `result[e, o, i] = sum over the rows r of expert e of grad[r, o] *
    rows[r, i]`; the result may have a wider element type than the operands.

    ```mlir
    %dw = xf.grouped_linear_weight_gradient %dy, %r : (tensor<8x4x80x192xbf16>, tensor<8x4x80x64xbf16>) -> tensor<8x192x64xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$grad,
                       Xf_Tensor:$rows,
                       Optional<Xf_Ids>:$ranges,
                       DefaultValuedAttr<I64Attr, "0">:$expected_rows);
  let results = (outs Xf_Tensor:$result);
}

#endif
