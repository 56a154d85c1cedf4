//===- XfModelOps.td - The forward pass --------------------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_XF_XFMODELOPS
#define HOCKET_DIALECTS_XF_XFMODELOPS

include "dialects/xf/IR/XfOpBase.td"

def Xf_EmbeddingOp : Xf_ModelOp<"embedding"> {
  let summary = "rows of a table, by token";
  let description = [{
    `result[..., :] = table[ids[...], :]`. Ids lie in `[0, V)`; the runtime
    reports one that does not. With `first_row` the table is a shard of a larger
    one that starts there: an id of another shard gives zeros.

    ```mlir
    %x = xf.embedding %ids, %w : (tensor<4x256xi32>, tensor<512x64xf32>) -> tensor<4x256x64xf32>
    ```
  }];
  let arguments = (ins Xf_Ids:$ids,
                       Xf_Tensor:$table,
                       Optional<I32>:$first_row);
  let results = (outs Xf_Tensor:$result);
}

def Xf_PrefixOp : Xf_ModelOp<"prefix"> {
  let summary = "the first rows of a tensor";
  let description = [{
    `result[i, ...] = input[i, ...]` for the first rows; the result's leading
    dim says how many.

    ```mlir
    %p = xf.prefix %w : (tensor<1024x64xf32>) -> tensor<256x64xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$input);
  let results = (outs Xf_Tensor:$result);
  let hasFolder = 1;
}

def Xf_PositionsOp : Xf_ModelOp<"positions"> {
  let summary = "the position of every row of a sequence";
  let description = [{
    `result[s] = s`, or, with `part` > 0, the position of the row that is stored
    at `s` (`part` and `rounds` as in `xf.attention`). With `first` the rows are a
    shard that starts there of a sequence of `whole`.

    ```mlir
    %p = xf.positions {part = 64 : i64} : () -> tensor<256xi32>
    ```
  }];
  let arguments = (ins Optional<I32>:$first,
                       DefaultValuedAttr<I64Attr, "0">:$part,
                       DefaultValuedAttr<I64Attr, "1">:$rounds,
                       DefaultValuedAttr<I64Attr, "0">:$whole);
  let results = (outs Xf_Ids:$result);
}

def Xf_RelativeBucketsOp : Xf_ModelOp<"relative_buckets"> {
  let summary = "the bucket of every distance of a key from a query";
  let description = [{
    The rows of a table of biases that scores get by distance, as T5 has them (arXiv
    1910.10683; kernels/reference/RelativeBuckets.h): `result[max_distance + d]` is
    the bucket of keys `d` positions behind the query, from `-max_distance` to
    `max_distance`. With `both_directions` keys behind have half of the `buckets`.

    ```mlir
    %i = xf.relative_buckets {buckets = 32 : i64, max_distance = 128 : i64} : () -> tensor<257xi32>
    ```
  }];
  let arguments = (ins I64Attr:$buckets,
                       I64Attr:$max_distance,
                       UnitAttr:$both_directions);
  let results = (outs Xf_Ids:$result);
}

def Xf_LinearOp : Xf_ModelOp<"linear", [AttrSizedOperandSegments]> {
  let summary = "a linear layer";
  let description = [{
    `result[..., o] = sum_i input[..., i] * weight[o, i] + bias[o]`, summed in
    f32 at least. Input and weight may both have 8-bit elements; the sum is then
    times their two `scales` (`xf.quantize`), and the gradient's GEMMs have
    8-bit operands too. With `fp8` the operands are what blocks of 8 bits stand
    for (`xf.dequantize_blocks`), and the gradient's GEMMs get such operands in
    blocks along what they sum over.

    ```mlir
    %y = xf.linear %x, %w, %b : (tensor<4x256x64xf32>, tensor<192x64xf32>, tensor<192xf32>) -> tensor<4x256x192xf32>
    ```

    ```mlir
    %y = xf.linear %x, %w scales(%s, %t) : (tensor<8x64xf8E4M3FN>, tensor<192x64xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<8x192xbf16>
    ```
  }];
  let arguments = (ins Xf_Factor:$input,
                       Xf_Factor:$weight,
                       Optional<Xf_Tensor>:$bias,
                       Variadic<Xf_Scalar>:$scales,
                       OptionalAttr<Xf_Fp8RecipeAttr>:$fp8);
  let results = (outs Xf_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $weight (`,` $bias^)? (`scales` `(` $scales^ `)`)? attr-dict `:`
    functional-type(operands, results)
  }];
}

def Xf_NormOp : Xf_ModelOp<"norm"> {
  let summary = "layer or RMS normalisation over the last dim";
  let description = [{
    `layer` (arXiv 1607.06450): `(x - mean) / sqrt(var + epsilon) * weight + bias`.
    `rms` (arXiv 1910.07467): `x / sqrt(mean(x^2) + epsilon) * weight`.
    Statistics are kept in f32 at least. With `zero_centered`, `1 + weight` stands
    in place of `weight`, so that a weight of 0 scales by 1.

    ```mlir
    %y = xf.norm %x, %w {kind = #xf.norm_kind<rms>, epsilon = 1.0e-5} : (tensor<4x256x64xf32>, tensor<64xf32>) -> tensor<4x256x64xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$input,
                       Xf_Tensor:$weight,
                       Optional<Xf_Tensor>:$bias,
                       Xf_NormKindAttr:$kind,
                       F64Attr:$epsilon,
                       UnitAttr:$zero_centered);
  let results = (outs Xf_Tensor:$result);
}

def Xf_RopeTableOp : Xf_ModelOp<"rope_table"> {
  let summary = "cosines and sines of the rotary embedding";
  let description = [{
    `result[s, i] = (cos(s * f_i), sin(s * f_i))` for the inverse frequencies
    `f` (arXiv 2104.09864); scaled variants only change `f`. `first`, `part`,
    `rounds` and `whole` are those of `xf.positions`.

    ```mlir
    %t = xf.rope_table {inverse_frequencies = array<f64: 1.0, 0.01>} : () -> tensor<256x2x2xf32>
    ```
  }];
  let arguments = (ins Optional<I32>:$first,
                       DenseF64ArrayAttr:$inverse_frequencies,
                       DefaultValuedAttr<I64Attr, "0">:$part,
                       DefaultValuedAttr<I64Attr, "1">:$rounds,
                       DefaultValuedAttr<I64Attr, "0">:$whole);
  let results = (outs Xf_Tensor:$result);
}

def Xf_RopeOp : Xf_ModelOp<"rope"> {
  let summary = "rotary position embedding";
  let description = [{
    Rotates the halves of the first `r` of the last dim of `input[B, S, n, d]`
    by the angles of `table[S, r/2, 2]`, or `[B, S, r/2, 2]` where each sequence
    has its own: `y1 = x1 cos - x2 sin`, `y2 = x2 cos + x1 sin`. What is behind
    them stays as it is. `inverse` rotates back, which is the gradient.

    ```mlir
    %y = xf.rope %x, %t : (tensor<4x256x8x64xf32>, tensor<256x32x2xf32>) -> tensor<4x256x8x64xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$input,
                       Xf_Tensor:$table,
                       UnitAttr:$inverse);
  let results = (outs Xf_Tensor:$result);
}

def Xf_AttentionOp : Xf_ModelOp<"attention", [AttrSizedOperandSegments]> {
  let summary = "scaled dot-product attention";
  let description = [{
    `softmax(scale * q k^T + mask) v` per head; `q[B, S, n, d]`, `k`, `v`
    `[B, S, g, d]`, where `n / g` consecutive query heads share a key head
    (arXiv 2305.13245). `causal` masks later keys; `window` > 0 leaves only the
    last `window` keys, the query's own position included. `dropout` drops
    probabilities; its mask is element `((b n + h) S + i) S + j` of the random
    stream (`stream`, `instance`). The second result is the log-sum-exp of the
    masked scores, `[B, n, S]`, for the gradient. With `softcap` > 0 a score `s`
    is `softcap * tanh(s / softcap)`, before the mask (arXiv 2408.00118). With
    `alibi` it is less by the distance of query and key times the slope of the
    head (arXiv 2108.12409; kernels/reference/Alibi.h). With `bias[2 R + 1, n]` it is
    more by row `R + d` of that, where the key is `d` positions behind the query,
    or by the first or the last row where it is farther than `R` (arXiv
    1910.10683).

    Where several documents share a sequence, `positions[B, S]` says of each
    query at which position of its own document it is, and it sees no key before
    that: a query at place `i` of the sequence sees keys from
    `i - positions[b, i]` on. A shard has the positions of its queries, in the
    order that they are stored in. Without `causal`, `positions[b, i]` says
    instead how many keys of its sequence query `i` sees, the first ones: what
    is behind them is padding. Later queries see no fewer. Keys and values may then
    be of another sequence, `[B, K, g, d]`, as those of an encoder are; `S` of the
    random stream is the longer one of both.

    With `part` > 0 positions are stored out of order: sequences are cut into
    parts of that many, and stored as part 0, the last, 1, the last but one, ...
    Several `rounds` are as many such stretches of the sequence, one after another,
    of each of which a rank has two parts; what a rank has is stored together
    (kernels/reference/Positions.h). Masks and random numbers go by position.

    With `whole`, `[sequences, heads, positions]`, the tensors are a shard of
    such an attention: `key` and `value` may have other rows than `query`, and
    `place` says where the shard starts: its first query, first key, first
    sequence and first query head, rows in the order that they are stored in.
    Keys are those `behind` rows before that, around the end of the sequence.

    ```mlir
    %o, %lse = xf.attention %q, %k, %v {causal, scale = 0.125} : (tensor<4x256x8x64xf32>, tensor<4x256x2x64xf32>, tensor<4x256x2x64xf32>) -> (tensor<4x256x8x64xf32>, tensor<4x8x256xf32>)
    ```
  }];
  let arguments = (ins Xf_Tensor:$query,
                       Xf_Tensor:$key,
                       Xf_Tensor:$value,
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
  let results = (outs Xf_Tensor:$result, Xf_Tensor:$lse);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`positions` $positions^)? (`bias` $bias^)?
    (`,` $instance^)?
    (`from` `(` $place^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

def Xf_ActivationOp : Xf_ModelOp<"activation"> {
  let summary = "an elementwise nonlinearity";
  let description = [{
    `gelu` is `x/2 (1 + erf(x / sqrt 2))`, `gelu_tanh` its tanh form (arXiv
    1606.08415), `quick_gelu` is `x / (1 + exp(-1.702 x))` (CLIP, ibid.),
    `relu_squared` is `max(x, 0)^2` (arXiv 2109.08668), `tanh` is its name.

    ```mlir
    %y = xf.activation %x {kind = #xf.activation_kind<gelu>} : (tensor<4x64xf32>) -> tensor<4x64xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$input,
                       Xf_ActivationKindAttr:$kind);
  let results = (outs Xf_Tensor:$result);
}

def Xf_SoftcapOp : Xf_ModelOp<"softcap"> {
  let summary = "numbers bent to stay between a bound and its negative";
  let description = [{
    `result = cap * tanh(input / cap)` (arXiv 2408.00118). The gradient is found
    from the result, so that the input need not be kept.

    ```mlir
    %y = xf.softcap %x {cap = 30.0} : (tensor<4x64xf32>) -> tensor<4x64xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$input,
                       F64Attr:$cap);
  let results = (outs Xf_Tensor:$result);
}

def Xf_GatedOp : Xf_ModelOp<"gated"> {
  let summary = "a gated linear unit";
  let description = [{
    `result = activation(gate) * up` (arXiv 2002.05202): SwiGLU with `silu`,
    GeGLU with `gelu` or `gelu_tanh`.

    ```mlir
    %y = xf.gated %g, %u {kind = #xf.activation_kind<silu>} : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$gate,
                       Xf_Tensor:$up,
                       Xf_ActivationKindAttr:$kind);
  let results = (outs Xf_Tensor:$result);
}

def Xf_RowGateOp : Xf_ModelOp<"row_gate"> {
  let summary = "each row times the sigmoid of a number of its own";
  let description = [{
    `result = sigmoid(gate) * input`, where `gate` has one number a row: how much of
    what all tokens' experts make a token takes (`Qwen2-MoE`).

    ```mlir
    %y = xf.row_gate %x, %g : (tensor<4x8x64xf32>, tensor<4x8x1xf32>) -> tensor<4x8x64xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$input,
                       Xf_Tensor:$gate);
  let results = (outs Xf_Tensor:$result);
}

def Xf_GatherChoicesOp : Xf_ModelOp<"gather_choices"> {
  let summary = "the numbers of a question's choices side by side";
  let description = [{
    Consecutive sequences are the choices of a question, as many as the result's last
    dim C, and `input` has a number for each of their positions. The first sequence
    gets the numbers of all: `result[q C, s, c] = input[q C + c, s, 0]`. The others
    get zeros, so that labels of -1 leave them out of a loss.

    ```mlir
    %y = xf.gather_choices %x : (tensor<8x16x1xf32>) -> tensor<8x16x4xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$input);
  let results = (outs Xf_Tensor:$result);
}

def Xf_SplitChunksOp : Xf_ModelOp<"split_chunks"> {
  let summary = "the chunks of sequences as sequences";
  let description = [{
    `input[B, S, ...]` is cut into `C` chunks of `m = S / C` rows each, as many as the
    result `[B C, m, ...]` has for a sequence. With a `shift` the first chunk begins
    that many rows behind the beginning, and rows behind the end are zeros:
    `result[b C + c, i] = input[b, c m + i + shift]`. Attention within chunks, or to
    what belongs to them, is then attention of short sequences (arXiv 2112.04426).

    ```mlir
    %c = xf.split_chunks %x {shift = 63} : (tensor<4x256x8x64xf32>) -> tensor<16x64x8x64xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$input,
                       DefaultValuedAttr<I64Attr, "0">:$shift);
  let results = (outs Xf_Tensor:$result);
}

def Xf_JoinChunksOp : Xf_ModelOp<"join_chunks"> {
  let summary = "sequences of their chunks";
  let description = [{
    The gradient of `xf.split_chunks`, as that is of it: `input[B C, m, ...]` becomes
    `[B, C m, ...]`, whose row `s` is row `s - shift` of the chunks side by side, and
    zeros where there is none.

    ```mlir
    %x = xf.join_chunks %c {shift = 63} : (tensor<16x64x512xf32>) -> tensor<4x256x512xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$input,
                       DefaultValuedAttr<I64Attr, "0">:$shift);
  let results = (outs Xf_Tensor:$result);
}

def Xf_JoinHeadsOp : Xf_ModelOp<"join_heads"> {
  let summary = "heads that have something in front, or zeros behind";
  let description = [{
    `result[b, s, h]` is `front[b, s, h]` and then `input[b, s, h]`. A front of one
    head is that of all heads, as the rotated part of keys is in latent attention
    (arXiv 2405.04434, equation 17). Without a front it is `input[b, s, h]` and then
    zeros, as many as the result is wider.

    ```mlir
    %k = xf.join_heads %n, %r : (tensor<4x256x8x128xf32>, tensor<4x256x1x64xf32>) -> tensor<4x256x8x192xf32>
    %v = xf.join_heads %u : (tensor<4x256x8x128xf32>) -> tensor<4x256x8x192xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$input,
                       Optional<Xf_Tensor>:$front);
  let results = (outs Xf_Tensor:$result);
}

def Xf_PartHeadsOp : Xf_ModelOp<"part_heads"> {
  let summary = "a part of each head";
  let description = [{
    `result[b, s, h, c] = input[b, s, h, first + c]`, for as many channels as the
    result has.

    ```mlir
    %o = xf.part_heads %x : (tensor<4x256x8x192xf32>) -> tensor<4x256x8x128xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$input,
                       DefaultValuedAttr<I64Attr, "0">:$first);
  let results = (outs Xf_Tensor:$result);
}

def Xf_PlaceRowsOp : Xf_ModelOp<"place_rows"> {
  let summary = "rows of others in the place of tokens";
  let description = [{
    `source` has N blocks of T rows for each sequence, N T in all. Where `rows` is
    negative a token stays as it is; else it is that row of its sequence's:
    `result[b, s] = rows[b, s] < 0 ? input[b, s] : source[b N + r / T, r % T]` with
    `r = rows[b, s]`, which the runtime reports if there is no such row. So rows of
    images stand where a text has placeholders.

    ```mlir
    %y = xf.place_rows %x, %r, %s : (tensor<4x256x64xf32>, tensor<4x256xi32>, tensor<8x17x64xf32>) -> tensor<4x256x64xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$input,
                       Xf_Ids:$rows,
                       Xf_Tensor:$source);
  let results = (outs Xf_Tensor:$result);
}

def Xf_DropoutOp : Xf_ModelOp<"dropout", [AttrSizedOperandSegments]> {
  let summary = "drops elements at random, or scales them";
  let description = [{
    Keeps an element and scales it by `1 / (1 - rate)`, or makes it 0. With
    `jitter` it scales each by a number that is uniform in `[1 - rate, 1 + rate)`
    instead (arXiv 2101.03961). The number is a function of the seed,
    the step, the random stream (`stream`, `instance`) and the element's global
    index alone, so that no plan changes it. The op is linear in its input: its
    gradient is itself.

    ```mlir
    %y = xf.dropout %x, %layer {rate = 0.1, stream = 2 : i32} : (tensor<4x64xf32>, i32) -> tensor<4x64xf32>
    ```

    On a shard of a tensor of the shape `whole`, `at` says where in it the shard
    starts, in each of the dims `dims`; `parts` says for each how it is stored,
    in `rounds` (kernels/reference/TensorShard.h).

    ```mlir
    %y = xf.dropout %x, %layer at(%o) {dims = array<i64: 0>, parts = array<i64: 0>, rate = 0.1, stream = 2 : i32, whole = array<i64: 8, 64>} : (tensor<4x64xf32>, i32, i32) -> tensor<4x64xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$input,
                       Optional<I32>:$instance,
                       Variadic<I32>:$at,
                       F64Attr:$rate,
                       I32Attr:$stream,
                       UnitAttr:$jitter,
                       OptionalAttr<DenseI64ArrayAttr>:$whole,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$dims,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$parts,
                       DefaultValuedAttr<I64Attr, "1">:$rounds);
  let results = (outs Xf_Tensor:$result);
  let assemblyFormat = [{
    $input (`,` $instance^)? (`at` `(` $at^ `)`)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasFolder = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input,
      "::mlir::Value":$instance, "::mlir::FloatAttr":$rate,
      "::mlir::IntegerAttr":$stream, CArg<"bool", "false">:$jitter)>];
}

def Xf_AddOp : Xf_ModelOp<"add"> {
  let summary = "elementwise sum";
  let description = [{
    `rhs` may lack leading dims of `lhs`; it is then the same for each of them
    (position embeddings, biases).

    ```mlir
    %y = xf.add %x, %p : (tensor<4x256x64xf32>, tensor<256x64xf32>) -> tensor<4x256x64xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$lhs,
                       Xf_Tensor:$rhs);
  let results = (outs Xf_Tensor:$result);
  let hasFolder = 1;
}

def Xf_MultiplyOp : Xf_ModelOp<"multiply"> {
  let summary = "elementwise product";
  let description = [{
    `rhs` may lack leading dims of `lhs`, down to a scalar, which may have a
    wider type.

    ```mlir
    %y = xf.multiply %x, %s : (tensor<4x64xf32>, tensor<f32>) -> tensor<4x64xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$lhs,
                       Xf_Tensor:$rhs);
  let results = (outs Xf_Tensor:$result);
  let hasFolder = 1;
}

def Xf_SumLeadingOp : Xf_ModelOp<"sum_leading"> {
  let summary = "sum over leading dims";
  let description = [{
    Sums away the leading dims that the result lacks, in f32 at least.

    ```mlir
    %db = xf.sum_leading %dy : (tensor<4x256x64xf32>) -> tensor<64xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$input);
  let results = (outs Xf_Tensor:$result);
  let hasFolder = 1;
}

def Xf_ReshapeOp : Xf_ModelOp<"reshape"> {
  let summary = "the same elements in another shape";
  let description = [{
    Row-major order is kept; splits and merges heads.

    ```mlir
    %h = xf.reshape %x : (tensor<4x256x512xf32>) -> tensor<4x256x8x64xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$input);
  let results = (outs Xf_Tensor:$result);
  let hasFolder = 1;
}

def Xf_CastOp : Xf_ModelOp<"cast"> {
  let summary = "the same values in another element type";
  let description = [{
    Rounds to nearest, ties to even.

    ```mlir
    %y = xf.cast %x : (tensor<4x64xf32>) -> tensor<4x64xbf16>
    ```
  }];
  let arguments = (ins Xf_Tensor:$input);
  let results = (outs Xf_Tensor:$result);
  let hasFolder = 1;
}

def Xf_ConstantOp : Xf_ModelOp<"constant"> {
  let summary = "every element the same number";
  let description = [{
    A tensor whose elements are all `value`. One that is a share of the tokens of
    a microbatch says so: where the plan computes n times as many sequences at a
    time, the value is divided by n to the power of `per_sequences`.

    ```mlir
    %one = xf.constant {value = 1.0} : () -> tensor<f32>
    ```
  }];
  let arguments = (ins F64Attr:$value,
                       DefaultValuedAttr<I64Attr, "0">:$per_sequences);
  let results = (outs Xf_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::FloatAttr":$value), [{
    build($_builder, $_state, type, value, $_builder.getI64IntegerAttr(0));
  }]>];
}

def Xf_CrossEntropyOp : Xf_ModelOp<"cross_entropy"> {
  let summary = "mean negative log-likelihood of the labels";
  let description = [{
    `loss = mean over labels >= 0 of (lse - logits[label])`, where `lse` is the
    log-sum-exp of the first `valid_vocab` logits (a padded vocabulary's other
    columns count as minus infinity). A label of -1 is ignored. `lse` is kept
    for the gradient. `picked`, where somebody wants it, is the label's logit, 0
    where the label is -1: `picked - lse` is the label's log-probability.

    With `count` the sum is divided by that instead: the labels of a whole step,
    over its microbatches. The mean of the losses of the microbatches is then
    the mean over all labels of the step, wherever the ignored ones stand.

    ```mlir
    %loss, %lse = xf.cross_entropy %l, %y {valid_vocab = 257 : i64} : (tensor<4x256x288xf32>, tensor<4x256xi32>) -> (tensor<f32>, tensor<4x256xf32>)
    ```
  }];
  let arguments = (ins Xf_Tensor:$logits,
                       Xf_Ids:$labels,
                       Optional<Xf_Tensor>:$count,
                       I64Attr:$valid_vocab);
  let results = (outs Xf_Tensor:$loss, Xf_Tensor:$lse,
                      Optional<Xf_Tensor>:$picked);
  let assemblyFormat = [{
    $logits `,` $labels (`count` $count^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

#endif
